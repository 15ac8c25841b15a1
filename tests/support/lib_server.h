/* SPDX-License-Identifier: Apache-2.0 */
/* A server in a thread of the test, and the options of a client of it. */
#ifndef TESTS_SUPPORT_LIB_SERVER_H
#define TESTS_SUPPORT_LIB_SERVER_H

#include "include/memkv/memkv.h"

#define LIB_SERVER_KEY "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"

struct lib_server;

/* It serves when this returns. */
struct lib_server *lib_server_start(void);
void lib_server_stop(struct lib_server *server);

/* A listener that takes connections and never says a word; the descriptor is the caller's. Its
 * address goes to `address`. */
int lib_server_silent(char address[64]);

/* Options for a client of `address` over TCP, with nothing of the environment; `more` (may be null)
 * is one further setting. They live until the next call. */
const struct memkv_options *lib_server_options(const char *address, const char *more);
const char *lib_server_address(const struct lib_server *server);

#endif
