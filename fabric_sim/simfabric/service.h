/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fabric that programs use: the simulated world, the arenas of its devices in shared memory, the
 * programs that opened devices, and what these have made. Everything but sockets and time: the
 * daemon (daemon.h) brings requests, and says how late it is.
 *
 * The lock of the shared page is held by every function here that touches the world; callers do
 * not hold it.
 */
#ifndef FABRIC_SIM_SIMFABRIC_SERVICE_H
#define FABRIC_SIM_SIMFABRIC_SERVICE_H

#include "fabric_sim/simfabric/objects.h"
#include "fabric_sim/simfabric/program.h"
#include "fabric_sim/simfabric/protocol.h"
#include "fabric_sim/simfabric/shared.h"
#include "fabric_sim/testbed.h"

#define SERVICE_ARENA (UINT64_C(1) << 30) /* bytes of address space; pages come with use */

struct service_place { /* of a device */
    const struct sim_device *device;
    int fd; /* memfd of its arena */
    void *base;
};

struct service_client { /* one opened device, or nothing yet */
    uint32_t number;    /* of the client, and as owner of its memory; never 0 */
    int socket;
    struct program program;
    uint32_t place; /* number of the device + 1; 0: none opened */
    bool frozen;    /* stopped by a fault word */
    uint32_t async; /* handle of the channel of asynchronous events; 0: none */
};

struct service_news { /* an event of a port or a device that programs were not told yet */
    const struct sim_device *device;
    uint8_t port_num;
    enum fabric_async_type type;
};

struct service {
    struct sim_outside outside;
    struct testbed *tb;
    struct sim *sim;
    struct shared_page *shared;
    int shared_fd, doorbell; /* memfd; eventfd that programs write */
    struct service_place *places;
    uint32_t place_count;
    struct service_client **clients; /* by number - 1 */
    uint32_t client_capacity;
    struct objects objects;
    struct service_news *news;
    size_t news_count, news_capacity;
    uint64_t ways; /* net_way_epoch when shared->epoch last followed it */
    bool failed;   /* an arena could not be made */
    bool stuck;    /* records wait for room in a pipe: service_run tries again */
};

/* Makes the world of the topology. False and a sentence in `detail` (TESTBED_DETAIL bytes). */
bool service_create(struct service *service, const struct topology *topology, uint64_t seed,
                    char *detail);
void service_destroy(struct service *service);

/* Lets the world go on up to `now` (ns since it began) and does what programs rang for; no more
 * than a batch, so that programs come in between. Returns whether there is more to do at once. */
bool service_run(struct service *service, uint64_t now);
/* Tells programs the events of their ports and devices that service_run gathered. Whoever hears of
 * one reads sysfs, so the caller brings the trees of service->news up to date first. */
void service_announce(struct service *service);
/* When the world wants to go on; UINT64_MAX: never. `sleeps`: from now on a doorbell is written to
 * the descriptor; 0 when one was rung meanwhile. */
uint64_t service_next(struct service *service, bool sleeps);

/* Somebody connected. */
struct service_client *service_join(struct service *service, int socket);
/* Everything of the client is ended, in order; the client is gone. The socket stays the caller's.
 */
void service_leave(struct service *service, struct service_client *client);

/* Carries out one request. `fds` are the caller's to send along and then to close where `lent` does
 * not say that they stay here. */
struct service_answer {
    struct protocol_reply reply;
    int fds[PROTOCOL_FDS];
    bool lent[PROTOCOL_FDS];
    size_t fd_count;
};
void service_request(struct service *service, struct service_client *client, const void *bytes,
                     size_t length, struct service_answer *out);

/* For the other files of the service. */
struct hca *service_hca(const struct service *service, const struct service_client *client);
int service_errno(enum fabric_error error);
void service_open(struct service *service, struct service_client *client,
                  const struct protocol_request *request, struct service_answer *out);
/* Lets programs see what changed, and gives the lock back. */
void service_unlock(struct service *service);
void service_route(struct service *service, const struct protocol_request *request,
                   struct service_answer *out);
void service_owner(struct service *service, const struct protocol_request *request,
                   struct service_answer *out);
void service_inspect(struct service *service, struct service_answer *out);
void service_control(struct service *service, const struct protocol_request *request,
                     struct service_answer *out);
void service_end_object(struct service *service, struct hca *hca, struct object *object);

#endif
