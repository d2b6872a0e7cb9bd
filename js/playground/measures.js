// SPDX-License-Identifier: Apache-2.0
// Selective prediction beside the confidence alone, as tcuq.evaluation.selection measures it.

/** How unsure each prediction is by the model alone: 1 - C, or its outputs' distance from calibration's middle. */
const modelDoubt = (stream, { inputs }) => {
  const { data, width } = stream.posteriors;
  return Float64Array.from({ length: stream.steps }, (_, step) => {
    const row = data.subarray(step * width, (step + 1) * width);
    if (inputs.outputs) {
      return row.reduce((sum, x, i) => sum + Math.max(-127, Math.min(127, (x - inputs.outputs.centres[i]) / inputs.outputs.scales[i])) ** 2, 0);
    }
    const most = Math.max(...row);
    return 1 - (stream.kind === "logits" ? 1 / row.reduce((sum, x) => sum + Math.exp(x - most), 0) : most / row.reduce((a, b) => a + b, 0));
  });
};

/** Errors among the k surest steps, for every k from 0; equally sure steps share theirs. */
const errorsAmong = (wrong, doubt) => {
  const order = Array.from(wrong.keys()).sort((a, b) => doubt[a] - doubt[b]), errors = [0];
  for (let begin = 0; begin < order.length;) {
    let end = begin, tied = 0;
    while (end < order.length && doubt[order[end]] === doubt[order[begin]]) tied += wrong[order[end++]];
    for (let i = begin; i < end; i++) errors.push(errors[begin] + (tied * (i + 1 - begin)) / (end - begin));
    begin = end;
  }
  return errors;
};

/** Coverage, error among accepted, and the curves of error by coverage of both; null where no label is known. */
export const measure = (stream, profile, trace) => {
  const accepted = trace.withheld.map((x) => 1 - x), total = (array) => array.reduce((a, b) => a + b, 0);
  const result = { coverage: total(accepted) / stream.steps, error: null, rival: null, alone: null, curves: null, wrong: null };
  if (!stream.labels) return result;
  const wrong = trace.label.map((label, i) => (stream.labels[i] === -1 ? 0 : Number(label !== stream.labels[i])));
  const known = Array.from(stream.labels.keys()).filter((i) => stream.labels[i] !== -1);
  if (known.length === 0) return result;
  const at = (array) => known.map((i) => array[i]), [errors, used] = [at(wrong), at(accepted)], count = total(used);
  const curves = [at(trace.risk), at(modelDoubt(stream, profile))].map((doubt) => errorsAmong(errors, doubt));
  return {
    ...result, wrong,
    alone: total(errors) / known.length,
    error: count ? total(errors.map((x, i) => x * used[i])) / count : null,
    rival: count ? curves[1][count] / count : null,
    accepted: count / known.length,
    curves: curves.map((all) => all.map((sum, k) => (k ? sum / k : 0))),
  };
};

/** Steps at which an alarm is raised, and how long after a fault began the first one came. */
export const alarmsOf = (stream, trace) => {
  const steps = Array.from(trace.alarm.keys()).filter((i) => trace.alarm[i]);
  const onset = stream.shifted ? stream.shifted.indexOf(1) : -1;
  const end = onset < 0 ? -1 : stream.shifted.lastIndexOf(1) + 1;
  const caught = steps.find((step) => onset >= 0 && step >= onset && step < end);
  return { steps, onset, delay: caught === undefined ? null : caught - onset + 1, early: steps.filter((step) => onset >= 0 && step < onset).length };
};
