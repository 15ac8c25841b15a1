/* SPDX-License-Identifier: Apache-2.0 */
#include "src/wire/bytes.h"

#include <assert.h>
#include <string.h>

void wire_put(struct wire_writer *w, uint64_t value, unsigned bytes)
{
    assert(bytes >= 1 && bytes <= 8);
    uint8_t out[8];
    for (unsigned i = 0; i < bytes; i++)
        out[i] = (uint8_t)(value >> (8 * (bytes - 1 - i)));
    wire_put_bytes(w, out, bytes);
}

void wire_put_bytes(struct wire_writer *w, const void *data, size_t length)
{
    assert(w && (data || length == 0) && w->used <= w->room);
    if (w->failed || length > w->room - w->used) {
        w->failed = true;
        return;
    }
    if (length)
        memcpy(w->data + w->used, data, length);
    w->used += length;
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
