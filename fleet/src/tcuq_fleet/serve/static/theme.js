// SPDX-License-Identifier: Apache-2.0
// Applies the chosen theme before the first paint.
"use strict";
try {
  const chosen = localStorage.getItem("theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch { /* without storage the page follows the system's theme */ }
