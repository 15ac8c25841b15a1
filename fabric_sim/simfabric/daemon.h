/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a fabric in real time: one thread, one loop over the socket of the fabric, its clients, the
 * doorbell, and the time of the next event of the world.
 */
#ifndef FABRIC_SIM_SIMFABRIC_DAEMON_H
#define FABRIC_SIM_SIMFABRIC_DAEMON_H

#include "fabric_sim/simfabric/instance.h"
#include "fabric_sim/simfabric/service.h"

struct daemon {
    struct service *service;
    const struct instance *instance;
    int epoll, listener, signals;
    uint64_t start;    /* of the world, on the clock CLOCK_MONOTONIC; ns */
    uint64_t *shown;   /* by host: what its tree shows, as tree_state says it */
    uint64_t look_at;  /* when the trees are compared with the ports again */
    uint64_t *counted; /* by host: the counters that its tree shows, as tree_counters says it */
    uint64_t counters_looked;
    size_t settled;      /* hosts in a row whose trees showed their counters already */
    size_t next_counted; /* the host whose counters are compared next */
    bool crowded;        /* no descriptor for another client: nobody is let in for now */
    bool stop;
};

/* Listens at the instance's socket, takes SIGTERM and SIGINT, renders the trees. False and a
 * sentence in `detail` (TESTBED_DETAIL bytes); there is nothing to end then. */
bool daemon_begin(struct daemon *daemon, struct service *service, const struct instance *instance,
                  char *detail);
/* Until a signal comes, or, with `until`, until it says so; that is asked at every turn. */
void daemon_run(struct daemon *daemon, bool (*until)(void *context), void *context);
void daemon_end(struct daemon *daemon);

/* Standard input ends the run when it ends. False: it is nothing that can be watched; errno says
 * why. */
bool daemon_watch_input(struct daemon *daemon);

/* How many ports are cabled to something, and how many of these are ACTIVE. */
void daemon_count_ports(const struct daemon *daemon, unsigned *cabled, unsigned *active);
uint64_t daemon_now(const struct daemon *daemon); /* ns since the world began */

#endif
