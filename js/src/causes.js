// SPDX-License-Identifier: Apache-2.0
// What an alarm means to a technician, in the words of Python's tcuq.causes.
const CHANNELS = [[1, "risk"], [2, "novelty"], [4, "divergence"], [8, "instability"]];
const HEALTH_FLAG = 16, SINCE_BOOT_FLAG = 128;
const HEALTH = "input health", SINCE_BOOT = " since boot";
const LITTLE = 0.3, NOTHING = -6; // bits: hardly a change, and almost nothing left
const SHARES = { 2: "half", 3: "a third", 4: "a quarter", 5: "a fifth", 8: "an eighth", 10: "a tenth" };
const KINDS = { level: ["", ""], roughness: [" is noisier", " is smoother"], spread: [" varies more", " varies less"] };

/** The channel that alarmed in words; `statistic` of input health counts from 1, 0 stands for none. */
export const causeInWords = (healthNames, alarm, statistic) => {
  if (!alarm) return "";
  const causes = CHANNELS.filter(([flag]) => alarm & flag).map(([, name]) => name);
  const name = healthNames[statistic - 1];
  if (name !== undefined) causes.push(`${HEALTH}: ${name}`);
  else if (alarm & HEALTH_FLAG) causes.push(HEALTH);
  return causes.join(", ") + (alarm & SINCE_BOOT_FLAG ? SINCE_BOOT : "");
};

/** An alarm in one sentence; "" without a cause. `change` is in bits. */
export const meaning = (cause, change, label) => {
  if (!cause) return "";
  const plain = cause.endsWith(SINCE_BOOT) ? cause.slice(0, -SINCE_BOOT.length) : cause;
  const at = plain.indexOf(`${HEALTH}: `);
  return at < 0 ? ofChannel(plain, change, label) : ofHealth(plain.slice(at + HEALTH.length + 2), change);
};

const ofHealth = (statistic, change) => {
  if (change === 0) return `The ${statistic}: not as in calibration.`;
  const cut = statistic.lastIndexOf(" "), sensor = statistic.slice(0, Math.max(cut, 0)), kind = statistic.slice(cut + 1);
  if (!sensor || !(kind === "repeats" || Object.hasOwn(KINDS, kind))) {
    return `The ${statistic} ${change > 0 ? "rose" : "fell"} by ${significant(Math.abs(change))}.`;
  }
  if (kind === "repeats") {
    return change > 0 ? `The ${sensor} is frozen: its samples repeat.` : `The ${sensor}'s samples repeat less than they did.`;
  }
  if (kind !== "level" && change <= NOTHING) return `The ${sensor} is dead or stuck: its ${kind} fell to almost nothing.`;
  const state = KINDS[kind][change > 0 ? 0 : 1];
  return `${state ? `The ${sensor}${state}: its ${kind}` : `The ${sensor} ${kind}`} ${moved(change)}.`;
};

const ofChannel = (channel, change, label) => {
  if (channel === "divergence" || channel === "instability") {
    const what = channel === "divergence" ? "Outputs" : "Features";
    if (Math.abs(change) < LITTLE) return `${what} change otherwise from step to step than in calibration.`;
    if (change > -2) return `${what} change ${times(change)} as much from step to step.`;
    return `${what} hardly change any more: stuck at class ${label}.`;
  }
  return channel === "risk" ? "The risk of an error is beyond the highest of calibration." : "Inputs are unlike those of calibration.";
};

const moved = (bits) => {
  if (Math.abs(bits) < LITTLE) return bits > 0 ? "rose a little" : "fell a little";
  return bits > 0 ? `rose to ${times(bits)}` : `fell to ${shareOf(-bits)}`;
};

const times = (bits) => {
  const factor = 2 ** bits;
  if (factor < 1) return shareOf(-bits);
  if (factor >= 100) return "more than 100 times";
  return `${factor >= 3 ? factor.toFixed(0) : significant(factor)} times`;
};

const shareOf = (bits) => {
  if (-bits <= NOTHING) return "almost nothing";
  const off = (part) => Math.abs(2 ** bits / part - 1);
  const part = Object.keys(SHARES).reduce((best, one) => (off(one) < off(best) ? one : best));
  return off(part) < 0.2 ? SHARES[part] : `${(100 * 2 ** -bits).toFixed(0)}%`;
};

// Two significant digits, as Python's format .2g.
const significant = (x) => (x >= 99.5 || x < 0.0001 ? x.toExponential(1).replace(/\.0(?=e)/, "").replace(/e([+-])(\d)$/, "e$10$2") : String(Number(x.toPrecision(2))));
