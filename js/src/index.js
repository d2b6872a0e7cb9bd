// SPDX-License-Identifier: Apache-2.0
// The monitor: the C that devices run, as WebAssembly, one instance per monitor.
import { healthIntegers, readProfile, TcuqError } from "./profile.js";

export { causeInWords, meaning } from "./causes.js";
export { TcuqError };
export const OUTCOMES = ["accept", "abstain", "denied"];
export const REASONS = ["", "doubt", "unusual", "both"];

const CHUNK = 4096; // steps copied at once
const MAX_MAGNITUDE = 1e9, SUM_TOLERANCE = 0.02;
const PROFILE = 0, QUANTIZER = 1, TERM = 2, CHANNEL = 3;
const SETTERS = ["setUint8", "setUint16", "setInt16", "setUint32", "setInt32", "setFloat64"];
const SIZES = [1, 2, 2, 4, 4, 8];
const ITEMS = new Map([[Uint8Array, 0], [Float32Array, 1], [Float64Array, 2]]);
const COLUMNS = { int32_t: Int32Array, double: Float64Array, uint8_t: Uint8Array };

let compiled;
const compile = async () => {
  const url = new URL("../tcuq.wasm", import.meta.url);
  if (url.protocol !== "file:" || typeof process === "undefined") return WebAssembly.compile(await (await fetch(url)).arrayBuffer());
  const { readFile } = await import("node:fs/promises");
  return WebAssembly.compile(await readFile(url));
};

/** The instance's memory and functions. */
class Engine {
  constructor(instance) {
    this.c = instance.exports;
  }

  get view() {
    return new DataView(this.c.memory.buffer); // growing replaces the buffer
  }

  text(at) {
    const all = new Uint8Array(this.c.memory.buffer);
    return new TextDecoder().decode(all.subarray(at, all.indexOf(0, at)));
  }

  take(size) {
    const at = this.c.take(size);
    if (at === 0) throw new TcuqError(`memory must hold ${size} more bytes: pass shorter streams`);
    return at;
  }

  put(array) {
    const at = this.take(array.byteLength);
    new Uint8Array(this.c.memory.buffer).set(new Uint8Array(array.buffer, array.byteOffset, array.byteLength), at);
    return at;
  }

  /** A table's fields, and the size of their struct. */
  table(which) {
    const fields = [], { view } = this;
    for (let at = this.c.fields(which); ; at += 16) {
      const [name, offset, kind, count] = [0, 4, 8, 12].map((member) => view.getUint32(at + member, true));
      if (name === 0) return { fields, size: offset };
      fields.push({ name: this.text(name), offset, kind, count });
    }
  }

  write(which, values, base) {
    const { view } = this;
    for (const { name, offset, kind, count } of this.table(which).fields) {
      const all = count === 0 ? [values[name]] : values[name];
      if (all?.length !== (count || 1) || !all.every(Number.isFinite)) throw new TcuqError(`profile: ${name} must be ${count || 1} numbers, got ${all}`);
      all.forEach((value, i) => view[SETTERS[kind]](base + offset + i * SIZES[kind], value, true));
    }
  }

  /** Structs of a table in a row, or 0. */
  writeAll(which, all) {
    const { size } = this.table(which), base = this.take(size * (all?.length ?? 0));
    all?.forEach((values, i) => this.write(which, values, base + i * size));
    return all === null ? 0 : base;
  }

  writeArrays(form) {
    const { c } = this;
    for (let at = c.arrays(); this.view.getUint32(at, true) !== 0; at += 24) {
      const [name, offset, size, least, most] = [0, 4, 8, 12, 16].map((member) => this.view.getUint32(at + member, true));
      const array = form[this.text(name)], count = (array?.length ?? 0) / size;
      if (array === null ? this.view.getUint8(at + 20) !== 0 : !(count >= least && count <= most && Number.isInteger(count))) {
        throw new TcuqError(`profile: ${this.text(name)} must have ${least} to ${most} items, got ${count}`);
      }
      const pointer = array === null ? 0 : this.put(array);
      this.view.setUint32(c.struct_of(PROFILE) + offset, pointer, true);
    }
  }
}

const open = (engine, document, form) => {
  const { c } = engine, { inputs } = document;
  engine.write(PROFILE, form, c.struct_of(PROFILE));
  engine.write(QUANTIZER, {
    logits: inputs.kind === "logits" ? 1 : 0, promise: document.promise === null ? 0 : 1,
    feature_scale: inputs.feature_scale ?? 1, max_magnitude: MAX_MAGNITUDE, sum_tolerance: SUM_TOLERANCE,
  }, c.struct_of(QUANTIZER));
  const terms = engine.writeAll(TERM, form.terms), channels = engine.writeAll(CHANNEL, form.channels);
  form.terms?.forEach((term, i) => {
    const at = terms + i * engine.table(TERM).size;
    c.put_points(at, engine.put(term.points), engine.put(term.bits_q10), term.point_count);
  });
  const [centres, scales] = ["centres", "scales"].map((name) => (inputs.outputs ? engine.put(Float64Array.from(inputs.outputs[name])) : 0));
  c.put(engine.put(form.lags), form.lags.length, engine.put(form.weights), terms, form.terms?.length ?? 0, channels,
    form.channels?.length ?? 0, centres, scales);
  engine.writeArrays(form);
  const status = c.open();
  if (status !== 0) throw new TcuqError(`profile: ${engine.text(c.error(status))}`);
};

/** A monitor: one pass, no labels; the same decisions as the device's, bit for bit. */
export class Monitor {
  #engine;
  #form;
  #columns;

  constructor(engine, document, form) {
    this.#engine = engine;
    this.#form = form;
    this.#columns = engine.text(engine.c.columns()).trim().split(" ").map((column) => column.split(":"));
    this.profile = document;
    Object.freeze(this);
  }

  /** Opens a profile: its JSON, as text or parsed. `wasm` are the bytes of tcuq.wasm, where they lie elsewhere. */
  static async load(profile, { wasm } = {}) {
    const { document, form } = await readProfile(profile);
    compiled ??= wasm ? WebAssembly.compile(wasm) : compile();
    const engine = new Engine(await WebAssembly.instantiate(await compiled));
    open(engine, document, form);
    return new Monitor(engine, document, form);
  }

  /** Decides on one step. */
  step(posterior, features = null, health = null) {
    const trace = this.run(posterior, features, { health });
    const decision = Object.fromEntries(this.#columns.map(([name]) => [name, trace[name][0]]));
    for (const name of ["exceeded", "withheld", "amber", "promised"]) decision[name] = decision[name] === 1;
    return { ...decision, outcome: OUTCOMES[decision.outcome], reason: REASONS[decision.reason] };
  }

  /**
   * Decides on consecutive steps, given row by row in flat arrays: bytes as on the device, or floats. History is
   * forgotten before each of `starts`. If a step is refused the monitor keeps the state it had before the call.
   */
  run(posteriors, features = null, { health = null, starts = [] } = {}) {
    const rows = this.#checked(posteriors, features, health);
    const trace = Object.fromEntries(this.#columns.map(([name, type]) => [name, new COLUMNS[type](rows.steps)]));
    const forget = [...new Set(starts)].sort((a, b) => a - b);
    if (!forget.every((at) => Number.isInteger(at) && at >= 0 && at < Math.max(rows.steps, 1))) {
      throw new TcuqError(`starts must be steps of 0..${rows.steps - 1}, got ${forget}`);
    }
    const before = this.snapshot();
    const cuts = [...new Set([0, ...forget, rows.steps])];
    for (let i = 0; i + 1 < cuts.length; i++) {
      if (forget.includes(cuts[i])) this.resetHistory();
      for (let begin = cuts[i]; begin < cuts[i + 1]; begin += CHUNK) {
        const end = Math.min(begin + CHUNK, cuts[i + 1]);
        if (!this.#decide(rows, begin, end, trace)) {
          this.restore(before);
          throw new TcuqError(`posteriors and features must be finite, at most ${MAX_MAGNITUDE}, and probabilities sum to 1`
            + ` within ${SUM_TOLERANCE}: steps ${begin} to ${end - 1} hold one that does not`);
        }
      }
    }
    return trace;
  }

  #decide(rows, begin, end, trace) {
    const { c } = this.#engine, mark = c.mark();
    const part = (array, width) => (array === null || width === 0 ? 0 : this.#engine.put(array.subarray(begin * width, end * width)));
    const inputs = [part(rows.posteriors, rows.classes), part(rows.features, rows.width), part(rows.health, rows.statistics)];
    const outputs = this.#columns.map(([, type]) => this.#engine.take((end - begin) * COLUMNS[type].BYTES_PER_ELEMENT));
    const table = this.#engine.put(Uint32Array.from(outputs));
    const done = c.run(inputs[0], rows.item, inputs[1], inputs[2], end - begin, table);
    this.#columns.forEach(([name, type], i) => {
      trace[name].set(new COLUMNS[type](c.memory.buffer, outputs[i], end - begin), begin);
    });
    c.release(mark);
    return done === end - begin;
  }

  #checked(posteriors, features, health) {
    const { classes, width } = this.#form, statistics = this.#form.health_count;
    const asTyped = (array, name, allowed) => {
      if (allowed.some((type) => array instanceof type)) return array;
      if (Array.isArray(array)) return Float64Array.from(array);
      throw new TcuqError(`${name} must be numbers in a flat array, got ${array === null ? "null" : typeof array}`);
    };
    let first = asTyped(posteriors, "posteriors", [...ITEMS.keys()]);
    const steps = first.length / classes;
    if (!Number.isInteger(steps)) throw new TcuqError(`posteriors must be rows of ${classes}, got ${first.length} numbers`);
    let wide = width === 0 ? null : asTyped(features, "features", [Int8Array, Float32Array, Float64Array]);
    const quantised = first instanceof Uint8Array;
    if (wide !== null && (wide instanceof Int8Array) !== quantised) {
      throw new TcuqError("posteriors and features must both be the device's bytes (Uint8Array, Int8Array) or both floats");
    }
    if (wide !== null && !quantised && wide.constructor !== first.constructor) {
      first = Float64Array.from(first);
      wide = Float64Array.from(wide);
    }
    if (wide !== null && wide.length !== steps * width) throw new TcuqError(`features must be ${steps} rows of ${width}, got ${wide.length} numbers`);
    const given = health === null || statistics === 0 ? null : health instanceof Int16Array ? health : healthIntegers(health);
    if (given !== null && given.length !== steps * statistics) throw new TcuqError(`health must be ${steps} rows of ${statistics}, got ${given.length} numbers`);
    return { posteriors: first, features: wide, health: given, steps, classes, width, statistics, item: ITEMS.get(first.constructor) };
  }

  /** Whether an alarm was raised since the start or the last reset. */
  get alarmStands() {
    return this.#engine.c.alarm_stands() === 1;
  }

  /** Back to the calibrated state. */
  reset() {
    this.#engine.c.reset();
  }

  /** After a gap in the stream: forgets the past, keeps the rest. */
  resetHistory() {
    this.#engine.c.reset_history();
  }

  /** After a repair: the alarm compares with calibration again. */
  acknowledge() {
    this.#engine.c.acknowledge();
  }

  /** The state as bytes, the same as on every device. */
  snapshot() {
    const { c } = this.#engine, mark = c.mark(), size = c.snapshot_size(), at = this.#engine.take(size);
    c.snapshot(at, size);
    const state = new Uint8Array(c.memory.buffer.slice(at, at + size));
    c.release(mark);
    return state;
  }

  /** Goes on from a snapshot of the same profile; refuses any other and then changes nothing. */
  restore(state) {
    const { c } = this.#engine, mark = c.mark();
    const status = c.restore(this.#engine.put(state), state.length);
    c.release(mark);
    if (status !== 0) throw new TcuqError(`snapshot: ${this.#engine.text(c.error(status))}`);
  }
}
