// SPDX-License-Identifier: Apache-2.0
// An interpreter whose outputs come from standard input.
#include "tensorflow/lite/micro/micro_interpreter.h"
#include "steps.h"

TfLiteStatus monitored_step(tflite::MicroInterpreter *interpreter, tcuq_decision *decision);

static int8_t codes[TCUQ_DEVICE_CLASSES + TCUQ_DEVICE_WIDTH];
static TfLiteTensor outputs[2];

TfLiteStatus tflite::MicroInterpreter::Invoke()
{
    double numbers[TCUQ_DEVICE_CLASSES + TCUQ_DEVICE_WIDTH];
    if (!read_step(numbers, TCUQ_DEVICE_CLASSES + TCUQ_DEVICE_WIDTH)) {
        return kTfLiteError;
    }
    for (size_t i = 0; i < TCUQ_DEVICE_CLASSES + TCUQ_DEVICE_WIDTH; i++) {
        codes[i] = (int8_t)numbers[i];
    }
    return kTfLiteOk;
}

TfLiteTensor *tflite::MicroInterpreter::output(size_t index)
{
    outputs[index].data.int8 = &codes[(index == 0) ? 0 : TCUQ_DEVICE_CLASSES];
    return &outputs[index];
}

int main()
{
    tflite::MicroInterpreter interpreter;
    tcuq_decision decision;
    if (tcuq_device_selftest() != 0) {
        return 1;
    }
    while (monitored_step(&interpreter, &decision) == kTfLiteOk) {
        print_decision(&decision);
    }
    return 0;
}
