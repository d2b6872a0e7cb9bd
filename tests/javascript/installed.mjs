// SPDX-License-Identifier: Apache-2.0
// Runs the installed package in Node: a golden profile goes on from its golden snapshot.
import { readFileSync } from "node:fs";
import { Monitor } from "tcuq";

const monitor = await Monitor.load(readFileSync("recommended.json", "utf8"));
const snapshot = readFileSync("recommended.snapshot");
monitor.restore(new Uint8Array(snapshot));
if (!snapshot.equals(Buffer.from(monitor.snapshot()))) throw new Error("the snapshot must come back as it was");
const { label, outcome } = monitor.step([0.97, 0.01, 0.01, 0.01], new Array(6).fill(0));
if (label !== 0) throw new Error(`the label must be 0, got ${label}`);
console.log(`tcuq decides in Node: ${outcome}`);
