/* SPDX-License-Identifier: Apache-2.0 */
/* A small managed subnet for tests: a net, its agents, managers, and what the ports saw. */
#ifndef TESTS_SUPPORT_SUBNET_H
#define TESTS_SUPPORT_SUBNET_H

#include "fabric_sim/world/fat_tree.h"
#include "fabric_sim/world/sm.h"

#define SUBNET_MANAGERS 4
#define SUBNET_LOG 2048

struct subnet {
    struct sim *sim;
    struct net *net;
    struct sma *sma;
    struct sm *sm[SUBNET_MANAGERS]; /* destroyed with it */
    char log[SUBNET_LOG];           /* of the watched ports, see subnet_watch */
};

/* An empty net without agents; add nodes, then subnet_manage. */
void subnet_open(struct subnet *subnet);
/* The agents, then manager 0 at the named host's port 1 (not started). */
void subnet_manage(struct subnet *subnet, const char *host, const struct sm_config *config);
/* Manager `index` at another host's port 1. */
void subnet_add_manager(struct subnet *subnet, unsigned index, const char *host,
                        const struct sm_config *config);
/* A fat tree of switches with `radix` ports, managed from h0. */
void subnet_open_tree(struct subnet *subnet, size_t hosts, uint8_t radix,
                      const struct sm_config *config);
void subnet_close(struct subnet *subnet);

/* Steps until the manager's subnet is up; false after 100 s of virtual time. */
bool subnet_wait_up(struct subnet *subnet, unsigned index);
bool subnet_wait_state(struct subnet *subnet, unsigned index, enum sm_state state);
/* Starts manager 0 and waits; aborts when it does not come up. */
void subnet_bring_up(struct subnet *subnet);

/* Appends to the log, a word each, what changes at the host's port: LID SMLID PKEY MTU REREG PREFIX
 * SL DOWN INIT ARMED ACTIVE; words of one change are joined by '+'. */
void subnet_watch(struct subnet *subnet, const char *host);

struct net_port *subnet_port(struct subnet *subnet, const char *node, uint8_t num);
struct port_info *subnet_info(struct subnet *subnet, const char *host); /* of its port 1 */
uint64_t subnet_guid(struct subnet *subnet, const char *host);
void subnet_cable(struct subnet *subnet, const char *a, uint8_t a_num, const char *b,
                  uint8_t b_num);
void subnet_add_host(struct subnet *subnet, const char *name, uint64_t guid);
void subnet_add_switch(struct subnet *subnet, const char *name, uint64_t guid, uint8_t ports);

/* ---- an own walk over the forwarding tables, knowing nothing of how they were made */
struct subnet_walk {
    size_t lids;         /* in use: base LIDs and those of their LMC */
    size_t duplicates;   /* LIDs that two ports have */
    size_t out_of_range; /* LIDs of active ports that are none of 0x0001..0xBFFF */
    size_t not_active;   /* cabled ports that are not ACTIVE */
    size_t paths;        /* destination LIDs times switches */
    size_t unreachable, loops;
    uint64_t hops; /* of all paths */
};
void subnet_walk(struct net *net, struct subnet_walk *out);
bool subnet_walk_clean(struct net *net); /* nothing wrong in it */

#endif
