/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Integers of the wire: big-endian, written and read within bounds. A writer or reader that ran
 * over its end stays failed and touches nothing any more, so one check at the end suffices.
 */
#ifndef SRC_WIRE_BYTES_H
#define SRC_WIRE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wire_writer {
    uint8_t *data;
    size_t room, used;
    bool failed;
};

struct wire_reader {
    const uint8_t *data;
    size_t left;
    bool failed;
};

/* `bytes` (1 to 8) low bytes of `value`. */
void wire_put(struct wire_writer *w, uint64_t value, unsigned bytes);
void wire_put_bytes(struct wire_writer *w, const void *data, size_t length);
/* A length of one byte, then at most 255 bytes; longer strings fail. */
void wire_put_string(struct wire_writer *w, const void *data, size_t length);

uint64_t wire_get(struct wire_reader *r, unsigned bytes);
/* Null after a failure; otherwise points into the reader's data. */
const uint8_t *wire_get_bytes(struct wire_reader *r, size_t length);

#endif
