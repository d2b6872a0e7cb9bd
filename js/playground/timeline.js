// SPDX-License-Identifier: Apache-2.0
// The timeline on a canvas: events as rows, the risk under its threshold, what the model said, in the report's colours.
const LEFT = 76, RIGHT = 8, ROW = 16, AXIS = 24, GAP = 14, CLASS = 12, MOST_CLASSES = 16;
const RISK_TOPS = [0.1, 0.2, 0.4, 0.6, 0.8, 1];
const FACES = 'system-ui, -apple-system, "Segoe UI", "Liberation Sans", sans-serif';
const number = new Intl.NumberFormat("en");

/** A canvas needs a colour that is resolved: light-dark() in a variable is not. */
export const colour = (name) => {
  const probe = document.body.appendChild(document.createElement("i"));
  probe.style.color = `var(${name})`;
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
};

const prepared = (canvas, height) => {
  const width = canvas.clientWidth, scale = window.devicePixelRatio;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  canvas.style.height = `${height}px`;
  const pen = canvas.getContext("2d");
  pen.scale(scale, scale);
  pen.font = `12px ${FACES}`;
  pen.textBaseline = "middle";
  return [pen, width - LEFT - RIGHT];
};

const eventsOf = ({ stream, trace, measured }) => [
  ["fault", "--shifted", (i) => stream.shifted?.[i], stream.shifted],
  ["alarm", "--alarm", (i) => trace.alarm[i], true],
  ["abstained", "--abstained", (i) => trace.outcome[i] === 1, true],
  ["denied", "--denied", (i) => trace.outcome[i] === 2, true],
  ["missed", "--denied", (i) => measured.wrong[i] && !trace.withheld[i], measured.wrong],
].filter(([, , , shown]) => shown);

/** The steps of each pixel column, or of each step where a step is wider. */
const cells = (steps, wide) => {
  const count = Math.min(steps, Math.floor(wide));
  return Array.from({ length: count }, (_, i) => [Math.floor((i * steps) / count), Math.max(Math.floor((i * steps) / count) + 1, Math.floor(((i + 1) * steps) / count))]);
};

const over = (array, [begin, end], pick, width = 1, column = 0) => {
  let value = array[begin * width + column];
  for (let i = begin + 1; i < end; i++) value = pick(value, array[i * width + column]);
  return value;
};

const line = (pen, points, style, width) => {
  pen.beginPath();
  points.forEach((point, i) => pen[i ? "lineTo" : "moveTo"](...point));
  pen.strokeStyle = style;
  pen.lineWidth = width;
  pen.stroke();
};

const drawEvents = (pen, wide, spans, shown, x, below) => {
  shown.forEach(([name, style, happens], row) => {
    const middle = row * ROW + ROW / 2;
    pen.fillStyle = colour("--soft");
    pen.textAlign = "right";
    pen.fillText(name, LEFT - 8, middle);
    pen.fillStyle = colour("--line");
    pen.fillRect(LEFT, middle + 6, wide, 1);
    pen.fillStyle = colour(style);
    for (const [begin, end] of spans) {
      let hits = 0;
      for (let i = begin; i < end; i++) if (happens(i)) hits++;
      if (!hits) continue;
      const left = x(begin), middleX = (left + x(end)) / 2;
      if (name === "alarm") {
        pen.beginPath();
        [[0, -5], [5, 5], [-5, 5]].forEach(([dx, dy], i) => pen[i ? "lineTo" : "moveTo"](middleX + dx, middle + dy));
        pen.fill();
        pen.fillRect(Math.floor(middleX), middle + 5, 1, below - middle - 5);
      } else {
        pen.globalAlpha = 0.3 + (0.7 * hits) / (end - begin);
        pen.fillRect(Math.floor(left), middle - 5, Math.max(1, Math.ceil(x(end)) - Math.floor(left)), 10);
        pen.globalAlpha = 1;
      }
    }
  });
};

const drawRisk = (pen, wide, spans, trace, x, top, tall) => {
  const highest = Math.max(trace.risk.reduce((a, b) => Math.max(a, b), 0), trace.threshold.reduce((a, b) => Math.max(a, b), 0));
  const most = RISK_TOPS.find((value) => value >= highest) ?? 1, y = (value) => top + tall * (1 - value / most);
  pen.textAlign = "right";
  for (const part of [0, 0.5, 1]) {
    pen.fillStyle = colour("--soft");
    pen.fillText(String(part * most), LEFT - 8, y(part * most));
    pen.fillStyle = colour("--line");
    pen.fillRect(LEFT, y(part * most), wide, 1);
  }
  pen.textAlign = "left";
  pen.fillStyle = colour("--soft");
  pen.fillText("risk", 0, top + tall / 2);
  const middle = ([begin, end]) => (x(begin) + x(end)) / 2;
  pen.fillStyle = colour("--band");
  for (const span of spans) pen.fillRect(x(span[0]), y(over(trace.risk, span, Math.max)), Math.max(1, x(span[1]) - x(span[0])), y(0) - y(over(trace.risk, span, Math.max)));
  line(pen, spans.map((span) => [middle(span), y(over(trace.risk, span, Math.max))]), colour("--risk"), 1);
  line(pen, spans.map((span) => [middle(span), y(over(trace.threshold, span, Math.min))]), colour("--threshold"), 2);
};

const heat = (stream) => stream.kind !== "outputs" && stream.posteriors.width > 2 && stream.posteriors.width <= MOST_CLASSES;
const saysHeight = (stream) => (heat(stream) ? CLASS * stream.posteriors.width : 60);

/** What the model said: a strip per class, or a line of the outputs or of the last class. */
const drawSays = (pen, wide, spans, stream, x, top) => {
  const { data, width } = stream.posteriors, tall = saysHeight(stream);
  pen.textAlign = "right";
  pen.fillStyle = colour("--soft");
  if (heat(stream)) {
    pen.font = `10px ${FACES}`;
    for (let column = 0; column < width; column++) {
      pen.fillStyle = colour("--soft");
      pen.fillText((stream.classNames?.[column] ?? String(column)).slice(0, 10), LEFT - 8, top + CLASS * (column + 0.5));
      pen.fillStyle = colour("--risk");
      for (const span of spans) {
        const most = over(data, span, Math.max, width, column);
        if (most < 0.04) continue;
        pen.globalAlpha = Math.min(1, most);
        pen.fillRect(Math.floor(x(span[0])), top + CLASS * column + 1, Math.max(1, Math.ceil(x(span[1])) - Math.floor(x(span[0]))), CLASS - 2);
      }
      pen.globalAlpha = 1;
    }
    pen.font = `12px ${FACES}`;
    return;
  }
  const outputs = stream.kind === "outputs", columns = outputs ? [...Array(width).keys()] : [width - 1];
  const values = columns.flatMap((column) => spans.flatMap((span) => [over(data, span, Math.min, width, column), over(data, span, Math.max, width, column)]));
  const [low, high] = outputs || stream.kind === "logits" ? [Math.min(...values), Math.max(...values)] : [0, 1];
  const y = (value) => top + 4 + (tall - 8) * (1 - (value - low) / (high - low || 1));
  for (const value of [low, high]) pen.fillText(String(Number(value.toPrecision(2))), LEFT - 8, y(value));
  for (const column of columns) {
    line(pen, spans.flatMap((span) => [[x(span[0]), y(over(data, span, Math.min, width, column))], [x(span[0]), y(over(data, span, Math.max, width, column))]]), colour("--risk"), 1);
  }
};

const drawSteps = (pen, wide, steps, x, base) => {
  const rough = steps / Math.max(2, wide / 90), power = 10 ** Math.floor(Math.log10(rough));
  const apart = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough);
  pen.textAlign = "left";
  pen.fillStyle = colour("--soft");
  pen.fillText("step", 0, base + 13);
  for (let at = 0; at < steps; at += Math.max(1, apart)) {
    const text = number.format(at), half = pen.measureText(text).width / 2;
    if (x(at) + half > LEFT + wide + RIGHT) continue;
    pen.fillText(text, x(at) - half, base + 13);
    pen.fillRect(x(at), base, 1, 4);
  }
};

/** Draws a run up to a step and marks it; returns which step lies at a distance from the canvas's left edge. */
export const drawTimeline = (canvas, run, cursor, until) => {
  const { stream, trace } = run, shown = eventsOf(run), tall = canvas.clientWidth < 560 ? 110 : 150;
  const top = shown.length * ROW + GAP, says = top + tall + GAP, base = says + saysHeight(stream) + 6;
  const [pen, wide] = prepared(canvas, base + AXIS), x = (step) => LEFT + (step / stream.steps) * wide;
  const spans = cells(stream.steps, wide);
  if (stream.shifted) {
    pen.fillStyle = colour("--shifted");
    pen.globalAlpha = 0.09;
    for (const [begin, end] of spans) if (stream.shifted[begin]) pen.fillRect(x(begin), 0, x(end) - x(begin), base);
    pen.globalAlpha = 1;
  }
  const past = spans.filter(([begin]) => begin < until);
  drawEvents(pen, wide, past, shown, x, top + tall);
  drawRisk(pen, wide, past, trace, x, top, tall);
  drawSays(pen, wide, past, stream, x, says);
  drawSteps(pen, wide, stream.steps, x, base);
  pen.fillStyle = colour("--ink");
  pen.fillRect(Math.round(x(cursor + 0.5)), 0, 1, base);
  return (left) => Math.min(stream.steps - 1, Math.max(0, Math.floor(((left - LEFT) / wide) * stream.steps)));
};
