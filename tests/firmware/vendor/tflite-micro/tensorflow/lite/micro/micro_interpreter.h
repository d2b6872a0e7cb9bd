/* SPDX-License-Identifier: Apache-2.0 */
/* Declared as in TensorFlow Lite Micro's header of this name: what the page uses. */
#ifndef MICRO_INTERPRETER_H
#define MICRO_INTERPRETER_H

#include <cstddef>
#include <cstdint>

typedef enum TfLiteStatus { kTfLiteOk = 0, kTfLiteError = 1 } TfLiteStatus;

typedef union TfLitePtrUnion {
    float *f;
    int8_t *int8;
    void *data;
} TfLitePtrUnion;

typedef struct TfLiteTensor {
    TfLitePtrUnion data;
} TfLiteTensor;

namespace tflite {
class MicroInterpreter {
  public:
    TfLiteStatus Invoke();
    TfLiteTensor *input(size_t index);
    TfLiteTensor *output(size_t index);
};
}

#endif
