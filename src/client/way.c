/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdio.h>

#include "src/client/client.h"
#include "src/fabric/planted.h"

/* A port that was not ready is read again at first use (MK-C1). */
static void look_again(struct client *c)
{
    for (uint32_t i = 0; i < c->rail_count; i++) {
        if (c->rails[i].state != RAIL_READY)
            client_rail_look(c, i, NULL);
    }
}

/* Turns over the rails that are up. */
static bool pick_rail(struct client *c, const struct client_peer *p, uint32_t *out)
{
    for (uint32_t i = 0; i < c->rail_count; i++) {
        uint32_t rail = PLANTED(client_rails_unspread) ? i : (c->rotation + i) % c->rail_count;
        if (p->links[rail].state == CLIENT_LINK_UP) {
            *out = rail;
            c->rotation = rail + 1;
            return true;
        }
    }
    return false;
}

/* No rail is up and TCP is forbidden: wait only for what is under way. */
static enum client_choice strict(struct client *c, const struct client_peer *p,
                                 struct client_operation *op)
{
    if (c->rail_count == 0) {
        op->error = ERR_RDMA_REQUIRED;
        snprintf(op->detail, sizeof op->detail, "found no RDMA device; transport is rdma");
        return CLIENT_CHOICE_FAIL;
    }
    for (uint32_t i = 0; i < c->rail_count; i++) {
        const struct rail *r = &c->rails[i];
        bool open =
            r->state == RAIL_READY && (p->state != CLIENT_PEER_READY || client_link_in_progress(p));
        if (open)
            return CLIENT_CHOICE_WAIT;
    }
    for (uint32_t i = 0; i < c->rail_count; i++) { /* the server's word counts more than ours */
        if (c->rails[i].state == RAIL_READY && p->links[i].reason) {
            op->error = p->links[i].reason;
            snprintf(op->detail, sizeof op->detail, "%s", p->links[i].detail);
            return CLIENT_CHOICE_FAIL;
        }
    }
    const struct rail *r = &c->rails[0];
    op->error = r->state == RAIL_READY ? ERR_RDMA_REQUIRED : rail_transfer_error(r);
    snprintf(op->detail, sizeof op->detail, "%.40s port %u: %.100s", r->name, r->port_num,
             r->detail);
    return CLIENT_CHOICE_FAIL;
}

/* By which way, over the first connection of its lane, or for TCP over one of its pool. */
static enum client_choice choose(struct client *c, struct client_operation *op,
                                 struct client_peer *p)
{
    if (p->state != CLIENT_PEER_READY && p->reason &&
        (p->reason == ERR_AUTH_FAILED || p->reason == ERR_UNSUPPORTED_VERSION)) {
        op->error = p->reason;
        return CLIENT_CHOICE_FAIL;
    }
    if (c->config.transport != CONFIG_TRANSPORT_TCP) {
        if (!PLANTED(client_first_use_kept))
            look_again(c);
        client_peer_decide(c, p);
        if (client_peer_wants_rdma(c, p) && pick_rail(c, p, &op->rail))
            return CLIENT_CHOICE_RC;
    }
    bool tcp =
        c->config.transport == CONFIG_TRANSPORT_TCP || p->fell_back || (op->bound && p->member > 0);
    if (PLANTED(client_strict_falls_back))
        tcp = true;
    if (tcp)
        return CLIENT_CHOICE_TCP;
    return c->config.transport == CONFIG_TRANSPORT_RDMA ? strict(c, p, op) : CLIENT_CHOICE_WAIT;
}

/* Sets op->peer. What may still take effect on its connection is told there how it ends,
 * or that it is over, before anything else of it is tried (MK-A4). */
enum client_choice client_operation_choose(struct client *c, struct client_operation *op)
{
    assert(c && op && op->state == CLIENT_QUEUED);
    if (!op->bound || PLANTED(client_unbound)) {
        struct client_peer *first = client_pool_first(c, op);
        if (!first) {
            op->error = ERR_RESOURCES_EXHAUSTED;
            return CLIENT_CHOICE_FAIL;
        }
        op->peer = first->index;
    }
    enum client_choice choice = choose(c, op, c->peers[op->peer]);
    if (choice == CLIENT_CHOICE_TCP && (!op->bound || PLANTED(client_unbound)))
        op->peer = client_pool_member(c, c->peers[op->peer])->index;
    struct client_peer *p = c->peers[op->peer];
    if (choice == CLIENT_CHOICE_TCP && p->state != CLIENT_PEER_READY)
        return CLIENT_CHOICE_WAIT;
    bool sends = choice == CLIENT_CHOICE_TCP || choice == CLIENT_CHOICE_RC;
    op->held = sends && client_is_bounded(op) && p->under_way >= p->operations &&
               !PLANTED(client_holds_nothing);
    p->holds = p->holds || op->held;
    return op->held ? CLIENT_CHOICE_WAIT : choice;
}
