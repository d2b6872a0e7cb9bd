// SPDX-License-Identifier: Apache-2.0
// The playground: a stream and settings are chosen, the device's C runs in the page, and everything is drawn anew.
import { causeInWords, meaning, Monitor, OUTCOMES, REASONS, TcuqError } from "../src/index.js";
import { ABOUT } from "./about.js";
import { readZip } from "./archive.js";
import { riskCoverage } from "./curve.js";
import { alarmsOf, measure } from "./measures.js";
import { profileAt } from "./settings.js";
import { assemble, fromCsv, fromNpz, readColumns, toNpz } from "./stream.js";
import { drawTimeline } from "./timeline.js";

const OWN = "own";
const BUDGETS = [0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5];
const DEFAULT_BUDGET = 0.15; // the default of `tcuq fit`
const MOST_ALARMS = 8, PLAY_MS = 6000;
const at = (id) => document.getElementById(id);
const number = new Intl.NumberFormat("en");
const percent = (share) => (share === null ? "–" : `${(100 * share).toFixed(1)}\u00a0%`);
const WHY = { doubt: "doubtful", unusual: "unusual input", both: "doubtful, and an unusual input" };
const bytesOf = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));

const bundles = {}, own = { profile: null, stream: null };
let wasm, run, cursor = 0, until = Infinity, drawn = () => 0, playing = 0;

const unpack = async () => {
  const files = await readZip(bytesOf(at("bundle").textContent));
  wasm = files.get("tcuq.wasm");
  for (const [name, about] of Object.entries(ABOUT)) {
    const made = JSON.parse(new TextDecoder().decode(files.get(`${name}.json`)));
    bundles[name] = { ...about, ...made, alphas: Object.keys(made.thresholds).sort((a, b) => a - b), columns: await readColumns(files.get(`${name}.npz`)) };
    at("source").append(new Option(about.title, name));
  }
};

const bundle = () => bundles[at("source").value === OWN ? own.bundle : at("source").value];
const settings = () => ({ alpha: bundle().alphas[at("alpha").value], budget: BUDGETS[at("budget").value], stepsPerFalseAlarm: 2 ** at("rate").value });
const faultNow = () => bundle().faults[at("fault").value];
const severityNow = () => Object.keys(faultNow())[at("severity").value];

const recordedStream = (profile) => {
  const { columns, segments, before, after } = bundle(), spans = [segments[before], segments[faultNow()[severityNow()]]];
  return assemble(columns, after ? [...spans, segments[after]] : spans, [0, 1, 0], profile);
};

const ownStream = (profile) => (own.stream.name.endsWith(".csv") ? fromCsv(new TextDecoder().decode(own.stream.bytes), profile) : fromNpz(own.stream.bytes, profile));

/** Runs what is chosen; returns nothing if something newer was chosen meanwhile. */
let newest = 0;
const decide = async () => {
  const ticket = ++newest, isOwn = at("source").value === OWN;
  const text = isOwn && own.profile ? own.profile : await profileAt(bundle(), settings());
  const monitor = await Monitor.load(text, { wasm }), { profile } = monitor;
  const stream = isOwn && own.stream ? await ownStream(profile) : recordedStream(profile);
  const trace = monitor.run(stream.posteriors.data, stream.features?.data ?? null, { health: stream.health?.data ?? null, starts: stream.starts });
  if (ticket === newest) return { text, profile, stream, trace, measured: measure(stream, profile, trace), alarms: alarmsOf(stream, trace) };
};

const className = (label) => run.stream.classNames?.[label] ?? `class ${label}`;
const rivalName = () => (run.stream.kind === "outputs" ? "the outputs alone" : "softmax");
const healthNames = () => run.profile.signals.health?.names ?? [];
const causeAt = (step) => causeInWords(healthNames(), run.trace.alarm[step], run.trace.cause[step]);

const showSummary = () => {
  const { measured, alarms, stream } = run;
  const sure = measured.error === null ? "" : `, of which ${percent(measured.error)} are wrong; of as many chosen by ${rivalName()}, ${percent(measured.rival)}`;
  const after = alarms.delay === null ? "none while the fault lasts" : `the first ${number.format(alarms.delay)} steps after the fault began`;
  const when = !alarms.steps.length ? "No alarm." : `${alarms.steps.length === 1 ? "One alarm" : `${alarms.steps.length} alarms`}${alarms.onset < 0 ? "." : `, ${after}.`}`;
  at("summary").textContent = `The monitor accepted ${percent(measured.coverage)} of ${number.format(stream.steps)} predictions${sure}. ${when}`;
  const tiles = [
    ["ours", percent(measured.error), "wrong among accepted, tcuq"],
    ["rival", percent(measured.rival), `wrong among as many, ${rivalName()}`],
    ["", percent(measured.alone), "wrong without a monitor"],
    ["alarmed", alarms.onset < 0 ? String(alarms.steps.length) : alarms.delay === null ? "none" : `${number.format(alarms.delay)} steps`,
      alarms.onset < 0 ? "alarms" : `from fault to alarm; ${alarms.early} false before`],
  ];
  at("tiles").replaceChildren(...tiles.map(([kind, value, name]) => {
    const tile = document.createElement("div"), [term, figure] = ["dt", "dd"].map((tag) => document.createElement(tag));
    [tile.className, term.textContent, figure.textContent] = [kind, name, value];
    tile.append(term, figure);
    return tile;
  }));
};

const showAlarms = () => {
  const { steps } = run.alarms, { trace } = run;
  const items = steps.slice(0, MOST_ALARMS).map((step) => {
    const item = document.createElement("li"), button = document.createElement("button"), text = document.createElement("span"), small = document.createElement("small");
    Object.assign(button, { type: "button", textContent: `▲ step ${number.format(step)}`, onclick: () => point(step) });
    text.textContent = meaning(causeAt(step), trace.change[step], trace.label[step]);
    small.textContent = causeAt(step);
    text.append(small);
    item.append(button, text);
    return item;
  });
  if (steps.length > MOST_ALARMS) items.push(Object.assign(document.createElement("li"), { textContent: `and ${number.format(steps.length - MOST_ALARMS)} more` }));
  if (!steps.length) items.push(Object.assign(document.createElement("li"), { textContent: run.profile.alarm ? "No alarm." : "This profile has no alarm." }));
  at("alarms").replaceChildren(...items);
};

const showSelection = () => {
  const { curves } = run.measured;
  at("curve").replaceChildren(curves ? riskCoverage(run.measured, rivalName()) : "This stream has no labels, so nobody knows what is wrong.");
  const entries = curves ? [["series0", "tcuq's risk"], ["series1", `${rivalName()}`], ["dashed reference", "accepted as run; dots: their errors"]] : [];
  at("legend").replaceChildren(...entries.map(([kind, text]) => {
    const item = document.createElement("li"), key = document.createElement("i");
    key.className = `key ${kind}`;
    item.append(key, text);
    return item;
  }));
};

/** The typed commands; those that fit the profile too, where the stream comes with the package. */
const showCommand = () => {
  const source = at("source").value, { alpha, budget, stepsPerFalseAlarm } = settings();
  const fit = source === "keywords"
    ? ["tcuq demo -o demo", `tcuq fit demo/calibration.npz --alpha ${alpha} --budget ${budget} --steps-per-false-alarm ${stepsPerFalseAlarm} -o monitor.json`] : [];
  at("command").textContent = [...fit, "tcuq run monitor.json stream.npz -o decisions.npz"].join("\n");
};

const tell = () => {
  const { stream, trace, measured, alarms } = run, row = stream.posteriors.data.subarray(cursor * stream.posteriors.width, (cursor + 1) * stream.posteriors.width);
  const outputs = stream.kind === "outputs", said = outputs ? `output ${[...row].map((x) => Number(x.toPrecision(4))).join(", ")}` : `says ${className(trace.label[cursor])}`;
  const sure = stream.kind === "probabilities" ? ` (${percent(Math.max(...row))})` : "";
  const truth = stream.labels && stream.labels[cursor] >= 0 ? (measured.wrong[cursor] ? (outputs ? ", wrong" : `, wrong: ${className(stream.labels[cursor])}`) : ", right") : "";
  const why = WHY[REASONS[trace.reason[cursor]]], outcome = { accept: "used", abstain: "withheld", denied: trace.withheld[cursor] ? "withheld, budget spent" : "used, budget spent" }[OUTCOMES[trace.outcome[cursor]]];
  const alarm = trace.alarm[cursor] ? ` Alarm: ${causeAt(cursor)}.` : "";
  const text = `Step ${number.format(cursor)}: the model ${said}${sure}${truth}. Risk ${trace.risk[cursor].toFixed(3)}, threshold ${trace.threshold[cursor].toFixed(3)}: ${outcome}${why ? ` (${why})` : ""}.${alarm}`;
  at("readout").textContent = text;
  at("step").setAttribute("aria-valuetext", text);
};

const draw = () => {
  drawn = drawTimeline(at("timeline"), run, cursor, until);
};

const point = (step) => {
  cursor = step;
  at("step").value = step;
  tell();
  draw();
};

const showAll = () => {
  until = Infinity;
  at("step").max = run.stream.steps - 1;
  at("timeline").setAttribute("aria-label", `Timeline of ${number.format(run.stream.steps)} steps: events, risk and threshold, and what the model says. The step slider above reads each of them.`);
  showSummary();
  showAlarms();
  showSelection();
  showCommand();
  point(Math.min(cursor, run.stream.steps - 1));
};

const refresh = async ({ jump = false } = {}) => {
  stop();
  try {
    const done = await decide();
    if (!done) return;
    run = done;
    at("refused").textContent = "";
  } catch (error) {
    if (!(error instanceof TcuqError)) throw error;
    at("refused").textContent = error.message;
    return;
  }
  if (jump) cursor = run.alarms.steps.find((step) => step >= run.alarms.onset) ?? Math.max(0, run.alarms.onset);
  showAll();
  document.documentElement.dataset.runs = Number(document.documentElement.dataset.runs ?? 0) + 1;
};

const showValues = () => {
  const { alpha, budget, stepsPerFalseAlarm } = settings();
  const values = { alpha: `${100 * alpha} %`, budget: `${100 * budget} %`, rate: `${number.format(stepsPerFalseAlarm)} steps`, severity: severityNow() };
  for (const [id, text] of Object.entries(values)) {
    at(`${id}-value`).textContent = text;
    at(id).setAttribute("aria-valuetext", text);
  }
};

const chooseFault = () => {
  const severities = Object.keys(faultNow());
  at("severity").max = severities.length - 1;
  at("severity").value = 1;
};

const chooseSource = () => {
  const isOwn = at("source").value === OWN, fixed = isOwn && own.profile !== null;
  if (!isOwn) own.bundle = at("source").value;
  const chosen = bundle();
  for (const id of ["faults", "severities"]) at(id).hidden = isOwn && own.stream !== null;
  for (const id of ["alpha", "budget", "rate"]) at(id).disabled = fixed;
  at("fixed").hidden = !fixed;
  if (isOwn) {
    at("about").textContent = `${own.profile ? own.profileName : "The profile chosen before"}, on ${own.stream ? own.stream.name : "the stream chosen before"}.`;
    return;
  }
  at("fault").replaceChildren(...Object.keys(chosen.faults).map((name) => new Option(name)));
  at("unit").textContent = chosen.unit;
  at("alpha").max = chosen.alphas.length - 1;
  at("alpha").value = chosen.alphas.indexOf(String(chosen.alpha));
  at("budget").max = BUDGETS.length - 1;
  at("budget").value = BUDGETS.indexOf(DEFAULT_BUDGET);
  at("rate").value = Math.log2(JSON.parse(chosen.profile).alarm.steps_per_false_alarm);
  chooseFault();
  at("about").textContent = `${chosen.text} One step: ${chosen.step}.`;
  at("source-note").textContent = `Recorded: ${chosen.source}.`;
};

const takeFiles = async (files) => {
  for (const file of files) {
    if (!/\.(json|npz|csv)$/.test(file.name)) {
      at("refused").textContent = `${file.name}: a file must end in .json, .npz or .csv`;
      return;
    }
    const bytes = new Uint8Array(await file.arrayBuffer());
    if (file.name.endsWith(".json")) Object.assign(own, { profile: new TextDecoder().decode(bytes), profileName: file.name });
    else own.stream = { name: file.name, bytes };
  }
  if (!files.length) return;
  if (![...at("source").options].some(({ value }) => value === OWN)) at("source").append(new Option("Your own files", OWN));
  at("source").value = OWN;
  chooseSource();
  showValues();
  await refresh({ jump: true });
  if (at("refused").textContent) at("refused").textContent = `${[...files].map(({ name }) => name).join(", ")}: ${at("refused").textContent}`;
};

const save = (name, blob) => {
  const url = URL.createObjectURL(blob);
  Object.assign(document.createElement("a"), { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
};
const decisions = () => {
  const columns = Object.entries(run.trace), lines = [columns.map(([name]) => name).join(",")];
  for (let i = 0; i < run.stream.steps; i++) lines.push(columns.map(([, column]) => column[i]).join(","));
  return new Blob([lines.join("\n"), "\n"], { type: "text/csv" });
};

const stop = () => {
  cancelAnimationFrame(playing);
  playing = 0;
  until = Infinity;
  at("play").textContent = "Play";
};
const play = () => {
  if (playing) {
    stop();
    draw();
    return;
  }
  at("play").textContent = "Stop";
  let began;
  const frame = (now) => {
    began ??= now;
    until = Math.min(run.stream.steps, Math.floor(((now - began) / PLAY_MS) * run.stream.steps));
    point(Math.max(0, until - 1));
    if (until < run.stream.steps) playing = requestAnimationFrame(frame);
    else stop();
  };
  playing = requestAnimationFrame(frame);
};

const listen = () => {
  at("source").addEventListener("change", () => { chooseSource(); showValues(); refresh({ jump: true }); });
  at("fault").addEventListener("change", () => { chooseFault(); showValues(); refresh({ jump: true }); });
  for (const id of ["severity", "alpha", "budget", "rate"]) at(id).addEventListener("input", () => { showValues(); refresh(); });
  at("step").addEventListener("input", () => { stop(); point(Number(at("step").value)); });
  at("play").addEventListener("click", play);
  at("timeline").addEventListener("pointermove", (event) => { if (!playing) point(drawn(event.offsetX)); });
  at("timeline").addEventListener("pointerdown", (event) => { stop(); point(drawn(event.offsetX)); });
  at("files").addEventListener("change", () => takeFiles(at("files").files));
  for (const kind of ["dragover", "dragleave", "drop"]) {
    document.addEventListener(kind, (event) => {
      event.preventDefault();
      at("drop").classList.toggle("over", kind === "dragover");
      if (kind === "drop") takeFiles(event.dataTransfer.files);
    });
  }
  at("save-profile").addEventListener("click", () => save("monitor.json", new Blob([run.text], { type: "application/json" })));
  at("save-stream").addEventListener("click", () => save("stream.npz", toNpz(run.stream)));
  at("save-decisions").addEventListener("click", () => save("decisions.csv", decisions()));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  let width = at("timeline").clientWidth;
  new ResizeObserver(() => {
    if (width !== at("timeline").clientWidth) draw();
    width = at("timeline").clientWidth;
    parent.postMessage({ height: document.documentElement.getBoundingClientRect().height }, "*");
  }).observe(document.body);
  addEventListener("message", ({ data, source }) => {
    if (source !== parent || !["light", "dark"].includes(data?.theme)) return;
    document.documentElement.dataset.theme = data.theme;
    draw();
  });
};

document.documentElement.classList.toggle("framed", parent !== window);
document.documentElement.classList.toggle("picture", location.hash === "#picture");
await unpack();
chooseSource();
showValues();
await refresh({ jump: true });
performance.mark("drawn");
listen();
document.documentElement.dataset.ready = "";
if (location.hash === "#picture" && !matchMedia("(prefers-reduced-motion: reduce)").matches) play();
