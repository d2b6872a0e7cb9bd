// SPDX-License-Identifier: Apache-2.0
// A profile's JSON to the device's integers, as tcuq.profile.quantize does it in Python; formats, ranges and rounding
// are those of docs/spec/arithmetic.md. The SHA-256 of the result must be the profile's own.

export const FORMAT = "tcuq.profile/6";
const SIGNALS = ["divergence", "instability", "inconsistency", "doubt", "low_confidence", "novelty", "contradiction"];
const CHANNEL_SIGNALS = [...SIGNALS, "risk", "health"];
const FLAGS = { risk: 1, novelty: 2, divergence: 4, instability: 8, health: 16 };
const LOGARITHMS = new Set(["low_confidence", "departure", "novelty", "contradiction", "risk", "health"]);
const NO_CLASSES = 65535, NO_NOVELTY_LIMIT = 65535, MAX_SLOPE_Q8 = 65535;
const MAX_NOVELTY = 16, MAX_STAY_CLASSES = 100, MAX_ALARM_LIMIT = 20 * 2 ** 24, MAX_BOUND = 2 ** 30;
const WHITENED_MAX = 4095, MAX_WEIGHT = 63, WEIGHT_OFFSET = 64, HEALTH_ONE = 1024;

/** What a profile, an input or a snapshot breaks: the thing, the rule, the value. */
export class TcuqError extends Error {}

// Ties go to even, as everywhere in the library.
export const rint = (x) => {
  const down = Math.floor(x), rest = x - down;
  return rest < 0.5 || (rest === 0.5 && down % 2 === 0) ? down : down + 1;
};
const clip = (x, low, high) => Math.min(Math.max(x, low), high);
const whole = (x) => rint(rint(x * 1e9) / 1e9); // two CPUs' libraries may differ at a half
const most = (rows) => rows.flat().reduce((a, b) => Math.max(a, Math.abs(b)), 0);

/** Little-endian bytes of numbers of a type such as "i16". */
const bytes = (values, type) => {
  const size = { u8: 1, i8: 1, u16: 2, i16: 2, u32: 4, i32: 4, f64: 8 }[type];
  const put = { u8: "setUint8", i8: "setInt8", u16: "setUint16", i16: "setInt16", u32: "setUint32", i32: "setInt32", f64: "setFloat64" }[type];
  const view = new DataView(new ArrayBuffer(size * values.length));
  values.forEach((value, i) => view[put](i * size, value, true));
  return new Uint8Array(view.buffer);
};

const fittingShift = (size, limit, low, high, name) => {
  const shift = size === 0 ? high : Math.floor(Math.log2(limit / size));
  if (shift < low) throw new TcuqError(`${name} is too large for the device's integers: ${size.toPrecision(3)}`);
  return Math.min(shift, high);
};

const lagWeights = (lags) => lags.flatMap((_, last) => {
  const share = lags.slice(0, last + 1).map((lag) => 1 / lag), sum = share.reduce((a, b) => a + b, 0);
  const row = share.map((one) => Math.floor((32768 * one) / sum));
  row[0] += 32768 - row.reduce((a, b) => a + b, 0);
  return row;
});

const contradiction = (classes, stickiness) => ({
  stay_q8: rint(256 * stickiness * Math.min(classes, MAX_STAY_CLASSES)),
  rest_q8: rint(256 * stickiness * (classes > 2 ? classes / (classes - 2) : 0)),
  change_q8: rint(256 * (1 - stickiness)),
});

const projectionOf = ({ projection, feature_scale: scale }) => {
  if (!projection || scale === null) return { projection: null, projection_bias: null, projection_shift: 0 };
  const matrix = projection.matrix.map((row) => row.map((x) => x / projection.scale));
  const weights = matrix.map((row) => row.map((x) => x * scale));
  const shift = fittingShift(most(weights), 127, 0, 22, "inputs.projection.matrix");
  const offset = matrix.map((row) => -row.reduce((sum, x, i) => sum + x * projection.mean[i], 0));
  return {
    projection: bytes(weights.flat().map((x) => rint(x * 2 ** shift)), "i8"),
    projection_bias: bytes(offset.map((x) => clip(rint((x + 0.5) * 2 ** shift), -(2 ** 29), 2 ** 29)), "i32"),
    projection_shift: shift,
  };
};

/** The inverse of a lower triangular matrix. */
const inverse = (lower) => {
  const size = lower.length, result = lower.map(() => new Array(size).fill(0));
  for (let column = 0; column < size; column++) {
    for (let row = column; row < size; row++) {
      let sum = row === column ? 1 : 0;
      for (let k = column; k < row; k++) sum -= lower[row][k] * result[k][column];
      result[row][column] = sum / lower[row][row];
    }
  }
  return result;
};

// Each column's error of rounding is carried into the columns it correlates with.
const roundedRows = (weights, whitening) => {
  const size = weights.length, left = weights.map((row) => [...row]), rounded = weights.map((row) => row.map(() => 0));
  const regular = whitening.every((row, i) => row[i] !== 0), root = regular ? inverse(whitening) : [];
  const carry = (row, column) => {
    const share = regular ? root[row][column] / root[column][column] : 0;
    return Number.isFinite(share) ? share : 0;
  };
  for (let column = size - 1; column >= 0; column--) {
    for (let row = 0; row < size; row++) {
      rounded[row][column] = clip(whole(left[row][column]), -MAX_WEIGHT, MAX_WEIGHT);
      const error = weights[row][column] - rounded[row][column];
      for (let k = 0; k < column; k++) left[row][k] += error * carry(column, k);
    }
  }
  return rounded.map((row, i) => row.map((x, j) => (j > i ? 0 : x)));
};

const packedRows = (matrix) => {
  const size = Math.ceil(matrix.length / 4) * 4, words = [];
  const at = (row, column) => matrix[row]?.[column] ?? 0;
  for (let top = 0; top < size; top += 4) {
    for (let left = 0; left < top + 4; left += 4) {
      for (let row = top; row < top + 4; row++) {
        for (const column of [left, left + 1]) {
          words.push((at(row, column) + WEIGHT_OFFSET + (at(row, column + 2) & 0xffff) * 65536) >>> 0);
        }
      }
    }
  }
  return words;
};

const noveltyOf = (novelty, inputs) => {
  if (!novelty || inputs.feature_scale === null) {
    return { whitening: null, whitening_shift: null, means: null, mean_squares: null, mean_count: 0, novelty_exponent: 0 };
  }
  const scale = inputs.projection ? inputs.projection.scale : inputs.feature_scale;
  const { whitening, means } = novelty, name = "signals.novelty.whitening";
  const dot = (row, mean) => row.reduce((sum, x, i) => sum + x * mean[i], 0);
  const farthest = most(means.map((mean) => whitening.map((row) => dot(row, mean))));
  const exponent = Math.min(8, fittingShift(most(whitening) * scale, MAX_WEIGHT, 0, 8, name),
    fittingShift(farthest + 16, WHITENED_MAX, 0, 8, name));
  const weights = whitening.map((row) => row.map((x) => 2 ** exponent * scale * x));
  const shifts = weights.map((row) => fittingShift(most([row]), MAX_WEIGHT, 0, 30, name));
  const quantised = roundedRows(weights.map((row, i) => row.map((x) => x * 2 ** shifts[i])), whitening);
  const centres = means.map((mean) => quantised.map((row, i) =>
    clip(whole(row.reduce((sum, x, j) => sum + (mean[j] / scale) * (x / 2 ** shifts[i]), 0) - 0.5), -WHITENED_MAX, WHITENED_MAX)));
  if (centres.length % 2) centres.push(centres.at(-1));
  const filler = new Array(-whitening.length & 3).fill(0);
  return {
    whitening: bytes(packedRows(quantised), "u32"),
    whitening_shift: bytes([...shifts, ...filler], "u8"),
    means: bytes(centres.flatMap((row) => [...row, ...filler]), "i16"),
    mean_squares: bytes(centres.map((row) => row.reduce((sum, x) => sum + x * x, 0)), "i32"),
    mean_count: centres.length,
    novelty_exponent: 2 * exponent,
  };
};

/** Statistics of input health as the device's integers, Q10. */
export const healthIntegers = (values) => Int16Array.from(values, (x) => clip(rint(x * HEALTH_ONE), -32768, 32767));

const healthOf = (health) => (health === null
  ? { health_count: 0, health_means: null, health_weights_q9: null }
  : {
    health_count: health.names.length,
    health_means: bytes([...healthIntegers(health.means)], "i16"),
    health_weights_q9: bytes(health.scales.map((x) => rint(512 / x)), "u16"),
  });

const signalScale = (signal, summed) => (LOGARITHMS.has(signal) ? 1024 / Math.LN2 : summed ? 32768 : 16384);
const biasOf = (bias) => rint(clip(bias, -8000, 8000) * 65536);

const termOf = (term) => {
  const scale = signalScale(term.signal, false);
  const all = term.points.map((x) => clip(rint(x * scale), -32768, 32767));
  const last = all.flatMap((x, i) => (i + 1 < all.length && all[i + 1] === x ? [] : [i])); // a tie keeps its whole mass
  const bits = last.map((i) => Math.min(rint(term.bits[i] * 1024), 65535));
  const reached = bits.findIndex((x) => x >= 1024 * MAX_NOVELTY), end = (reached < 0 ? bits.length : reached) + 1;
  return {
    signal: SIGNALS.indexOf(term.signal === "departure" ? "low_confidence" : term.signal),
    ewma: term.ewma ?? 0,
    point_count: Math.min(end, bits.length),
    dead_q10: rint(term.dead * 1024),
    cap_q10: rint(term.cap * 1024),
    weight_q8: rint(term.weight * 256),
    error_q8: rint(term.error_weight * 256),
    novelty_q8: 0,
    slope_q8: Math.min(MAX_SLOPE_Q8, rint((term.slope / scale) * 1024 * 256)),
    start_q10: rint(term.start * 1024),
    points: bytes(last.slice(0, end).map((i) => all[i]), "i16"),
    bits_q10: bytes(bits.slice(0, end), "u16"),
  };
};

const scoreOf = (score) => {
  if (score.kind !== "tcuq") {
    return {
      terms: score.terms.map(termOf), weights: bytes([0, 0, 0, 0], "i16"), weight_shift: 0,
      bias_q16: biasOf(score.bias), error_bias_q16: biasOf(score.error_bias), mix_q15: 0,
    };
  }
  const weights = SIGNALS.slice(0, 4).map((name) => score.weights[name] ?? 0);
  const shift = fittingShift(most([weights]), 32767, 5, 16, "score.weights");
  return {
    terms: [], weights: bytes(weights.map((x) => rint(x * 2 ** shift)), "i16"), weight_shift: shift,
    bias_q16: biasOf(score.bias), error_bias_q16: 0, mix_q15: rint(score.mix * 32768),
  };
};

const same = (a, b) => (a instanceof Uint8Array ? a.length === b.length && a.every((x, i) => x === b[i]) : a === b);

const scoreAndNovelty = (score, novelty) => {
  const form = scoreOf(score), sources = score.kind === "tcuq" ? [] : score.terms, { terms } = form;
  for (const one of novelty) {
    const added = termOf({ ...one, ewma: null, start: 0, dead: 0, cap: MAX_NOVELTY, weight: 0, error_weight: 0 });
    const { points, point_count, bits_q10, slope_q8 } = added, table = { points, point_count, bits_q10, slope_q8 };
    const place = sources.findIndex((term) => term.signal === one.signal && term.ewma === null &&
      Object.entries(table).every(([key, value]) => same(termOf(term)[key], value)));
    if (place < 0) terms.push(added);
    Object.assign(terms.at(place), table, { novelty_q8: rint(one.share * 256) });
  }
  return { ...form, terms: terms.length ? terms : null };
};

const channelOf = (channel, all) => {
  const scale = signalScale(channel.signal, true) * channel.block;
  const steps = all.channels.length * all.steps_per_false_alarm;
  return {
    signal: CHANNEL_SIGNALS.indexOf(channel.signal),
    flag: FLAGS[channel.signal],
    two_sided: channel.centre === null ? 0 : 1,
    block: channel.block,
    boot_limit_q8: Math.max(256, Math.ceil(256 * Math.log2((2 * steps) / channel.block))),
    centre: rint((channel.centre ?? 0) * scale),
    edges: channel.edges.map((edge) => rint(clip(edge * scale, -MAX_BOUND, MAX_BOUND))),
    gains_q8: channel.gains_q8,
    counts: [channel.chances, ...channel.passes[0], ...channel.passes[1]],
  };
};

const alarmOf = (alarm) => (alarm === null
  ? { channels: null, alarm_limit: 0, epoch_steps: 0 }
  : {
    channels: alarm.channels.map((channel) => channelOf(channel, alarm)),
    alarm_limit: Math.min(alarm.caution * alarm.channels.length * alarm.steps_per_false_alarm, MAX_ALARM_LIMIT),
    epoch_steps: alarm.epoch_steps,
  });

/** The device's form of a profile: integers, and arrays as little-endian bytes. */
export const deviceForm = (profile) => {
  const { inputs, signals, score, novelty, threshold, budget, alarm } = profile;
  const readers = [...novelty, ...(score.kind === "tcuq" ? [] : score.terms), ...(alarm?.channels ?? [])];
  const columns = inputs.outputs ? inputs.outputs.centres.length : inputs.classes;
  return {
    classes: columns,
    width: inputs.width,
    dimensions: inputs.selection?.length ?? inputs.projection?.matrix.length ?? inputs.width,
    lags: bytes(signals.lags, "u8"),
    lag_weights_q15: bytes(lagWeights(signals.lags), "u16"),
    blend_q15: inputs.outputs ? NO_CLASSES : rint(signals.blend * 32768),
    ...contradiction(columns, signals.stickiness),
    ...projectionOf(inputs),
    selection: inputs.selection ? bytes(inputs.selection, "u8") : null,
    ...noveltyOf(readers.some((one) => one.signal === "novelty") ? signals.novelty : null, inputs),
    ...healthOf(alarm === null ? null : signals.health), // nothing else reads it
    ...scoreAndNovelty(score, novelty),
    novelty_limit_q10: threshold.novelty_limit === null ? NO_NOVELTY_LIMIT : Math.ceil(threshold.novelty_limit * 1024),
    withhold_denied: budget.denied === "withhold" ? 1 : 0,
    adaptive: threshold.mode === "adaptive" ? 1 : 0,
    alpha_q16: threshold.alpha_q16,
    step: threshold.step,
    start: threshold.start,
    anchor: threshold.anchor,
    warmup: threshold.warmup,
    rate_q16: budget.rate_q16,
    burst_q16: budget.burst_q16,
    ...alarmOf(alarm),
  };
};

// Numbers as Python writes them: these are its floats.
const pythonFloat = (x) => {
  const [digits, power] = x.toExponential().split("e"), exponent = Number(power);
  if (exponent < -4 || exponent >= 16) {
    return `${digits}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
  }
  return Number.isInteger(x) ? `${x}.0` : String(x).includes("e") ? x.toFixed(20).replace(/0+$/, "") : String(x);
};

const canonical = (value) => {
  if (value instanceof Uint8Array) return `"${Array.from(value, (x) => x.toString(16).padStart(2, "0")).join("")}"`;
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (value !== null && typeof value === "object") {
    return `{${Object.keys(value).sort().map((key) => `"${key}":${canonical(value[key])}`).join(",")}}`;
  }
  return typeof value === "string" && value.startsWith("float:") ? value.slice(6) : JSON.stringify(value);
};

const float = (x) => (x === null ? null : `float:${pythonFloat(x)}`);

/** The SHA-256 of the device's form and of how its inputs are quantised, in hexadecimal. */
export const digest = async (form, inputs) => {
  const content = { ...form, kind: inputs.kind, feature_scale: float(inputs.feature_scale) };
  if (!inputs.selection) delete content.selection; // not hashed where there is none
  if (inputs.outputs) Object.assign(content, { centres: inputs.outputs.centres.map(float), scales: inputs.outputs.scales.map(float) });
  const { subtle } = globalThis.crypto ?? (await import("node:crypto")).webcrypto; // a global from Node 20 on
  const hash = await subtle.digest("SHA-256", new TextEncoder().encode(canonical(content)));
  return Array.from(new Uint8Array(hash), (x) => x.toString(16).padStart(2, "0")).join("");
};

/** A profile's document, checked, and its device's form. */
export const readProfile = async (source) => {
  let document;
  try {
    document = typeof source === "string" ? JSON.parse(source) : source;
  } catch (error) {
    throw new TcuqError(`profile must be JSON: ${error.message}`);
  }
  if (document?.format !== FORMAT) throw new TcuqError(`profile.format must be ${FORMAT}, got ${JSON.stringify(document?.format)}`);
  let form;
  try {
    form = deviceForm(document);
  } catch (error) {
    if (error instanceof TcuqError) throw error;
    throw new TcuqError(`profile must hold every member of ${FORMAT}: ${error.message}`);
  }
  const found = await digest(form, document.inputs);
  if (found !== document.sha256) throw new TcuqError(`profile.sha256 must be ${found} for this content, got ${document.sha256}`);
  return { document, form: { hash: parseInt(found.slice(0, 8), 16), ...form } };
};
