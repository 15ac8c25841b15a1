/* SPDX-License-Identifier: Apache-2.0 */
#include "src/wire/bytes.h"

#include <assert.h>
#include <string.h>

/* Where the next `length` bytes go; null when they do not fit. */
static uint8_t *take(struct wire_writer *w, size_t length)
{
    assert(w && w->used <= w->room);
    if (w->failed || length > w->room - w->used) {
        w->failed = true;
        return NULL;
    }
    w->used += length;
    return w->data + w->used - length;
}

void wire_put(struct wire_writer *w, uint64_t value, unsigned bytes)
{
    assert(bytes >= 1 && bytes <= 8);
    uint8_t *out = take(w, bytes);
    for (unsigned i = bytes; out && i > 0; i--, value >>= 8)
        out[i - 1] = (uint8_t)value;
}

void wire_put_bytes(struct wire_writer *w, const void *data, size_t length)
{
    assert(data || length == 0);
    uint8_t *out = take(w, length);
    if (out && length)
        memcpy(out, data, length);
}

void wire_put_string(struct wire_writer *w, const void *data, size_t length)
{
    if (length > UINT8_MAX) {
        w->failed = true;
        return;
    }
    wire_put(w, length, 1);
    wire_put_bytes(w, data, length);
}

uint64_t wire_get(struct wire_reader *r, unsigned bytes)
{
    assert(bytes >= 1 && bytes <= 8);
    const uint8_t *in = wire_get_bytes(r, bytes);
    uint64_t value = 0;
    for (unsigned i = 0; in && i < bytes; i++)
        value = value << 8 | in[i];
    return value;
}

const uint8_t *wire_get_bytes(struct wire_reader *r, size_t length)
{
    assert(r);
    if (r->failed || length > r->left) {
        r->failed = true;
        return NULL;
    }
    const uint8_t *at = r->data;
    r->data += length;
    r->left -= length;
    return at;
}
