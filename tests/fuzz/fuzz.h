/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every fuzz target shares. A target is one file here that defines LLVMFuzzerTestOneInput;
 * `make fuzz TARGET=name SECONDS=n` builds it with clang and feeds it. HOLDS states what must be
 * true of every input; the sanitizers see the rest.
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define HOLDS(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition);         \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length);

#endif
