// SPDX-License-Identifier: Apache-2.0
// The profile that `tcuq fit` gives at other settings: alpha chooses among fitted thresholds, the rest are numbers of it.
import { deviceForm, digest } from "../src/profile.js";

const ONE_Q16 = 65536;

const hash = async (text) => {
  const sum = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return Array.from(new Uint8Array(sum), (x) => x.toString(16).padStart(2, "0")).join("");
};

/** A profile's JSON, from a bundle's text in the order and spelling that a profile's checksum reads. */
export const profileAt = async (bundle, { alpha, budget, stepsPerFalseAlarm }) => {
  const content = bundle.profile
    .replace(/"threshold":\{[^}]*\}/, () => `"threshold":${bundle.thresholds[alpha]}`)
    .replace(/"rate_q16":\d+/, `"rate_q16":${Math.floor(budget * ONE_Q16)}`)
    .replace(/"steps_per_false_alarm":\d+/, `"steps_per_false_alarm":${stepsPerFalseAlarm}`);
  const document = JSON.parse(content), sha256 = await digest(deviceForm(document), document.inputs);
  const head = { format: bundle.format, sha256, checksum: await hash(content) };
  return `${JSON.stringify(head).slice(0, -1)},${content.slice(1)}\n`;
};
