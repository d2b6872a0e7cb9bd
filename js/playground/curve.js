// SPDX-License-Identifier: Apache-2.0
// The error among accepted predictions by coverage: the monitor's risk beside the confidence alone.
const WIDTH = 420, HEIGHT = 250, LEFT = 44, TOP = 14, BASE = 208, END = 408, POINTS = 200;
const ROUND = [0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1];

const part = (tag, attributes, text = "") => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.textContent = text;
  return made;
};

/** The chart as an element; `measured` has curves. */
export const riskCoverage = (measured, rivalName) => {
  const percent = (share) => `${Number((100 * share).toPrecision(2))} %`;
  const most = Math.max(...measured.curves.flatMap((curve) => curve.slice(Math.floor(curve.length / 10))), 0.004);
  const top = ROUND.find((value) => value >= most) ?? 1;
  const x = (share) => LEFT + share * (END - LEFT), y = (share) => BASE - (Math.min(share, top) / top) * (BASE - TOP);
  const words = `Error among accepted predictions by coverage. As run: ${percent(measured.accepted)} accepted; tcuq ${percent(measured.error ?? 0)} wrong, ${rivalName} ${percent(measured.rival ?? 0)}.`;
  const chart = part("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "plot", role: "img", "aria-label": words });
  for (const share of [0, 0.5, 1]) {
    chart.append(part("line", { x1: LEFT, x2: END, y1: y(share * top), y2: y(share * top), class: "rule" }));
    chart.append(part("text", { x: LEFT - 6, y: y(share * top) + 4, "text-anchor": "end" }, percent(share * top)));
  }
  for (const share of [0, 0.25, 0.5, 0.75, 1]) {
    chart.append(part("text", { x: x(share), y: BASE + 16, "text-anchor": share === 1 ? "end" : "middle" }, percent(share)));
  }
  chart.append(part("text", { x: (LEFT + END) / 2, y: HEIGHT - 8, "text-anchor": "middle" }, "predictions accepted"));
  chart.append(part("line", { x1: x(measured.accepted), x2: x(measured.accepted), y1: TOP, y2: BASE, class: "reference" }));
  [["series1", 1, measured.rival], ["series0", 0, measured.error]].forEach(([kind, which, as]) => {
    const curve = measured.curves[which], last = curve.length - 1, apart = Math.max(1, Math.floor(last / POINTS));
    const points = curve.map((error, k) => [k, error]).filter(([k]) => k && (k % apart === 0 || k === last));
    chart.append(part("polyline", { points: points.map(([k, error]) => `${x(k / last).toFixed(1)},${y(error).toFixed(1)}`).join(" "), class: `line ${kind}` }));
    if (as !== null) chart.append(part("circle", { cx: x(measured.accepted), cy: y(as), r: 5, class: `point ${kind}` }));
  });
  return chart;
};
