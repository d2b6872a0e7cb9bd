// SPDX-License-Identifier: Apache-2.0
// A minimal sketch around the monitor; yours to change, an export again leaves it alone.
#include <tcuq_device.h>

static uint8_t posterior[TCUQ_DEVICE_CLASSES];
static int8_t features[TCUQ_DEVICE_FEATURE_BYTES];
static bool sound = false;

// Yours: what the network said of the newest input, quantised as the README says; false: no more.
static bool nextStep() {
  posterior[0] = 0;
  features[0] = 0;
  return false;
}

void setup() {
  Serial.begin(115200);
  const int32_t fault = tcuq_device_selftest();
  sound = fault == 0;
  Serial.print("tcuq profile " TCUQ_DEVICE_PROFILE_SHA256 ", self-test ");
  Serial.println(static_cast<long>(fault));
}

void loop() {
  if (!sound || !nextStep()) {
    return;
  }
  tcuq_decision decision;
  tcuq_step(&tcuq_device, posterior, TCUQ_DEVICE_WIDTH > 0u ? features : nullptr, &decision);
  if (decision.outcome != TCUQ_ACCEPT) {
    Serial.println(decision.outcome == TCUQ_ABSTAIN ? "abstain" : "budget spent");
  }
  if (decision.alarm != 0) {
    Serial.println("alarm: this is not the stream that was calibrated on");
  }
}
