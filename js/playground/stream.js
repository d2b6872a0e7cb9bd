// SPDX-License-Identifier: Apache-2.0
// Streams: what a model gave step by step, from a bundle's segments or from a file, and as a file for `tcuq run`.
import { TcuqError } from "../src/index.js";
import { readArray, readZip, writeArray, writeZip } from "./archive.js";

const SCALES = { posteriors: "posterior_scale", features: "feature_scale", health: "health_scale" };
const MOST_STEPS = 1 << 20;

/** The arrays of a .npz file, scaled, as columns of a stream. */
export const readColumns = async (bytes) => {
  const arrays = {};
  for (const [name, content] of await readZip(bytes)) arrays[name.replace(/\.npy$/, "")] = readArray(content, name);
  if (!arrays.posteriors) throw new TcuqError("posteriors are missing");
  if (!arrays.kind) throw new TcuqError('kind is missing: say "probabilities" or "logits"');
  for (const [name, scale] of Object.entries(SCALES)) {
    const factor = arrays[scale]?.data[0];
    if (factor !== undefined && !(factor > 0 && factor < Infinity)) throw new TcuqError(`${scale} must be one positive number`);
    if (factor !== undefined && arrays[name]) arrays[name].data = arrays[name].data.map((x) => x * factor);
  }
  return arrays;
};

const rows = (array, steps, name) => {
  if (!array) return null;
  if (array.shape[0] !== steps) throw new TcuqError(`${name} must have ${steps} rows as posteriors, got ${array.shape[0]}`);
  return { data: array.data, width: array.shape[1] ?? 1 };
};

/** A stream of a file's columns; its posteriors are of the profile's kind. */
const streamOf = (arrays, { inputs }) => {
  const kind = arrays.kind.data[0], steps = arrays.posteriors.shape[0];
  if (kind !== inputs.kind) throw new TcuqError(`the profile is of kind ${inputs.kind}, the stream of kind ${kind}: drop the profile that belongs to it`);
  if (!(steps >= 1 && steps <= MOST_STEPS)) throw new TcuqError(`a stream must have 1 to ${MOST_STEPS} steps here, got ${steps}`);
  let posteriors = rows(arrays.posteriors, steps, "posteriors");
  if (kind !== "outputs" && posteriors.width === 1) {
    const first = kind === "logits" ? () => 0 : (x) => 1 - x;
    posteriors = { width: 2, data: Float64Array.from({ length: 2 * steps }, (_, i) => (i % 2 ? posteriors.data[i >> 1] : first(posteriors.data[i >> 1]))) };
  }
  const begins = [...(arrays.starts?.data ?? [])];
  return {
    kind, steps, posteriors,
    features: rows(arrays.features, steps, "features"),
    health: rows(arrays.health, steps, "health"),
    labels: rows(arrays.labels, steps, "labels")?.data ?? null,
    shifted: rows(arrays.shifted, steps, "shifted")?.data ?? null,
    starts: begins[0] === 0 ? begins : [0, ...begins],
    classNames: arrays.class_names?.data ?? null,
    healthNames: arrays.health_names?.data ?? [],
  };
};

/** Some rows of a stream's columns, one span after another; `shifted` says which spans are faulted. */
export const assemble = (arrays, spans, shifted, profile) => {
  const steps = spans.reduce((sum, [begin, end]) => sum + end - begin, 0), cut = {};
  for (const [name, array] of Object.entries(arrays)) {
    if (array.shape[0] !== arrays.posteriors.shape[0]) {
      cut[name] = array;
      continue;
    }
    const width = array.shape[1] ?? 1, data = new Float64Array(steps * width);
    let at = 0;
    for (const [begin, end] of spans) {
      data.set(array.data.subarray(begin * width, end * width), at);
      at += (end - begin) * width;
    }
    cut[name] = { ...array, data, shape: [steps, ...array.shape.slice(1)] };
  }
  const at = Float64Array.from(spans.flatMap(([begin, end], i) => new Array(end - begin).fill(shifted[i] ? 1 : 0)));
  return streamOf({ ...cut, shifted: { data: at, shape: [steps] } }, profile);
};

/** A stream of a dropped .npz file. */
export const fromNpz = async (bytes, profile) => streamOf(await readColumns(bytes), profile);

/**
 * A stream of lines as `tcuq watch` reads them: the posterior's numbers, the features', then input health's; an empty
 * line is a gap. A first line of words names the columns, one of which may be `label`.
 */
export const fromCsv = (text, { inputs, signals }) => {
  const lines = text.replace(/^\ufeff/, "").trimEnd().split(/\r?\n/);
  const split = (line) => line.trim().split(/\s*[,;\t]\s*|\s+/);
  const words = split(lines[0]), named = words.some((word) => !Number.isFinite(Number(word)));
  const label = named ? words.indexOf("label") : -1;
  const columns = inputs.outputs ? inputs.outputs.centres.length : inputs.classes;
  const widths = [columns, inputs.width, signals.health?.names.length ?? 0];
  const least = widths[0] + widths[1], most = least + widths[2], numbers = [[], [], []], labels = [], starts = [0];
  for (let at = named ? 1 : 0; at < lines.length; at++) {
    if (!lines[at].trim()) {
      starts.push(numbers[0].length / widths[0]);
      continue;
    }
    const row = split(lines[at]).map((word) => (word === "" ? NaN : Number(word)));
    if (label >= 0) labels.push(...row.splice(label, 1));
    if (row.length !== least && row.length !== most) {
      throw new TcuqError(`line ${at + 1} must have ${least}${most > least ? ` or ${most}` : ""} numbers, ${widths[0]} of the posterior and ${widths[1]} features, got ${row.length}`);
    }
    if (!row.every(Number.isFinite)) throw new TcuqError(`line ${at + 1} must hold numbers, got ${lines[at].slice(0, 40)}`);
    let begin = 0;
    widths.forEach((width, i) => numbers[i].push(...row.slice(begin, begin += width)));
  }
  const steps = numbers[0].length / widths[0];
  const array = (i) => (numbers[i].length ? { data: Float64Array.from(numbers[i]), shape: [steps, widths[i]] } : undefined);
  if (steps === 0) throw new TcuqError("a stream must have at least 1 step, got 0");
  return streamOf({
    kind: { data: [inputs.kind] }, posteriors: array(0), features: array(1), health: array(2),
    labels: label < 0 ? undefined : { data: labels, shape: [steps] },
    starts: { data: [...new Set(starts)].filter((start) => start < steps) },
    health_names: { data: signals.health?.names ?? [] },
  }, { inputs });
};

/** The stream as a .npz file, for `tcuq run` and `tcuq report`. */
export const toNpz = (stream) => {
  const { steps } = stream, files = [["kind", [stream.kind], []], ["starts", Int32Array.from(stream.starts), [stream.starts.length]]];
  for (const name of ["posteriors", "features", "health"]) {
    if (stream[name]) files.push([name, Float64Array.from(stream[name].data), [steps, stream[name].width]]);
  }
  if (stream.labels) files.push(["labels", Int32Array.from(stream.labels), [steps]]);
  if (stream.shifted) files.push(["shifted", Uint8Array.from(stream.shifted), [steps]]);
  if (stream.classNames) files.push(["class_names", stream.classNames, [stream.classNames.length]]);
  if (stream.health) files.push(["health_names", stream.healthNames, [stream.healthNames.length]]);
  return writeZip(files.map(([name, data, shape]) => [`${name}.npy`, writeArray(data, shape)]));
};
