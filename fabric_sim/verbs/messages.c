/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The message engine in a program: the thread that posts copies from its own memory into that of
 * the peer's program, or the other way round, and completes in the arenas of both. What it has to
 * know for that (which device is behind a LID, which process owns memory) the daemon says once; it
 * holds until the epoch of the shared page moves.
 *
 * Threading: all of it is only touched with the lock of the fabric. That lock is not held while the
 * daemon is asked.
 */
#define _DEFAULT_SOURCE /* MAP_NORESERVE */
#include "fabric_sim/verbs/messages.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fabric_sim/hca/keys.h"
#include "fabric_sim/hca/message.h"
#include "fabric_sim/simfabric/program.h"
#include "fabric_sim/verbs/plugin.h"

#define ROUTES 256u /* remembered at a time, a power of two */
#define OWNERS 64u
#define ASKED_AGAIN                                                                                \
    256u        /* uses after which a way that was not plain may have become so by itself */
#define TURNS 8 /* questions for one post, at most */

struct route {
    bool known, plain;
    uint32_t device, port, dlid, sl; /* as it was asked for */
    struct message_route to;
    uint32_t uses;
};

struct owner {
    uint32_t number; /* 0: nobody */
    struct program program;
    bool refused; /* the system does not let us: the daemon copies */
};

struct peer { /* another device */
    struct peer *next;
    uint32_t device;
    void *base;
    size_t size;
    struct hca_state state;
    bool open;
};

struct plugin_messages {
    struct plugin_context *context;
    uint64_t epoch;
    struct route routes[ROUTES];
    struct owner owners[OWNERS];
    struct peer *peers;
    struct route wanted_route; /* known: it is wanted */
    uint32_t wanted_owner;
    bool wakes; /* the daemon sleeps and is to be woken */
};

struct plugin_messages *messages_new(struct plugin_context *context)
{
    struct plugin_messages *messages = calloc(1, sizeof(*messages));
    if (messages)
        messages->context = context;
    return messages;
}

static void forget_owner(struct owner *owner)
{
    if (owner->number)
        program_close(&owner->program);
    owner->number = 0;
}

void messages_free(struct plugin_messages *messages)
{
    if (!messages)
        return;
    for (uint32_t i = 0; i < OWNERS; i++)
        forget_owner(&messages->owners[i]);
    while (messages->peers) {
        struct peer *peer = messages->peers;
        messages->peers = peer->next;
        if (peer->base)
            munmap(peer->base, peer->size);
        free(peer);
    }
    free(messages);
}

/* Whatever the daemon said may be different now. */
static void follow_epoch(struct plugin_messages *messages)
{
    uint64_t epoch = messages->context->shared->epoch;
    if (epoch == messages->epoch)
        return;
    messages->epoch = epoch;
    memset(messages->routes, 0, sizeof(messages->routes));
    for (uint32_t i = 0; i < OWNERS; i++)
        forget_owner(&messages->owners[i]);
    for (struct peer *peer = messages->peers; peer; peer = peer->next)
        peer->open = peer->base && state_open(&peer->state, peer->base, peer->size);
}

/* ------------------------------------------------------------------ ways */

static struct peer *peer_of(struct plugin_messages *messages, uint32_t device)
{
    struct peer *peer = messages->peers;
    while (peer && peer->device != device)
        peer = peer->next;
    return peer;
}

static uint32_t device_of(const struct plugin_messages *messages, const struct hca_state *state)
{
    const struct peer *peer = messages->peers;
    if (state == &messages->context->state)
        return messages->context->device;
    while (peer && &peer->state != state)
        peer = peer->next;
    assert(peer);
    return peer->device;
}

static struct route *route_place(struct plugin_messages *messages, const struct route *route)
{
    uint32_t mix = route->device * 31 + route->port * 7 + route->dlid + route->sl * 61;
    return &messages->routes[mix & (ROUTES - 1)];
}

static bool on_route(void *context, const struct hca_state *from, uint8_t port_num,
                     const struct packet *packet, struct message_route *out)
{
    struct plugin_messages *messages = context;
    struct route key = {.known = true,
                        .device = device_of(messages, from),
                        .port = port_num,
                        .dlid = packet->dlid,
                        .sl = packet->sl};
    struct route *route = route_place(messages, &key);
    bool same = route->known && route->device == key.device && route->port == key.port &&
                route->dlid == key.dlid && route->sl == key.sl;
    if (!same || (!route->plain && ++route->uses >= ASKED_AGAIN)) {
        messages->wanted_route = key;
        return false;
    }
    *out = route->to;
    return route->plain;
}

/* The state of the device there; null: it is none of ours to see. */
static struct hca_state *take_arena(struct plugin_messages *messages, uint32_t device, int fd)
{
    struct plugin_context *context = messages->context;
    if (device == context->device)
        return &context->state;
    struct peer *peer = peer_of(messages, device);
    if (!peer) {
        peer = calloc(1, sizeof(*peer));
        if (!peer)
            return NULL;
        peer->device = device;
        peer->size = context->arena_size;
        peer->next = messages->peers;
        messages->peers = peer;
        void *base =
            mmap(NULL, peer->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
        peer->base = base == MAP_FAILED ? NULL : base;
        peer->open = peer->base && state_open(&peer->state, peer->base, peer->size);
    }
    return peer->open ? &peer->state : NULL;
}

static int ask_route(struct plugin_context *context, const struct route *wanted,
                     struct protocol_reply *reply, int *fd)
{
    struct protocol_request request = client_request(PROTOCOL_ROUTE);
    request.u.route.device = wanted->device;
    request.u.route.port = wanted->port;
    request.u.route.dlid = wanted->dlid;
    request.u.route.sl = wanted->sl;
    return plugin_call(context, &request, reply, fd);
}

static void note_route(struct plugin_messages *messages, struct route wanted,
                       const struct protocol_reply *reply, int error, int fd)
{
    struct hca_state *state = NULL;
    if (!error && fd >= 0)
        state = take_arena(messages, reply->u.route.device, fd);
    wanted.plain = state != NULL;
    if (state)
        wanted.to = (struct message_route){state, (uint8_t)reply->u.route.port, reply->u.route.mtu};
    *route_place(messages, &wanted) = wanted;
}

/* ------------------------------------------------------------------ memory */

static int ask_owner(struct plugin_context *context, uint32_t number, struct protocol_reply *reply,
                     int *fd)
{
    struct protocol_request request = client_request(PROTOCOL_OWNER);
    request.u.handle = number;
    return plugin_call(context, &request, reply, fd);
}

/* Takes the descriptor. Nobody of that number: it is not asked for again. */
static void note_owner(struct plugin_messages *messages, uint32_t number,
                       const struct protocol_reply *reply, int error, int *fd)
{
    struct owner *owner = &messages->owners[number % OWNERS];
    forget_owner(owner);
    *owner = (struct owner){.number = number, .refused = error || *fd < 0};
    owner->program = (struct program){error ? -1 : (pid_t)reply->u.owner.pid, *fd};
    *fd = -1;
}

static bool copy_far(struct plugin_messages *messages, uint32_t number, bool writes, uint64_t here,
                     uint64_t there, uint32_t length)
{
    struct owner *owner = &messages->owners[number % OWNERS];
    void *own = (void *)(uintptr_t)here;
    if (owner->number != number) {
        messages->wanted_owner = number;
        return false;
    }
    if (owner->refused)
        return false;
    errno = 0;
    bool done = writes ? program_write(&owner->program, there, own, length)
                       : program_read(&owner->program, there, own, length);
    owner->refused = !done && errno == EPERM;
    return done;
}

static bool is_here(const struct plugin_messages *messages, uint32_t owner)
{
    return owner == 0 || owner == messages->context->owner;
}

static bool on_copy(void *context, const struct message_part *to, const struct message_part *from)
{
    struct plugin_messages *messages = context;
    assert(to->length == from->length);
    if (is_here(messages, to->owner) && is_here(messages, from->owner)) {
        memmove((void *)(uintptr_t)to->host, (const void *)(uintptr_t)from->host, to->length);
        return true;
    }
    if (is_here(messages, from->owner))
        return copy_far(messages, to->owner, true, from->host, to->host, to->length);
    if (is_here(messages, to->owner))
        return copy_far(messages, from->owner, false, to->host, from->host, to->length);
    return false;
}

/* ------------------------------------------------------------------ carrying */

/* The program of the peer waits at a descriptor that only the daemon has. */
static void on_completed(void *context, struct hca_state *state, struct cq_state *cq,
                         bool solicited, bool asked)
{
    struct plugin_messages *messages = context;
    (void)solicited;
    if (!asked)
        return;
    cq->tells = true;
    messages->wakes |=
        shared_ring_cq(messages->context->shared, device_of(messages, state), cq->slot.id);
}

static bool on_quiet(void *context, struct hca_state *state, const struct key_state *window)
{
    (void)context;
    return keys_quiet(state, window);
}

/* Asks the daemon for what a message wanted to know. False: nothing, or the lock is lost. An answer
 * from before the epoch moved is asked for again. */
static bool learn(struct plugin_messages *messages, bool *locked)
{
    struct plugin_context *context = messages->context;
    struct route route = messages->wanted_route;
    uint32_t owner = messages->wanted_owner;
    uint64_t epoch = messages->epoch;
    struct protocol_reply reply;
    int fd = -1;
    if (!route.known && !owner)
        return false;
    shared_unlock(context->shared);
    int error = route.known ? ask_route(context, &route, &reply, &fd)
                            : ask_owner(context, owner, &reply, &fd);
    *locked = shared_lock(context->shared);
    if (*locked && context->shared->epoch == epoch && messages->epoch == epoch) {
        if (route.known)
            note_route(messages, route, &reply, error, fd);
        else
            note_owner(messages, owner, &reply, error, &fd);
    }
    if (fd >= 0)
        close(fd);
    return *locked;
}

bool messages_carry(struct plugin_context *context, const struct plugin_qp *qp, bool *wakes)
{
    struct plugin_messages *messages = context->messages;
    bool locked = true;
    if (!messages || !queue_send_rings(qp->state))
        return true;
    messages->wakes = false;
    for (int turn = 0; turn < TURNS; turn++) {
        follow_epoch(messages);
        messages->wanted_route.known = false;
        messages->wanted_owner = 0;
        const struct message_world world = {.context = messages,
                                            .route = on_route,
                                            .copy = on_copy,
                                            .completed = on_completed,
                                            .quiet = on_quiet,
                                            .now = context->shared->now};
        (void)message_run(&world, &context->state, qp->state, UINT32_MAX);
        if (!queue_send_rings(qp->state) || !learn(messages, &locked))
            break;
    }
    *wakes |= messages->wakes;
    return locked;
}
