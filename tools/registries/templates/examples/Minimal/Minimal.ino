// SPDX-License-Identifier: Apache-2.0
// A sketch around the monitor, with the profile of tcuq's demo: replace the profile by yours.
#include <Arduino.h>
#include <tcuq.h>

#include "tcuq_demo.h"

static uint8_t posterior[TCUQ_DEMO_CLASSES];
static int8_t features[TCUQ_DEMO_FEATURE_BYTES];

void setup() {
  Serial.begin(115200);
  Serial.print("tcuq self-test ");
  Serial.println(static_cast<long>(tcuq_demo_selftest()));
}

void loop() {
  // Store the newest outputs of the network here, as the profile's README states.
  tcuq_decision decision;
  tcuq_step(&tcuq_demo, posterior, features, nullptr, &decision);
  if (decision.outcome != TCUQ_ACCEPT) {
    Serial.println("do not trust this prediction");
  }
}
