/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An RC queue pair of a rail. Its path comes from the address-vector builder and from nowhere else
 * (MK-B3); it is never repaired, only destroyed and built again.
 */
#ifndef SRC_RAIL_PAIR_H
#define SRC_RAIL_PAIR_H

#include "src/rail/rail.h"

#define RAIL_SEND_DEPTH 64u /* posts of one queue pair under way */

/* ACK time-out 4.096 us * 2^12 = 16.8 ms, seven retries: a dead path is known after 0.13 to 0.54 s.
 * No operation relies on it; each has a deadline of its own (MK-F4). */
#define RAIL_ACK_TIMEOUT 12
#define RAIL_RETRY_CNT 7
#define RAIL_RNR_RETRY 6
#define RAIL_MIN_RNR_TIMER 12 /* 0.64 ms (vol. 1, table 45) */

struct rail_pair {
    fabric_qp qp;   /* id 0: none */
    uint32_t epoch; /* the rail's when it was made: a closed device took it along */
    uint32_t qp_num;
    uint32_t psn;           /* ours, 24 bits, unpredictable */
    uint32_t bad_pkey_cntr; /* of the port when it was connected */
};

/* In INIT. A server's queue pair lets peers do nothing; a client's lets its server read and write
 * what a window lends. On an error nothing is left. The rail must be READY. */
enum fabric_error rail_pair_create(struct rail *rail, uint64_t cookie, struct rail_pair *out);
/* Looks up the peer's link-layer address, so that rail_pair_connect does not wait for it: RESOLVED
 * with `cookie` follows. On an error the pair is destroyed. */
enum fabric_error rail_pair_resolve(struct rail *rail, struct rail_pair *pair,
                                    const struct fabric_path *path, uint64_t cookie);
/* To RTR and RTS, after RESOLVED. On an error the pair is destroyed. */
enum fabric_error rail_pair_connect(struct rail *rail, struct rail_pair *pair,
                                    const struct fabric_path *path, uint32_t peer_qp_num,
                                    uint32_t peer_psn);
/* Posts under way are reported as flushed. Fine without a queue pair. */
void rail_pair_destroy(struct rail *rail, struct rail_pair *pair);

/* The way to a peer, as fabric_av_build with the rail's address. */
enum fabric_error rail_path(const struct rail *rail, const struct fabric_port_address *peer,
                            struct fabric_path *out, char detail[FABRIC_AV_DETAIL]);

/* Why a connection may have ended, as its port's P_Key violation counter has it: a receiver whose
 * P_Key does not match drops in silence, and only its counter tells (MK-D6). Writes the growth
 * since rail_pair_connect for retry_exceeded, nothing for other errors. `out` has RAIL_EXPLAIN
 * bytes. */
#define RAIL_EXPLAIN 64
void rail_explain(const struct rail *rail, const struct rail_pair *pair, enum fabric_error error,
                  char *out);

/* How a path goes, for the log: its MTU and, where it has a GRH, which GID was chosen of ours and
 * which of the peer's. `out` has RAIL_PATH_TEXT bytes. */
#define RAIL_PATH_TEXT 160
void rail_path_text(const struct rail *rail, const struct fabric_path *path, char *out);

#endif
