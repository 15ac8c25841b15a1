/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A peer that says what the test wants: a client of the real server or a server for the real
 * client, with the right key or a wrong one, or only bytes.
 */
#ifndef TESTS_SUPPORT_ROGUE_H
#define TESTS_SUPPORT_ROGUE_H

#include "src/wire/channel.h"
#include "tests/support/small_world.h"

#define ROGUE_KEPT 64

struct rogue {
    struct fabric *fabric;
    enum wire_role role;
    uint8_t key[WIRE_KEY_BYTES];
    bool raw; /* no session at all: the test sends bytes */
    fabric_stream stream;
    struct wire_channel *channel;
    struct wire_message got[ROGUE_KEPT];
    uint32_t count;
    uint8_t *sink; /* payload goes there, each BULK at its offset; null: nowhere */
    size_t sunk;   /* bytes of it so far */
    bool holds;    /* sends no more when the stream has room again */
    size_t raw_received;
    bool closed;
};

/* Its configuration is the address of its struct rogue. */
extern const struct fabric_program rogue_program;

/* Fills the key that memkv_pair uses and starts on `node`. */
void rogue_start(struct small_world *w, uint32_t node, struct rogue *r, enum wire_role role);
enum fabric_error rogue_send(struct rogue *r, const struct wire_message *message);
void rogue_send_bytes(struct rogue *r, const void *data, size_t length);
/* The latest message of a type; null when none came. */
const struct wire_message *rogue_last(const struct rogue *r, enum wire_type type);

#endif
