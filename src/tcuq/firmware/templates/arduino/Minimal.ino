// SPDX-License-Identifier: Apache-2.0
// A minimal sketch around the monitor. It is yours to change: a later export does not overwrite it.
#include <Arduino.h>
#include <tcuq_device.h>

static bool selfTestPassed = false;

@INPUTS@

void setup() {
  Serial.begin(115200);
  const int32_t fault = tcuq_device_selftest();
  selfTestPassed = fault == 0;
  Serial.print("tcuq profile " TCUQ_DEVICE_PROFILE_SHA256 ", self-test ");
  Serial.println(static_cast<long>(fault));
}

void loop() {
  if (!selfTestPassed || !next_step()) {
    return;
  }
  tcuq_decision decision;
  tcuq_step(&tcuq_device, posterior, TCUQ_DEVICE_WIDTH > 0u ? features : nullptr,
            TCUQ_DEVICE_HEALTH > 0u ? health : nullptr, &decision);
  if (decision.withheld != 0) {
    Serial.println((decision.reason & TCUQ_REASON_DOUBT) != 0 ? "withheld: doubtful" : "withheld: unusual");
  }
  if (decision.alarm != 0) {
    Serial.println("alarm: the stream is no longer the one known so far");
  }
}
