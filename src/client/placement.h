/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which server holds a key: rendezvous hashing, so that one more server takes over its share of
 * keys and no other key moves (MK-A2).
 */
#ifndef SRC_CLIENT_PLACEMENT_H
#define SRC_CLIENT_PLACEMENT_H

#include <stddef.h>
#include <stdint.h>

/* What a server's string, as configured, stands for in placement_choose. */
uint64_t placement_seed(const char *server);

/* The position of the server with the highest XXH3-64 of the key, seeded by the server; the first
 * of equals. `count` is 1 or more. */
size_t placement_choose(const uint64_t *seeds, size_t count, const void *key, size_t key_length);

#endif
