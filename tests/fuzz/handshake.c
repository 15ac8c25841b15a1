/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The handshake (MK-I1, MK-I2). The first byte picks the form of the rest:
 *   even  bytes of a stranger, to a server (bit 1 clear) or a client
 *   odd   changes of a genuine handshake, three bytes each: which of its bytes, and what is XORed;
 *         with bit 2 its bytes arrive one by one
 * A stranger gets no further than the challenge, and a change of any byte ends the handshake.
 */
#include <string.h>

#include "src/wire/session.h"
#include "tests/fuzz/fuzz.h"

static const uint8_t key[WIRE_KEY_BYTES] = {1, 2, 3};

struct changes {
    const uint8_t *data;
    size_t length; /* what is left */
    size_t passed; /* bytes that went by, either way */
    bool changed;  /* something was */
    bool one_by_one;
};

static struct wire_session *session(enum wire_role role)
{
    uint8_t nonce[WIRE_NONCE_BYTES] = {(uint8_t)role, 7};
    struct wire_session *made = NULL;
    HOLDS(wire_session_create(role, key, nonce, &made) == FABRIC_OK);
    return made;
}

/* False: it ended. */
static bool feed(struct wire_session *to, const uint8_t *data, size_t length, bool one_by_one)
{
    struct wire_message message;
    while (length > 0) {
        size_t taken = 0;
        bool got = false;
        if (wire_session_feed(to, data, one_by_one ? 1 : length, &taken) ||
            wire_session_next(to, &message, &got))
            return false;
        HOLDS(taken <= length && (taken > 0 || got));
        data += taken;
        length -= taken;
    }
    return true;
}

static void stranger(enum wire_role role, const uint8_t *data, size_t length)
{
    struct wire_session *one = session(role);
    (void)feed(one, data, length, false);
    HOLDS(!wire_session_is_ready(one));
    wire_session_destroy(one);
}

static void change(struct changes *c, uint8_t *bytes, size_t length)
{
    const uint8_t *rest = c->data;
    for (size_t left = c->length; left >= 3; left -= 3, rest += 3) {
        size_t at = (size_t)(rest[0] << 8 | rest[1]);
        if (at < c->passed || at >= c->passed + length)
            continue;
        bytes[at - c->passed] ^= rest[2];
    }
    c->passed += length;
}

/* Carries what waits in `from`; false when the receiver ended. */
static bool carry(struct wire_session *from, struct wire_session *to, struct changes *c)
{
    size_t length;
    const uint8_t *waiting = wire_session_pending(from, &length);
    if (length == 0)
        return true;
    uint8_t *bytes = malloc(length);
    HOLDS(bytes);
    memcpy(bytes, waiting, length);
    change(c, bytes, length);
    c->changed = c->changed || memcmp(bytes, waiting, length) != 0;
    wire_session_sent(from, length);
    bool alive = feed(to, bytes, length, c->one_by_one);
    free(bytes);
    return alive;
}

static void genuine(struct changes *c)
{
    struct wire_session *client = session(WIRE_CLIENT), *server = session(WIRE_SERVER);
    bool alive = true;
    for (int round = 0; alive && round < 3; round++)
        alive = carry(client, server, c) && carry(server, client, c);
    bool ready = wire_session_is_ready(client) && wire_session_is_ready(server);
    HOLDS(c->changed ? !ready : ready);
    wire_session_destroy(client);
    wire_session_destroy(server);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length)
{
    if (length == 0)
        return 0;
    struct changes c = {.data = data + 1, .length = length - 1, .one_by_one = (data[0] & 4) != 0};
    if (data[0] & 1)
        genuine(&c);
    else
        stranger(data[0] & 2 ? WIRE_CLIENT : WIRE_SERVER, data + 1, length - 1);
    return 0;
}
