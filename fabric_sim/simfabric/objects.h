/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the programs of a fabric have made, by the handles that they were given. A handle is good
 * only for the client that made the object, and not again soon after the object ended.
 */
#ifndef FABRIC_SIM_SIMFABRIC_OBJECTS_H
#define FABRIC_SIM_SIMFABRIC_OBJECTS_H

#include <stddef.h>
#include <stdint.h>

#include "fabric_sim/simfabric/outbox.h"

#define OBJECTS_PER_CLIENT 100000u /* at most: what one program may cost the daemon */

/* In the order in which those of a client that goes are ended: users before what they use. */
enum object_kind {
    OBJECT_QP,
    OBJECT_AH,
    OBJECT_SRQ,
    OBJECT_CQ,
    OBJECT_MW,
    OBJECT_MR,
    OBJECT_PD,
    OBJECT_XRCD,
    OBJECT_CHANNEL,
    OBJECT_KINDS
};

struct object {
    uint32_t handle; /* never 0 */
    enum object_kind kind;
    uint32_t client; /* number */
    uint32_t id;     /* at the device */
    uint64_t cookie;
    uint32_t channel;     /* handle, of a CQ; 0: none */
    struct outbox outbox; /* of a channel */
    uint32_t xrcd;        /* handle of the domain that it is in; 0: none */
    uint32_t users;       /* of a domain: what is in it by this handle */
    bool of_file;         /* a domain that others may open by the same file: */
    uint64_t file[2];     /* its device and inode */
};

struct objects { /* zero is empty */
    struct object **at;
    uint32_t *generations;
    uint32_t capacity, used;
    uint32_t *free; /* indices, oldest first: a ring of `capacity` */
    uint32_t free_head, free_count;
    uint32_t *counts; /* objects of each client, by its number */
    uint32_t count_capacity;
};

void objects_free(struct objects *objects); /* of none that is left, outboxes are closed */

/* Null when the client has too many. The object lives until objects_drop. */
struct object *objects_add(struct objects *objects, enum object_kind kind, uint32_t client);
void objects_drop(struct objects *objects, struct object *object);
/* Null when there is no such object of that kind, or it is another client's. */
struct object *objects_find(const struct objects *objects, uint32_t handle, enum object_kind kind,
                            uint32_t client);
/* Whoever's it is. */
struct object *objects_get(const struct objects *objects, uint32_t handle);
/* The next object of that kind of the client at or after *position, which moves beyond it; null
 * when there is none. */
struct object *objects_next(const struct objects *objects, enum object_kind kind, uint32_t client,
                            uint32_t *position);
uint32_t objects_count(const struct objects *objects, uint32_t client);

#endif
