// SPDX-License-Identifier: Apache-2.0

/** What a profile, an input or a snapshot breaks: the thing, the rule, the value. */
export class TcuqError extends Error {}

export type Outcome = "accept" | "abstain" | "denied";
export type Reason = "" | "doubt" | "unusual" | "both";

/** Words for the numbers in `Trace.outcome` and `Trace.reason`. */
export const OUTCOMES: readonly Outcome[];
export const REASONS: readonly Reason[];

/** Bytes as on the device, or floats; rows one after another. */
export type Posteriors = Uint8Array | Float32Array | Float64Array | number[];
export type Features = Int8Array | Float32Array | Float64Array | number[];
/** Statistics of input health: in 1/1024 as on the device, or floats. */
export type Health = Int16Array | Float32Array | Float64Array | number[];

/** The result of one step. */
export interface Decision {
  label: number;
  steady_label: number;
  /** How probably the label is wrong, 0 to 1. */
  risk: number;
  expected_error: number;
  /** How unlike calibration the input is, in bits. */
  novelty: number;
  threshold: number;
  exceeded: boolean;
  reason: Reason;
  outcome: Outcome;
  withheld: boolean;
  /** Channels that alarm: 1 risk, 2 novelty, 4 divergence, 8 instability, 16 health; 128: since boot. */
  alarm: number;
  amber: boolean;
  /** 1 + the statistic of input health that explains the alarm; 0: none does. */
  cause: number;
  change: number;
  promised: boolean;
}

/** One array per member of a decision. */
export interface Trace {
  label: Int32Array;
  steady_label: Int32Array;
  risk: Float64Array;
  expected_error: Float64Array;
  novelty: Float64Array;
  threshold: Float64Array;
  exceeded: Uint8Array;
  reason: Uint8Array;
  outcome: Uint8Array;
  withheld: Uint8Array;
  alarm: Uint8Array;
  amber: Uint8Array;
  cause: Uint8Array;
  change: Float64Array;
  promised: Uint8Array;
}

/** The channel that alarmed in words; `statistic`, a decision's `cause`, counts from 1. */
export function causeInWords(healthNames: readonly string[], alarm: number, statistic: number): string;
/** An alarm in one sentence; "" without a cause. */
export function meaning(cause: string, change: number, label: number): string;

/** A monitor: one pass, no labels; the same decisions as the device's, bit for bit. */
export class Monitor {
  private constructor();
  /** Opens a profile: its JSON, as text or parsed. `wasm` are the bytes of tcuq.wasm, where they lie elsewhere. */
  static load(profile: string | object, options?: { wasm?: BufferSource }): Promise<Monitor>;
  /** The profile's document. */
  readonly profile: any;
  /** Whether an alarm was raised since the start or the last reset. */
  readonly alarmStands: boolean;
  /** Decides on one step. */
  step(posterior: Posteriors, features?: Features | null, health?: Health | null): Decision;
  /** Decides on consecutive steps; history is forgotten before each of `starts`. */
  run(posteriors: Posteriors, features?: Features | null, options?: { health?: Health | null; starts?: Iterable<number> }): Trace;
  /** Back to the calibrated state. */
  reset(): void;
  /** After a gap in the stream: forgets the past, keeps the rest. */
  resetHistory(): void;
  /** After a repair: the alarm compares with calibration again. */
  acknowledge(): void;
  /** The state as bytes, the same as on every device. */
  snapshot(): Uint8Array;
  /** Goes on from a snapshot of the same profile; refuses any other and then changes nothing. */
  restore(state: Uint8Array): void;
}
