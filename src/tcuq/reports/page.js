// SPDX-License-Identifier: Apache-2.0
// The timeline: every panel shows the same span of the stream. A pixel column that holds several
// cells shows their lowest, mean and highest risk; when cells are wider, each is drawn.
"use strict";
(async () => {
  const ABSTAINED = 1, DENIED = 2, ALARMED = 4, SHIFTED = 8, STARTED = 16, WRONG = 32, MISSED = 64, AMBER = 128;
  const RISK_LEVELS = 16384, FULL_ACCURACY = 250, UNKNOWN_ACCURACY = 255;
  const LEFT = 74, RIGHT = 10, ROW = 15, AXIS = 24, ACCURACY = 64, LEAST_CELLS = 8, PAPER = 688;
  const page = JSON.parse(document.getElementById("data").textContent);
  const stage = document.getElementById("stage"), map = document.getElementById("map");
  const readout = document.getElementById("readout"), help = readout.textContent;
  const canvases = [...stage.querySelectorAll("canvas.panel")];
  const number = new Intl.NumberFormat("en");

  const inflate = async (text, Kind) => {
    const characters = atob(text), bytes = new Uint8Array(characters.length);
    for (let i = 0; i < bytes.length; i++) bytes[i] = characters.charCodeAt(i);
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Kind(await new Response(stream).arrayBuffer());
  };
  const views = await Promise.all(page.views.map(async ({ size, columns }) => {
    const view = { size };
    for (const [name, text] of Object.entries(columns))
      view[name] = await inflate(text, name === "flags" || name === "accuracy" ? Uint8Array : Uint16Array);
    view.low ??= view.risk;
    view.high ??= view.risk;
    return view;
  }));
  const size = views[0].size, cells = views[0].risk.length;
  const seen = views.reduce((all, view) => view.flags.reduce((a, b) => a | b, all), 0);
  const rows = [
    ["shifted", SHIFTED, "--shifted", seen & SHIFTED],
    ["alarm", ALARMED, "--alarm", true],
    ["amber", AMBER, "--abstained", seen & AMBER],
    ["abstained", ABSTAINED, "--abstained", true],
    ["denied", DENIED, "--denied", true],
    ["missed", MISSED, "--denied", page.labelled],
  ].filter(([, , , shown]) => shown);
  const highest = views.reduce((most, view) => {
    const above = Math.max(view.high.reduce((a, b) => Math.max(a, b), 0), view.threshold.reduce((a, b) => Math.max(a, b), 0));
    return Math.max(most, above / RISK_LEVELS);
  }, 0);
  const top = [0.1, 0.2, 0.4, 0.6, 0.8, 1].find((value) => value >= highest) ?? 1;

  let from = 0, to = cells, cursor = null, chosen = null, printing = false;

  // A canvas needs a colour that is resolved: light-dark() in a variable is not.
  const probe = document.body.appendChild(document.createElement("i"));
  const colour = (name) => {
    probe.style.color = `var(${name})`;
    return getComputedStyle(probe).color;
  };
  const prepared = (canvas, height) => {
    const width = canvas.clientWidth, scale = printing ? 2 : window.devicePixelRatio;
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    canvas.style.height = `${height}px`;
    const pen = canvas.getContext("2d");
    pen.scale(scale, scale);
    pen.font = '12px system-ui, -apple-system, "Segoe UI", "Liberation Sans", sans-serif';
    pen.textBaseline = "middle";
    return [pen, width];
  };
  const ticks = (low, high, count) => {
    const rough = Math.max(1, (high - low) / count), power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough);
    const found = [];
    for (let at = Math.ceil(low / step) * step; at <= high; at += step) found.push(at);
    return found;
  };

  // What each slot of the span holds: a pixel column, or a cell where cells are wider than two.
  const slots = (view, begin, end, width) => {
    const count = Math.ceil(end) - Math.floor(begin) > width / 2 ? Math.floor(width) : 0;
    const made = [];
    const total = count || Math.ceil(end) - Math.floor(begin);
    for (let i = 0; i < total; i++) {
      const first = count ? Math.floor(begin + (i * (end - begin)) / count) : Math.floor(begin) + i;
      const last = count ? Math.max(first + 1, Math.floor(begin + ((i + 1) * (end - begin)) / count)) : first + 1;
      let low = RISK_LEVELS, high = 0, sum = 0, level = RISK_LEVELS, accuracy = UNKNOWN_ACCURACY;
      const hits = rows.map(() => 0);
      let flags = 0;
      for (let cell = first; cell < Math.min(last, cells); cell++) {
        low = Math.min(low, view.low[cell]);
        high = Math.max(high, view.high[cell]);
        sum += view.risk[cell];
        level = Math.min(level, view.threshold[cell]);
        accuracy = Math.min(accuracy, view.accuracy[cell]);
        flags |= view.flags[cell];
        for (let row = 0; row < rows.length; row++) if (view.flags[cell] & rows[row][1]) hits[row]++;
      }
      const held = last - first;
      made.push({ middle: (first + last) / 2, first, last, low, high, mean: sum / held, level, accuracy, flags, shares: hits.map((n) => n / held) });
    }
    return made;
  };

  const line = (pen, points, style, width, dash = []) => {
    pen.beginPath();
    let drawing = false;
    for (const point of points) {
      if (point) pen[drawing ? "lineTo" : "moveTo"](...point);
      drawing = Boolean(point);
    }
    pen.strokeStyle = style;
    pen.lineWidth = width;
    pen.setLineDash(dash);
    pen.stroke();
    pen.setLineDash([]);
  };

  const drawPanel = (canvas, view) => {
    const tall = window.innerWidth < 640 ? 150 : 190;
    const above = rows.length * ROW + 8, base = above + tall;
    const lower = page.labelled ? ACCURACY : 0, height = base + lower + AXIS;
    const [pen, width] = prepared(canvas, height);
    const wide = width - LEFT - RIGHT;
    const x = (cell) => LEFT + ((cell - from) / (to - from)) * wide;
    const y = (level) => base - (level / RISK_LEVELS / top) * tall;
    const [ink, soft, rule] = ["--ink", "--soft", "--line"].map(colour);
    const shown = slots(view, from, to, wide);
    pen.textAlign = "right";
    rows.forEach(([name, , style], row) => {
      const middle = row * ROW + ROW / 2;
      pen.fillStyle = soft;
      pen.fillText(name, LEFT - 8, middle);
      pen.fillStyle = rule;
      pen.fillRect(LEFT, middle + 5, wide, 1);
      pen.fillStyle = colour(style);
      for (const slot of shown) {
        const share = slot.shares[row];
        if (!share) continue;
        const left = Math.floor(Math.max(LEFT, x(slot.first))), right = Math.floor(Math.min(width - RIGHT, x(slot.last)));
        if (name === "alarm") {
          pen.beginPath();
          pen.moveTo((left + right) / 2, middle - 5);
          pen.lineTo((left + right) / 2 + 5, middle + 5);
          pen.lineTo((left + right) / 2 - 5, middle + 5);
          pen.fill();
          pen.fillRect(Math.floor((left + right) / 2), above, 1, tall);
        } else {
          pen.globalAlpha = 0.25 + 0.75 * share;
          pen.fillRect(left, middle - 5, Math.max(1, right - left), 10);
          pen.globalAlpha = 1;
        }
      }
    });
    pen.fillStyle = soft;
    for (const part of [0, 0.5, 1]) {
      const at = y(part * top * RISK_LEVELS);
      pen.fillText((part * top).toPrecision(2).replace(/\.?0+$/, "") || "0", LEFT - 8, at);
      line(pen, [[LEFT, at], [width - RIGHT, at]], rule, 1);
    }
    pen.textAlign = "left";
    pen.fillText("risk", 0, above + tall / 2);
    pen.save();
    pen.beginPath();
    pen.rect(LEFT, 0, wide, height);
    pen.clip();
    for (const slot of shown)
      if (slot.flags & STARTED && slot.first > 0) line(pen, [[x(slot.first), above], [x(slot.first), base + lower]], rule, 1, [2, 3]);
    pen.fillStyle = colour("--band");
    for (const slot of shown)
      if (slot.high > slot.low) pen.fillRect(Math.floor(x(slot.first)), y(slot.high), Math.max(1, Math.floor(x(slot.last)) - Math.floor(x(slot.first))), Math.max(1, y(slot.low) - y(slot.high)));
    line(pen, shown.map((slot) => [x(slot.middle), y(slot.mean)]), colour("--risk"), 1.5);
    if (to - from < wide / 6) {
      pen.fillStyle = colour("--risk");
      for (const slot of shown) pen.fillRect(x(slot.middle) - 2, y(slot.mean) - 2, 4, 4);
    }
    line(pen, shown.map((slot) => [x(slot.middle), y(slot.level)]), colour("--threshold"), 2);
    if (page.labelled) drawAccuracy(pen, shown, x, base, wide);
    if (cursor !== null) line(pen, [[x(cursor + 0.5), 0], [x(cursor + 0.5), base + lower]], ink, 1);
    if (chosen) {
      pen.fillStyle = colour("--risk");
      pen.globalAlpha = 0.15;
      pen.fillRect(x(Math.min(...chosen)), 0, Math.abs(x(chosen[1]) - x(chosen[0])), base + lower);
      pen.globalAlpha = 1;
    }
    pen.restore();
    pen.fillStyle = soft;
    for (const tick of ticks(from * size, Math.min(page.steps, to * size), wide / 80)) {
      const text = number.format(tick), half = pen.measureText(text).width / 2;
      pen.fillText(text, Math.min(Math.max(x(tick / size), LEFT + half - 6), width - half - 1) - half, base + lower + 14);
      pen.fillRect(x(tick / size), base + lower, 1, 4);
    }
    pen.fillText("step", 0, base + lower + 14);
  };

  const drawAccuracy = (pen, shown, x, base, wide) => {
    const y = (share) => base + ACCURACY - 4 - share * (ACCURACY - 16);
    const [soft, rule] = [colour("--soft"), colour("--line")];
    for (const share of [0, 1]) line(pen, [[LEFT, y(share)], [LEFT + wide, y(share)]], rule, 1);
    if (page.floor !== null) line(pen, [[LEFT, y(page.floor)], [LEFT + wide, y(page.floor)]], soft, 1, [4, 3]);
    const known = (slot) => slot.accuracy !== UNKNOWN_ACCURACY;
    line(pen, shown.map((slot) => known(slot) && [x(slot.middle), y(slot.accuracy / FULL_ACCURACY)]), colour("--held"), 1.5);
    pen.restore();
    pen.save();
    pen.fillStyle = soft;
    pen.textAlign = "right";
    pen.fillText("1", LEFT - 8, y(1));
    pen.fillText("0", LEFT - 8, y(0));
    pen.textAlign = "left";
    pen.fillText("accuracy", 0, (y(0) + y(1)) / 2);
    pen.beginPath();
    pen.rect(LEFT, 0, wide, base + ACCURACY);
    pen.clip();
  };

  const drawMap = () => {
    const height = 36, [pen, width] = prepared(map, height), wide = width - LEFT - RIGHT;
    const shown = slots(views[0], 0, cells, wide), x = (cell) => LEFT + (cell / cells) * wide;
    pen.fillStyle = colour("--soft");
    pen.fillText("all", 0, height / 2);
    pen.fillStyle = colour("--band");
    for (const slot of shown) {
      const high = Math.max(1, (slot.mean / RISK_LEVELS / top) * (height - 6));
      pen.fillRect(x(slot.first), height - 3 - high, Math.max(1, x(slot.last) - x(slot.first)), high);
    }
    pen.strokeStyle = colour("--risk");
    pen.lineWidth = 2;
    pen.strokeRect(x(from), 2, Math.max(3, x(to) - x(from)), height - 4);
  };

  const draw = () => {
    canvases.forEach((canvas, index) => drawPanel(canvas, views[index]));
    drawMap();
    const begin = Math.floor(from) * size, end = Math.min(page.steps, Math.ceil(to) * size);
    const columns = Math.max(1, canvases[0].clientWidth - LEFT - RIGHT), each = ((to - from) * size) / columns;
    const density = each > 0.5 ? `about ${number.format(Math.max(1, Math.round(each)))} a pixel, band from lowest to highest, line the mean` : size === 1 ? "every step drawn" : `${number.format(size)} steps a point, as the page holds them`;
    document.getElementById("span").textContent = `steps ${number.format(begin)} to ${number.format(end - 1)}: ${density}`;
    document.documentElement.dataset.ready = "";
  };
  let waiting = false;
  const later = () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; draw(); });
  };

  const show = (begin, end) => {
    const span = Math.min(cells, Math.max(Math.min(LEAST_CELLS, cells), end - begin));
    from = Math.min(Math.max(0, (begin + end - span) / 2), cells - span);
    to = from + span;
    later();
  };
  const zoom = (factor, centre = (from + to) / 2) => show(centre - (centre - from) * factor, centre + (to - centre) * factor);
  const move = (cellsOn) => show(from + cellsOn, to + cellsOn);
  const acts = {
    in: () => zoom(0.5), out: () => zoom(2), all: () => show(0, cells),
    left: () => move((from - to) / 3), right: () => move((to - from) / 3),
  };
  const cellAt = (canvas, event) => {
    const box = canvas.getBoundingClientRect();
    const share = (event.clientX - box.left - LEFT) / (box.width - LEFT - RIGHT);
    return from + Math.min(1, Math.max(0, share)) * (to - from);
  };
  const causes = (index, begin, end) => {
    const named = Object.entries(page.views[index].causes).filter(([, steps]) => steps.some((step) => step >= begin && step <= end));
    return named.length ? [named.map(([cause]) => cause).join(", ")] : [];
  };
  const tell = (cell) => {
    const at = Math.min(cells - 1, Math.floor(cell)), begin = at * size, end = Math.min(page.steps, begin + size) - 1;
    const risk = (level) => (level / RISK_LEVELS).toFixed(3);
    const said = views.map((view, index) => {
      const flags = view.flags[at];
      const outcome = flags & DENIED ? "denied" : flags & ABSTAINED ? "abstained" : "accepted";
      const words = [
        views.length > 1 ? `${page.views[index].name}:` : "",
        size === 1 ? `risk ${risk(view.risk[at])},` : `risk ${risk(view.low[at])} to ${risk(view.high[at])},`,
        `threshold ${risk(view.threshold[at])},`,
        size === 1 ? outcome : flags & (ABSTAINED | DENIED) ? "some not accepted" : "all accepted",
        flags & WRONG ? "and wrong" : "", flags & ALARMED ? ["· alarm", ...causes(index, begin, end)].join(": ") : "",
        flags & AMBER ? "· amber" : "",
        flags & SHIFTED ? "· shifted" : "",
      ];
      return words.filter(Boolean).join(" ");
    });
    cursor = at;
    readout.textContent = `Step ${number.format(begin)}${size > 1 ? `–${number.format(end)}` : ""}: ${said.join("; ")}`;
    later();
  };

  const fingers = new Map();
  for (const canvas of canvases) {
    canvas.addEventListener("pointerdown", (event) => {
      fingers.set(event.pointerId, cellAt(canvas, event));
      if (event.pointerType === "mouse") chosen = [cellAt(canvas, event), cellAt(canvas, event)];
      canvas.setPointerCapture(event.pointerId);
      tell(cellAt(canvas, event));
    });
    canvas.addEventListener("pointermove", (event) => {
      const cell = cellAt(canvas, event);
      if (chosen) chosen[1] = cell;
      else if (fingers.has(event.pointerId)) {
        const held = fingers.get(event.pointerId);
        const other = [...fingers].find(([id]) => id !== event.pointerId);
        if (other) {
          const spread = Math.abs(held - other[1]) / Math.max(1e-9, Math.abs(cell - other[1]));
          zoom(Math.min(4, Math.max(0.25, spread)), other[1]);
        } else move(held - cell);
        fingers.set(event.pointerId, cellAt(canvas, event));
      }
      tell(cell);
    });
    const release = (event) => {
      fingers.delete(event.pointerId);
      if (chosen && Math.abs(chosen[1] - chosen[0]) > (to - from) / 100) show(Math.min(...chosen), Math.max(...chosen));
      chosen = null;
      later();
    };
    canvas.addEventListener("pointerup", release);
    canvas.addEventListener("pointercancel", release);
    canvas.addEventListener("pointerleave", () => { cursor = null; readout.textContent = help; later(); });
    canvas.addEventListener("dblclick", acts.all);
    canvas.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      zoom(event.deltaY > 0 ? 1.25 : 0.8, cellAt(canvas, event));
    }, { passive: false });
  }
  const centre = (event) => {
    if (!event.buttons) return;
    const box = map.getBoundingClientRect();
    const cell = ((event.clientX - box.left - LEFT) / (box.width - LEFT - RIGHT)) * cells;
    show(cell - (to - from) / 2, cell + (to - from) / 2);
  };
  map.addEventListener("pointerdown", centre);
  map.addEventListener("pointermove", centre);
  stage.addEventListener("keydown", (event) => {
    const act = { "+": "in", "=": "in", "-": "out", ArrowLeft: "left", ArrowRight: "right", Home: "all" }[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    acts[act]();
  });
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button?.dataset.act) acts[button.dataset.act]();
    if (button?.dataset.from === undefined) return;
    show(button.dataset.from / size, button.dataset.to / size);
    stage.scrollIntoView({ block: "center" });
    stage.focus({ preventScroll: true });
  });
  draw(); // at once: a screenshot or a print may come before the first frame
  let drawnWidth = stage.clientWidth; // its height changes by drawing
  new ResizeObserver(() => {
    if (stage.clientWidth === drawnWidth) return;
    drawnWidth = stage.clientWidth;
    later();
  }).observe(stage);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", later);
  const print = (on) => {
    printing = on;
    document.documentElement.dataset.theme = on ? "light" : "";
    stage.style.width = on ? `${PAPER}px` : "";
    draw();
  };
  addEventListener("beforeprint", () => print(true));
  addEventListener("afterprint", () => print(false));
})();
