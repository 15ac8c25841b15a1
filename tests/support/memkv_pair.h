/* SPDX-License-Identifier: Apache-2.0 */
/* A server on node 0 and a client on node 1 of a small world, for the tests of both. */
#ifndef TESTS_SUPPORT_MEMKV_PAIR_H
#define TESTS_SUPPORT_MEMKV_PAIR_H

#include "src/client/program.h"
#include "tests/support/small_world.h"

#define PAIR_KEY "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"

#define SECOND 1000000000ull
#define PAIR_SERVER 0
#define PAIR_CLIENT 1

/* Starts the server; `rdma` goes into its section rdma. */
enum fabric_error pair_server(struct small_world *w, const char *rdma);
/* Starts the client; `more` are further lines of its configuration. */
enum fabric_error pair_client(struct small_world *w, const char *transport, const char *more);
/* Both, with nothing special. */
struct small_world *pair_new(const char *transport);
/* Sends the command `json` without its id and waits for its report; null after a minute. */
const char *pair_do(struct small_world *w, const char *json);
/* Fails the test unless `line` is there and holds `text`. */
void pair_has(const char *line, const char *text);
/* Puts a block of 100,000 bytes under "k" and gets it back: both of class `class`. */
void pair_round(struct small_world *w, const char *class);

#endif
