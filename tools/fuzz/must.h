/* SPDX-License-Identifier: Apache-2.0 */
/* What the runtime promises: a broken promise ends the fuzzer. */
#ifndef FUZZ_MUST_H
#define FUZZ_MUST_H

#include <stdio.h>
#include <stdlib.h>

#define MUST(what)                                                   \
    do {                                                             \
        if (!(what)) {                                               \
            (void)fprintf(stderr, "broken promise: %s, line %d\n", #what, __LINE__); \
            abort();                                                 \
        }                                                            \
    } while (0)

#endif
