/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Domains of extended reliable connections (vol. 1, annex A14), which programs may share: those who
 * open one by the same file have the same one, and one of them may open a target that another one
 * made (ibv_open_xrcd(3), ibv_open_qp(3)). Each has a handle of its own; the thing lives until the
 * last of them is gone.
 */
#include <fcntl.h>
#include <string.h>

#include "fabric_sim/simfabric/service_call.h"
#include "src/fabric/planted.h"

static uint32_t place_of(const struct service *service, const struct object *object)
{
    const struct service_client *client = service->clients[object->client - 1];
    assert(client);
    return client->place;
}

/* Whether others may have it too: of most objects nobody needs to look for a second handle. */
static bool may_be_shared(const struct object *object)
{
    return object->kind == OBJECT_XRCD ? object->of_file
                                       : object->kind == OBJECT_QP && object->xrcd;
}

/* Another handle on the same thing, of that client or (null) of any other. */
static struct object *share(const struct service *service, const struct object *object,
                            const struct service_client *client)
{
    if (!may_be_shared(object) || !object->id)
        return NULL;
    for (uint32_t i = 0; i < service->objects.used; i++) {
        struct object *other = service->objects.at[i];
        if (other && other != object && other->kind == object->kind && other->id == object->id &&
            (!client || other->client == client->number) &&
            place_of(service, other) == place_of(service, object))
            return other;
    }
    return NULL;
}

const struct object *service_share_of(const struct service *service, const struct object *object,
                                      const struct service_client *client)
{
    return object->client == client->number ? object : share(service, object, client);
}

bool service_hand_over(struct service *service, struct hca *hca, const struct object *object)
{
    const struct object *heir = share(service, object, NULL);
    if (heir && hca && object->kind == OBJECT_QP)
        hca_qp_set_context(hca, (hca_qp){object->id}, heir->handle);
    return heir && !PLANTED(simfabric_share_ends);
}

void call_join(struct object *object, struct object *xrcd)
{
    assert(xrcd->kind == OBJECT_XRCD && !object->xrcd);
    object->xrcd = xrcd->handle;
    xrcd->users++;
}

/* ------------------------------------------------------------------ domains */

/* The domain that somebody opened by that file on the caller's device. */
static const struct object *known_domain(const struct call *call)
{
    const struct service *service = call->service;
    for (uint32_t i = 0; i < service->objects.used; i++) {
        const struct object *object = service->objects.at[i];
        if (object && object->kind == OBJECT_XRCD && object->of_file &&
            object->file[0] == call->request->u.xrcd.device &&
            object->file[1] == call->request->u.xrcd.inode &&
            place_of(service, object) == call->client->place)
            return object;
    }
    return NULL;
}

/* As open(2): O_CREAT makes one where there is none, O_EXCL wants that there is none. */
void call_open_xrcd(const struct call *call)
{
    const struct protocol_request *request = call->request;
    bool by_file = request->u.xrcd.by_file != 0;
    const struct object *known = by_file ? known_domain(call) : NULL;
    int error = 0;
    if (known && (request->u.xrcd.flags & O_EXCL))
        error = EEXIST;
    if (by_file && !known && !(request->u.xrcd.flags & O_CREAT))
        error = ENOENT;
    struct object *object = error ? NULL : begin(call, OBJECT_XRCD, 0);
    if (error)
        call->out->reply.error = error;
    if (!object)
        return;
    hca_xrcd xrcd = {known ? known->id : 0};
    object->of_file = by_file;
    object->file[0] = request->u.xrcd.device;
    object->file[1] = request->u.xrcd.inode;
    enum fabric_error failed = known ? FABRIC_OK : hca_xrcd_alloc(call->hca, &xrcd);
    finish(call, object, failed, xrcd.id);
}

/* ------------------------------------------------------------------ targets */

static bool is_target(const struct call *call, const struct object *object, uint32_t xrcd)
{
    const struct service *service = call->service;
    struct hca_qp_info info;
    if (object->kind != OBJECT_QP || !object->xrcd ||
        place_of(service, object) != call->client->place ||
        hca_qp_query(call->hca, (hca_qp){object->id}, &info) != FABRIC_OK)
        return false;
    const struct object *domain = objects_get(&service->objects, object->xrcd);
    return domain && domain->id == xrcd && info.qp_num == call->request->u.open_qp.qp_num;
}

void call_open_qp(const struct call *call)
{
    const struct objects *objects = &call->service->objects;
    struct object *xrcd = mine(call, call->request->u.open_qp.xrcd, OBJECT_XRCD);
    const struct object *found = NULL;
    for (uint32_t i = 0; xrcd && !found && i < objects->used; i++) {
        if (objects->at[i] && is_target(call, objects->at[i], xrcd->id))
            found = objects->at[i];
    }
    if (!found) {
        call->out->reply.error = EINVAL;
        return;
    }
    uint32_t id = found->id;
    struct object *object = begin(call, OBJECT_QP, call->request->u.open_qp.cookie);
    if (!object)
        return;
    call_join(object, xrcd);
    finish(call, object, FABRIC_OK, id);
    call->out->reply.u.made.key = call->request->u.open_qp.qp_num;
}
