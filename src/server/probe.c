/* SPDX-License-Identifier: Apache-2.0 */
/* Nothing is called connected before packets of full size went both ways (MK-B5, F3). */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "src/fabric/planted.h"
#include "src/server/server.h"

#define PROBE_STRIDE 4096u /* the largest MTU */

void server_probe_free(struct server *server, struct server_transfer *t)
{
    assert(server && t && t->outstanding == 0);
    struct rail *rail = &server->rails[t->rail];
    if (t->probe_mr.id && rail->device.id && rail->epoch == t->probe_epoch)
        fabric_mr_deregister(server->fabric, t->probe_mr);
    free(t->probe);
    t->probe = NULL;
}

void server_probe_finish(struct server *server, struct server_transfer *t)
{
    assert(server && t && t->kind == SERVER_PROBE);
    struct server_transfer result = *t;
    bool equal =
        memcmp(t->probe, t->probe + PROBE_STRIDE, t->length) == 0 || PLANTED(server_probe_one_way);
    if (!result.error && !equal)
        result.error = ERR_PROBE_FAILED;
    server_transfer_free(server, t);
    struct server_connection *c =
        server_connection_at(server, result.connection_slot, result.connection_serial);
    if (c && !result.closed)
        server_link_probed(server, c, &result);
}

/* Three posts, one after the other: a small WRITE tells a dead path from one whose MTU is smaller
 * than both ports say; a WRITE and a READ of a full MTU are a full packet each way; and what comes
 * back must be what was written, or a stranger answered. */
static void probe_post(struct server *s, struct server_transfer *t, struct server_link *link)
{
    if (!server_link_may_post(s, link))
        return; /* pumped when it has an initiator */
    if (s->posts[t->rail] >= RAIL_CQ_DEPTH && !PLANTED(server_probe_overruns)) {
        server_transfer_wait(s, t);
        return;
    }
    struct fabric_sge sge = {.addr = t->probe, .length = t->length, .lkey = t->probe_lkey};
    struct fabric_send_wr wr = {
        .wr_id = server_cookie(SERVER_TRANSFER, t->slot, t->serial),
        .opcode = FABRIC_WR_RDMA_WRITE,
        .flags = FABRIC_SEND_SIGNALED,
        .sges = &sge,
        .sge_count = 1,
        .remote_iova = t->iova,
        .rkey = t->rkey,
    };
    if (t->stage == 0)
        sge.length = SERVER_PROBE_SMALL;
    if (t->stage == 2) {
        sge.addr = t->probe + PROBE_STRIDE;
        wr.opcode = FABRIC_WR_RDMA_READ;
    }
    t->error = server_link_post(s, link, &wr);
    if (!t->error) {
        t->outstanding++;
        link->outstanding++;
        s->posts[t->rail]++;
    }
}

static enum fabric_error probe_memory(struct server *s, struct server_transfer *t)
{
    struct rail *rail = &s->rails[t->rail];
    t->probe = aligned_alloc(PROBE_STRIDE, 2 * PROBE_STRIDE);
    if (!t->probe)
        return ERR_RESOURCES_EXHAUSTED;
    memset(t->probe, 0, 2 * PROBE_STRIDE);
    const struct fabric_mr_init init = {.kind = FABRIC_MEM_HOST,
                                        .addr = t->probe,
                                        .length = 2 * PROBE_STRIDE,
                                        .iova = 1ull << 39,
                                        .access = FABRIC_ACCESS_LOCAL_WRITE};
    struct fabric_mr_keys keys;
    enum fabric_error error =
        fabric_mr_register(s->fabric, rail->device, &init, &t->probe_mr, &keys);
    if (error)
        return error;
    t->probe_lkey = keys.lkey;
    t->probe_epoch = rail->epoch;
    return fabric_entropy(s->fabric, t->probe, PROBE_STRIDE);
}

enum fabric_error server_probe(struct server *server, struct server_connection *c, uint32_t link)
{
    struct server *s = server;
    struct server_link *l = &c->links[link];
    assert(s && c && l->state == SERVER_LINK_PROBING);
    struct server_transfer *t = server_transfer_new(s, c, SERVER_PROBE);
    if (!t)
        return ERR_QUEUE_FULL;
    t->way = WIRE_WAY_RC;
    t->link = (uint8_t)link;
    t->generation = l->generation;
    t->rail = l->rail;
    t->iova = l->probe_iova;
    t->rkey = l->probe_rkey;
    t->length =
        PLANTED(server_probe_small) ? SERVER_PROBE_SMALL : fabric_mtu_bytes(l->path.path_mtu);
    enum fabric_error error = probe_memory(s, t);
    if (!error) {
        probe_post(s, t, l);
        error = t->error;
    }
    if (error)
        server_transfer_free(s, t);
    return error;
}

/* A post of it was refused: that says nothing about the path. */
static void refused(struct server *s, struct server_transfer *t)
{
    const enum fabric_error error = t->error;
    const uint32_t index = t->link;
    struct server_connection *c = server_transfer_owner(s, t);
    server_transfer_free(s, t);
    server_link_fail(s, c, index, error, "the probe could not be sent");
}

void server_probe_resume(struct server *s, struct server_transfer *t)
{
    struct server_link *link = server_transfer_link(s, t);
    assert(t->kind == SERVER_PROBE && t->outstanding == 0);
    if (link && !t->closed && !t->error)
        probe_post(s, t, link);
    if (!link)
        t->closed = true; /* another generation is being built */
    if (link && t->error)
        refused(s, t);
    else if (!link)
        server_probe_finish(s, t);
}

void server_probe_next(struct server *s, struct server_transfer *t)
{
    struct server_link *link = server_transfer_link(s, t);
    const unsigned last = PLANTED(server_probe_one_way) ? 1 : 2; /* without the READ */
    if (!t->error && !t->closed && t->stage < last && link) {
        t->stage++;
        probe_post(s, t, link);
        if (!t->error)
            return;
    }
    if (!link)
        t->closed = true; /* another generation is being built */
    server_probe_finish(s, t);
}
