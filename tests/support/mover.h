/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small program on the contract that moves blocks: a client connects by a control stream, both
 * ends make an RC queue pair from what the hellos say, and the client writes each block into the
 * server's memory by RDMA WRITE, reads it back by RDMA READ and compares. Whatever fails ends the
 * connection; the client begins again later and goes on where it was.
 *
 * Configuration: "serve DEVICE PORT", or "move DEVICE PORT ADDRESS:PORT BLOCKS BYTES". A client
 * reports {"moved":N} at the end; a block that is not equal is reported as {"corrupted":N}.
 */
#ifndef TESTS_SUPPORT_MOVER_H
#define TESTS_SUPPORT_MOVER_H

#include "src/fabric/program.h"

#define MOVER_BYTES_MAX 65536

extern const struct fabric_program mover_program;

#endif
