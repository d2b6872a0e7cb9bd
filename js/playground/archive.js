// SPDX-License-Identifier: Apache-2.0
// Zip archives and the arrays in them (.npz), as NumPy writes and reads them.
import { TcuqError } from "../src/index.js";

const MOST_BYTES = 1 << 28; // of one array
const END = 0x06054b50, ENTRY = 0x02014b50, LOCAL = 0x04034b50, END_BYTES = 22, COMMENT_BYTES = 65535;
const STORED = 0, DEFLATED = 8;

const inflated = async (bytes, size, name) => {
  const source = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader();
  const all = new Uint8Array(size);
  for (let at = 0; ;) {
    const { done, value } = await source.read().catch(() => { throw new TcuqError(`${name} is damaged`); });
    if (done && at === size) return all;
    if (done || at + value.length > size) throw new TcuqError(`${name} does not have the ${size} bytes that the archive says`);
    all.set(value, at);
    at += value.length;
  }
};

/** The files of a zip archive, by name. */
export const readZip = async (bytes) => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength), files = new Map();
  let end = bytes.length - END_BYTES;
  const last = Math.max(0, end - COMMENT_BYTES);
  while (end >= last && view.getUint32(end, true) !== END) end--;
  if (end < last) throw new TcuqError("it is no .npz file: the end of the archive is missing");
  try {
    let at = view.getUint32(end + 16, true);
    for (let left = view.getUint16(end + 10, true); left > 0; left--) {
      if (view.getUint32(at, true) !== ENTRY) throw new RangeError();
      const [method, sum, packed, size] = [view.getUint16(at + 10, true), view.getUint32(at + 16, true), view.getUint32(at + 20, true), view.getUint32(at + 24, true)];
      const [named, extra, comment] = [28, 30, 32].map((member) => view.getUint16(at + member, true));
      const name = new TextDecoder().decode(bytes.subarray(at + 46, at + 46 + named)), local = view.getUint32(at + 42, true);
      if (size > MOST_BYTES) throw new TcuqError(`${name} has ${size} bytes; at most ${MOST_BYTES} are read`);
      if (view.getUint32(local, true) !== LOCAL || (method !== STORED && method !== DEFLATED)) throw new RangeError();
      const begin = local + 30 + view.getUint16(local + 26, true) + view.getUint16(local + 28, true);
      const raw = bytes.subarray(begin, begin + packed);
      const content = method === STORED ? raw.slice() : await inflated(raw, size, name);
      if (content.length !== size || crc32(content) !== sum) throw new TcuqError(`${name} is damaged: its checksum differs`);
      files.set(name, content);
      at += 46 + named + extra + comment;
    }
  } catch (error) {
    if (error instanceof RangeError) throw new TcuqError("it is no .npz file: the archive is damaged");
    throw error;
  }
  return files;
};

let table;
const crc32 = (bytes) => {
  table ??= Uint32Array.from({ length: 256 }, (_, i) => {
    for (let bit = 0; bit < 8; bit++) i = i & 1 ? (i >>> 1) ^ 0xedb88320 : i >>> 1;
    return i;
  });
  let sum = 0xffffffff;
  for (const byte of bytes) sum = table[(sum ^ byte) & 255] ^ (sum >>> 8);
  return (sum ^ 0xffffffff) >>> 0;
};

/** A zip archive of files, stored. */
export const writeZip = (files) => {
  const parts = [], entries = [];
  let at = 0;
  for (const [name, content] of files) {
    const title = new TextEncoder().encode(name), head = new DataView(new ArrayBuffer(26));
    [[0, 20], [4, STORED], [8, 0x21], [22, title.length]].forEach(([place, value]) => head.setUint16(place, value, true));
    [[10, crc32(content)], [14, content.length], [18, content.length]].forEach(([place, value]) => head.setUint32(place, value, true));
    const local = word(LOCAL), entry = new DataView(new ArrayBuffer(16));
    entry.setUint32(12, at, true);
    parts.push(local, head.buffer, title, content);
    entries.push(word(ENTRY), Uint8Array.of(20, 0), head.buffer, entry.buffer.slice(2), title);
    at += 30 + title.length + content.length;
  }
  const size = entries.reduce((sum, part) => sum + part.byteLength, 0), tail = new DataView(new ArrayBuffer(18));
  tail.setUint16(4, files.length, true);
  tail.setUint16(6, files.length, true);
  tail.setUint32(8, size, true);
  tail.setUint32(12, at, true);
  return new Blob([...parts, ...entries, word(END), tail.buffer], { type: "application/zip" });
};

const word = (value) => {
  const view = new DataView(new ArrayBuffer(4));
  view.setUint32(0, value, true);
  return view.buffer;
};

const half = (bits) => {
  const power = (bits >> 10) & 31, rest = bits & 1023, sign = bits >> 15 ? -1 : 1;
  if (power === 31) return rest ? NaN : sign * Infinity;
  return sign * (power ? 2 ** (power - 15) * (1 + rest / 1024) : rest * 2 ** -24);
};
const READERS = {
  f2: (view, at, little) => half(view.getUint16(at, little)),
  f4: (view, at, little) => view.getFloat32(at, little), f8: (view, at, little) => view.getFloat64(at, little),
  u1: (view, at) => view.getUint8(at), b1: (view, at) => view.getUint8(at), i1: (view, at) => view.getInt8(at),
  u2: (view, at, little) => view.getUint16(at, little), i2: (view, at, little) => view.getInt16(at, little),
  u4: (view, at, little) => view.getUint32(at, little), i4: (view, at, little) => view.getInt32(at, little),
  i8: (view, at, little) => Number(view.getBigInt64(at, little)), u8: (view, at, little) => Number(view.getBigUint64(at, little)),
};

/** A .npy file: its numbers or words row by row, and its shape. */
export const readArray = (bytes, name) => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const [wide, magic] = [bytes[6] > 1, String.fromCharCode(...bytes.subarray(0, 6))];
  if (magic !== "\x93NUMPY" || bytes.length < 12) throw new TcuqError(`${name} is no array of NumPy`);
  const begin = (wide ? 12 : 10) + (wide ? view.getUint32(8, true) : view.getUint16(8, true));
  const header = new TextDecoder("latin1").decode(bytes.subarray(wide ? 12 : 10, begin));
  const type = /'descr':\s*'([<>|=]?)([a-zA-Z])(\d+)'/.exec(header), order = /'fortran_order':\s*(True|False)/.exec(header);
  const shape = /'shape':\s*\(([\d,\s]*)\)/.exec(header)?.[1].split(",").filter((x) => x.trim()).map(Number);
  if (!type || !order || !shape) throw new TcuqError(`${name} must hold numbers or words: nothing else is read`);
  const [, sign, kind, length] = type, little = sign !== ">", count = shape.reduce((product, side) => product * side, 1);
  const size = kind === "U" ? 4 * length : Number(length), read = READERS[kind + length];
  if (kind !== "U" && !read) throw new TcuqError(`${name} must not have dtype ${kind}${length}`);
  if (order[1] === "True" && shape.length > 1) throw new TcuqError(`${name} must be stored row by row: save it with order="C"`);
  if (begin + count * size > bytes.length) throw new TcuqError(`${name} claims more than its file holds`);
  if (kind !== "U") return { kind, shape, data: Float64Array.from({ length: count }, (_, i) => read(view, begin + i * size, little)) };
  const words = Array.from({ length: count }, (_, i) => Array.from({ length }, (_, k) => view.getUint32(begin + i * size + 4 * k, little))
    .filter((point) => point > 0 && point < 0x110000).map((point) => String.fromCodePoint(point)).join(""));
  return { kind, shape, data: words };
};

const TYPES = new Map([[Float64Array, "<f8"], [Int32Array, "<i4"], [Uint8Array, "|b1"]]);

/** A .npy file of numbers, or of words. */
export const writeArray = (data, shape) => {
  let type = TYPES.get(data.constructor), body = data;
  if (!type) {
    const longest = Math.max(1, ...data.map((one) => [...one].length));
    type = `<U${longest}`;
    body = new Uint32Array(longest * data.length);
    data.forEach((one, i) => [...one].forEach((letter, k) => { body[i * longest + k] = letter.codePointAt(0); }));
  }
  const sides = shape.length === 1 ? `${shape[0]},` : shape.join(", ");
  const text = `{'descr': '${type}', 'fortran_order': False, 'shape': (${sides}), }`;
  const padded = `${text.padEnd(64 * Math.ceil((text.length + 11) / 64) - 11)}\n`;
  const head = new TextEncoder().encode(`xNUMPYxxxx${padded}`);
  head.set([0x93], 0);
  head.set([1, 0, padded.length & 255, padded.length >> 8], 6);
  const file = new Uint8Array(head.length + body.byteLength);
  file.set(head);
  file.set(new Uint8Array(body.buffer, body.byteOffset, body.byteLength), head.length);
  return file;
};
