// SPDX-License-Identifier: Apache-2.0
// What the recorded streams are, in the order in which the page offers them.
export const ABOUT = {
  keywords: {
    title: "Keywords, a failing microphone",
    unit: "Severity of the fault",
    step: "1 s: a window over spoken digits, two per word",
    text: "A keyword network hears 12 people who are not in its training or in the monitor's calibration. The fault acts on the audio.",
    source: "outputs of a network on AudioMNIST (Becker et al., MIT licence)",
  },
  gas: {
    title: "A gas sensor that drifts",
    unit: "Time since calibration",
    step: "one reading",
    text: "A regressor reads a concentration from 16 sensors. It is wrong where it is off by more than a third. The sensors drift with the months; nothing else changes.",
    source: "outputs of a regressor on Gas Sensor Array Drift (Vergara et al., UCI, CC BY 4.0)",
  },
  wake: {
    title: "A wake word, microphone covered",
    unit: "Covered by",
    step: "0.13 s of sound",
    text: "A model gives one number eight times per second: was “Marvin” just said? Under a cover it hears nothing and is sure of it.",
    source: "outputs of MLPerf Tiny's wake-word model (Apache-2.0) on a room put together from Speech Commands (Warden, CC BY 4.0)",
  },
};
