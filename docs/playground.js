// SPDX-License-Identifier: Apache-2.0
// Shows the playground in a page of the site: builders resolve links to it, not sources of frames.
const frame = document.querySelector("iframe.playground");
const link = document.querySelector("a[href$='playground/app.html'], a[href='app.html']");
if (frame && link) {
  const tellTheme = () => {
    const theme = document.body.dataset.mdColorScheme === "slate" ? "dark" : "light";
    frame.contentWindow.postMessage({ theme }, "*");
  };
  addEventListener("message", ({ data, source }) => {
    if (source === frame.contentWindow && data.height > 0) {
      frame.style.height = `${Math.ceil(data.height)}px`;
      tellTheme();
    }
  });
  new MutationObserver(tellTheme).observe(document.body, { attributeFilter: ["data-md-color-scheme"] });
  frame.src = link.href + (frame.dataset.part ?? "");
}
