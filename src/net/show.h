/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memkv net show (MK-H1, D2, D6, G1 to G3, L1): what every RDMA port is, what MemKV would use of
 * it, and what is wrong with it.
 */
#ifndef SRC_NET_SHOW_H
#define SRC_NET_SHOW_H

#include "src/net/model.h"
#include "src/net/output.h"

struct net_show_options {
    const char *device;               /* null: every one */
    uint8_t port;                     /* 0: every one */
    const struct config_rdma *config; /* null: the defaults */
    uint64_t watch;                   /* ns between two reads of the counters; 0: one read */
    bool json, pretty;
};

/* Runs the command on a fabric that nothing else uses: with `watch` it polls, and drops the events
 * of others; in virtual time, which does not pass meanwhile, that is not_supported. Results go to
 * `out`; without --json what is wrong as a whole goes to `talk`. Errors, with their exit codes:
 * not_found (no device, no such device or port), sysfile_invalid (a system file could not be used;
 * the rest was shown), access_denied, cancelled (woken while waiting), internal. */
enum cli_exit net_show_run(struct fabric *f, const struct net_show_options *options,
                           const struct net_output *out, const struct net_output *talk);

/* The two renderers. */
void net_show_text(const struct net_model *model, const struct net_output *out);
json_t *net_show_json(const struct net_model *model); /* a new reference */

/* Words that both use. */
const char *net_state_text(enum fabric_port_state state); /* as ibstat spells it: "Active" */
const char *net_link_layer_text(enum fabric_link_layer link_layer); /* "InfiniBand" */
const char *net_gid_verdict_text(enum net_gid_verdict verdict);     /* "chosen" */

#endif
