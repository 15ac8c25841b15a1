/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One control call of a program while it is carried out, and what carries out the calls: the files
 * service_*.c. A handle is looked up by the client that names it: what is not its own is not there
 * (EINVAL).
 */
#ifndef FABRIC_SIM_SIMFABRIC_SERVICE_CALL_H
#define FABRIC_SIM_SIMFABRIC_SERVICE_CALL_H

#include <assert.h>
#include <errno.h>

#include "fabric_sim/simfabric/service.h"

struct call {
    struct service *service;
    struct service_client *client;
    struct hca *hca;
    const struct protocol_request *request;
    struct service_answer *out;
};

static inline struct object *mine(const struct call *call, uint32_t handle, enum object_kind kind)
{
    return objects_find(&call->service->objects, handle, kind, call->client->number);
}

/* An object whose number at the device is still to come; null, with the error told. */
static inline struct object *begin(const struct call *call, enum object_kind kind, uint64_t cookie)
{
    struct object *object = objects_add(&call->service->objects, kind, call->client->number);
    if (object)
        object->cookie = cookie;
    else
        call->out->reply.error = ENOMEM;
    return object;
}

static inline void finish(const struct call *call, struct object *object, enum fabric_error error,
                          uint32_t id)
{
    assert(object->id == 0);
    struct protocol_reply *reply = &call->out->reply;
    reply->error = service_errno(error);
    if (error) {
        objects_drop(&call->service->objects, object);
        return;
    }
    object->id = id;
    reply->u.made.handle = object->handle;
    reply->u.made.id = id;
}

/* ---- service_qp.c */
void call_create_qp(const struct call *call);
void call_modify_qp(const struct call *call);
void call_query_qp(const struct call *call);
void call_create_ah(const struct call *call);

/* ---- service_xrc.c */
void call_open_xrcd(const struct call *call);
void call_open_qp(const struct call *call);
/* The new object is in the domain, which cannot be closed before it. */
void call_join(struct object *object, struct object *xrcd);
/* Whether the object is another program's too (a domain, a target of it): then that one has it
 * alone, and it does not end at the device. */
bool service_hand_over(struct service *service, struct hca *hca, const struct object *object);
/* The client's handle on the same thing; null: it has none. */
const struct object *service_share_of(const struct service *service, const struct object *object,
                                      const struct service_client *client);

#endif
