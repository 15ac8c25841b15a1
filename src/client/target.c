/* SPDX-License-Identifier: Apache-2.0 */
/* The DC target of each rail, shared by all servers: made when the first link is asked for, kept
 * until its class changes. What a server may touch is a matter of keys alone (MK-A4). */
#include <assert.h>
#include <stdio.h>

#include "src/client/client.h"
#include "src/fabric/planted.h"
#include "src/rail/log.h"

/* A rail without a target serves over RC. */
static void make(struct client *c, uint32_t rail)
{
    struct client_target *t = &c->targets[rail];
    struct rail *r = &c->rails[rail];
    char more[RAIL_SAID_MORE];
    rail_target_destroy(r, &t->target);
    enum fabric_error error =
        rail_target_create(r, client_cookie(CLIENT_TARGET, rail, 0), &t->target);
    if (error && rail_said_is_due(&t->said, error, "", client_now(c), more))
        rail_log(c->fabric, FABRIC_LOG_WARN, "%s port %u: %s: no DC target; RC is offered alone%s",
                 r->name, r->port_num, error_name(error), more);
}

static bool is_used(const struct client *c, uint32_t rail)
{
    for (uint32_t i = 0; i < c->peer_count; i++) {
        const struct client_link *l = &c->peers[i]->links[rail];
        if (l->state > CLIENT_LINK_REQUESTED && l->dc)
            return true;
    }
    return false;
}

void client_target_offer(struct client *c, uint32_t rail, struct wire_message *request)
{
    assert(c && rail < c->rail_count && request && request->type == WIRE_LINK_REQUEST);
    struct rail_target *t = &c->targets[rail].target;
    if (!rail_has_dc(&c->rails[rail]))
        return;
    bool stands = rail_target_stands(&c->rails[rail], t);
    if (!stands || (!rail_target_is_best(&c->rails[rail], t) && !is_used(c, rail)))
        make(c, rail);
    if (!t->qp.id)
        return;
    request->dct_num = t->dct_num;
    request->dc_access_key = t->access_key;
    request->dc_mtu = t->mtu;
    request->dc_gid = t->gid;
}

enum fabric_error client_target_accept(struct client *c, uint32_t rail, struct client_link *l)
{
    uint32_t growth;
    assert(c && rail < c->rail_count && l && !l->dc);
    struct rail *r = &c->rails[rail];
    if (!l->request.dct_num)
        return ERR_FRAME_INVALID; /* nothing of the kind was offered */
    if (!PLANTED(client_pair_kept))
        rail_pair_destroy(r, &l->pair);
    l->pair.bad_pkey_cntr = rail_pkey_violations(r, &growth);
    l->dc = true;
    return FABRIC_OK;
}

bool client_link_is_dc(const struct client *c, const struct client_peer *p)
{
    assert(c && p);
    for (uint32_t i = 0; i < c->rail_count; i++) {
        if (p->links[i].state == CLIENT_LINK_UP)
            return p->links[i].dc;
    }
    return false;
}

bool client_target_broke(struct client *c, fabric_qp qp)
{
    assert(c && qp.id);
    for (uint32_t rail = 0; rail < c->rail_count; rail++) {
        struct rail_target *t = &c->targets[rail].target;
        if (t->qp.id != qp.id)
            continue;
        for (uint32_t i = 0; i < c->peer_count; i++) {
            if (c->peers[i]->links[rail].dc)
                client_link_broke(c, c->peers[i], rail,
                                  "the device says that its target is broken");
        }
        rail_target_destroy(&c->rails[rail], t); /* the next link asked for makes another one */
        return true;
    }
    return false;
}
