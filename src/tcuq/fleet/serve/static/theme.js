// SPDX-License-Identifier: Apache-2.0
// Before the first paint: the theme that was chosen here, if one was.
"use strict";
try {
  const chosen = localStorage.getItem("theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch { /* a browser that keeps nothing follows the system */ }
