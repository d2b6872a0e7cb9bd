// SPDX-License-Identifier: Apache-2.0
// Runs a sketch once; the exit code is what it printed of its self-test.
#include "Arduino.h"

Port Serial = {-1};

extern "C" int main() {
  setup();
  loop();
  return static_cast<int>(Serial.last);
}
