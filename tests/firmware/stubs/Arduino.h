/* SPDX-License-Identifier: Apache-2.0 */
/* As much of Arduino as the minimal sketch uses: what it prints last is kept. */
#ifndef ARDUINO_H
#define ARDUINO_H

#include <stddef.h>
#include <stdint.h>

struct Port {
    long last;
    void begin(unsigned long) {}
    void print(const char *) {}
    void println(const char *) {}
    void println(long number) { last = number; }
};
extern Port Serial;

void setup();
void loop();

#endif
