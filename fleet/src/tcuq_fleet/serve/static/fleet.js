// SPDX-License-Identifier: Apache-2.0
// Refreshes the page in place, shows a chart's tooltips, and copies the URL.
"use strict";
(() => {
  const root = document.documentElement, by = (id) => document.getElementById(id);
  const every = Number(root.dataset.refresh) * 1000;

  // Theme: the system's, light, dark.
  const themes = ["system", "light", "dark"], theme = by("theme");
  const nameTheme = () => { theme.textContent = `Theme: ${root.dataset.theme ?? "system"}`; };
  theme.hidden = false;
  nameTheme();
  theme.addEventListener("click", () => {
    const next = themes[(themes.indexOf(root.dataset.theme ?? "system") + 1) % themes.length];
    if (next === "system") delete root.dataset.theme;
    else root.dataset.theme = next;
    try { localStorage.setItem("theme", next); } catch { /* the choice then lasts for this page only */ }
    nameTheme();
  });

  // The URL holds the view: copying it shares the view.
  const share = by("share");
  share.hidden = false;
  share.addEventListener("click", async () => {
    let text = "Copied";
    try { await navigator.clipboard.writeText(location.href); } catch { text = "Copy the address above"; }
    share.textContent = text;
    setTimeout(() => { share.textContent = "Copy link"; }, 2000);
  });

  // Show the tooltip under the pointer in the chart's readout.
  let pointed = null;
  document.addEventListener("pointermove", (event) => {
    const tip = event.target.closest?.(".tooltip"), figure = tip?.closest("figure");
    const readout = figure?.querySelector(".readout");
    if (pointed && pointed !== readout) {
      pointed.textContent = pointed.dataset.rest;
      pointed.classList.remove("pointed");
    }
    pointed = readout ?? null;
    if (readout) {
      readout.textContent = tip.dataset.label;
      readout.classList.add("pointed");
    }
  });

  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.target.closest("input, select, textarea")) return;
    event.preventDefault();
    by("q").focus();
  });

  // Change only what differs, so that scroll, focus, selection and half-typed filters stay.
  const renew = (old, now) => {
    if (old.nodeType !== now.nodeType || old.nodeName !== now.nodeName) {
      old.replaceWith(now);
      return;
    }
    if (old.nodeType !== Node.ELEMENT_NODE) {
      if (old.data !== now.data) old.data = now.data;
      return;
    }
    if (old === pointed || old.isEqualNode(now) || old.matches("form")) return;
    if (old.matches("details[open]")) now.open = true;
    for (const { name } of [...old.attributes]) if (!now.hasAttribute(name)) old.removeAttribute(name);
    for (const { name, value } of now.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
    const olds = [...old.childNodes], nows = [...now.childNodes];
    nows.forEach((child, i) => (i < olds.length ? renew(olds[i], child) : old.append(child)));
    olds.slice(nows.length).forEach((child) => child.remove());
  };

  const pulse = by("pulse"), pause = by("pause");
  let paused = false, timer = 0;
  const showStatus = (text) => { if (pulse.textContent !== text) pulse.textContent = text; };
  const refresh = async () => {
    clearTimeout(timer);
    if (paused) return;
    timer = setTimeout(refresh, every);
    if (document.hidden) return;
    try {
      const response = await fetch(location.href, { cache: "no-store", signal: AbortSignal.timeout(every) });
      if (!response.ok) throw new Error(response.statusText);
      const fresh = new DOMParser().parseFromString(await response.text(), "text/html");
      renew(by("main"), fresh.getElementById("main"));
      renew(by("fresh"), fresh.getElementById("fresh"));
      document.title = fresh.title;
      showStatus("");
      root.classList.remove("stale");
      root.dataset.renewed = String(Number(root.dataset.renewed ?? 0) + 1);
    } catch {
      showStatus(" · no answer since; trying again");
      root.classList.add("stale");
    }
  };
  pause.hidden = false;
  const namePause = () => { pause.textContent = paused ? "Resume" : `Refreshes every ${every / 1000} s: pause`; };
  namePause();
  pause.addEventListener("click", () => {
    paused = !paused;
    namePause();
    if (!paused) refresh();
  });
  document.addEventListener("visibilitychange", () => { if (!document.hidden) refresh(); });
  timer = setTimeout(refresh, every);
  root.dataset.ready = "";
})();
