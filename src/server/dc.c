/* SPDX-License-Identifier: Apache-2.0 */
#include "src/server/dc.h"

#include <assert.h>
#include <stdio.h>

#include "src/fabric/planted.h"
#include "src/rail/log.h"
#include "src/server/server.h"

/* ------------------------------------------------------------------ which transport */

/* Why the client's target cannot be reached by an initiator of ours; false: it can be. What an
 * initiator is fixed to must be what the path wants. */
static bool is_out_of_reach(const struct rail *rail, const struct fabric_path *path,
                            const struct wire_message *m, char *detail)
{
    uint8_t depth = rail_initiator_depth(rail);
    bool same_mtu = m->dc_mtu == path->path_mtu || PLANTED(server_dc_mtu_unchecked);
    uint8_t gid = path->av.is_global ? path->peer_gid : FABRIC_AV_MAX_GIDS;
    if (!(rail->attr.caps & FABRIC_CAP_DC))
        snprintf(detail, FABRIC_AV_DETAIL, "found no DC at the server's %.32s", rail->name);
    else if (!m->dct_num)
        snprintf(detail, FABRIC_AV_DETAIL, "found no DC target at the client");
    else if (!same_mtu)
        snprintf(detail, FABRIC_AV_DETAIL, "found a DC target of MTU %u; the path's is %u",
                 fabric_mtu_bytes(m->dc_mtu), fabric_mtu_bytes(path->path_mtu));
    else if (m->dc_gid != gid && !PLANTED(server_dc_gid_unchecked))
        snprintf(detail, FABRIC_AV_DETAIL, "found a DC target %s; the path %s",
                 m->dc_gid < FABRIC_AV_MAX_GIDS ? "at one GID" : "without a GRH",
                 path->av.is_global ? "ends at another one" : "has no GRH");
    else if (path->max_rd_atomic < depth)
        snprintf(detail, FABRIC_AV_DETAIL, "found %u READ resources at the client; DC wants %u",
                 path->max_rd_atomic, depth);
    else
        return false;
    return true;
}

enum fabric_error server_dc_choose(struct server *s, const struct server_link *l,
                                   const struct wire_message *request, bool *out, char *detail)
{
    char why[FABRIC_AV_DETAIL] = "";
    assert(s && l && request && out && l->rail < s->rail_count);
    const struct rail *rail = &s->rails[l->rail];
    bool must = s->config.rdma.transport == CONFIG_RDMA_DC;
    *out = false;
    if (s->config.rdma.transport == CONFIG_RDMA_RC && !PLANTED(server_rc_ignored))
        return FABRIC_OK;
    enum fabric_error error =
        is_out_of_reach(rail, &l->path, request, why) ? ERR_DC_UNSUPPORTED : FABRIC_OK;
    if (!error) {
        error = server_dc_class_make(s, l->rail, l->path.path_mtu);
        snprintf(why, sizeof why, "the DC initiators could not be made");
    }
    *out = !error;
    if (!error || !must || PLANTED(server_dc_served_as_rc))
        return FABRIC_OK;
    snprintf(detail, FABRIC_AV_DETAIL, "%s", why);
    return error;
}

/* ------------------------------------------------------------------ a link */

void server_dc_begin(struct server_connection *c, struct server_link *l,
                     const struct wire_message *request)
{
    assert(c && l && request && !l->dc.used && l->state == SERVER_LINK_NONE);
    l->dc = (struct server_dc_link){.used = true,
                                    .dct_num = request->dct_num,
                                    .access_key = request->dc_access_key,
                                    .mtu = l->path.path_mtu,
                                    .connection = c,
                                    .index = (uint8_t)(l - c->links),
                                    .suspect = true};
    if (PLANTED(server_dc_key_forgotten))
        l->dc.access_key = 0;
}

enum fabric_error server_dc_resolve(struct server *s, const struct server_link *l, uint64_t cookie)
{
    assert(s && l && l->dc.used);
    return fabric_resolve(s->fabric, s->rails[l->rail].device, &l->path.av, cookie);
}

enum fabric_error server_dc_connect(struct server *s, struct server_link *l)
{
    assert(s && l && l->dc.used && !l->dc.ah.id);
    struct rail *rail = &s->rails[l->rail];
    uint32_t growth;
    l->pair.bad_pkey_cntr = rail_pkey_violations(rail, &growth);
    l->dc.epoch = rail->epoch;
    return fabric_ah_create(s->fabric, rail->device, &l->path.av, &l->dc.ah);
}

void server_dc_release(struct server *s, struct server_link *l)
{
    assert(s && l && l->dc.used);
    const struct rail *rail = &s->rails[l->rail];
    struct server_initiator *in = l->dc.initiator;
    const bool alive = rail->device.id && l->dc.epoch == rail->epoch;
    server_dc_wait_no_more(s, l);
    if (in) {
        in->holder = NULL;
        if (in->outstanding && alive && !PLANTED(server_dc_dead_kept))
            server_dc_break(s, in);
    }
    if (l->dc.ah.id && alive)
        fabric_ah_destroy(s->fabric, l->dc.ah);
    l->dc = (struct server_dc_link){.used = false};
    s->dc.dirty = true;
}

void server_dc_trust(struct server_link *l)
{
    assert(l);
    l->dc.suspect = false;
    l->dc.misses = 0;
}

const char *server_link_transport(const struct server_link *l)
{
    assert(l);
    return l->dc.used ? "dc" : "rc";
}

/* ------------------------------------------------------------------ posting */

bool server_link_may_post(struct server *s, struct server_link *l)
{
    assert(s && l);
    struct server_initiator *in = l->dc.initiator;
    if (!l->dc.used)
        return true;
    if (!in) {
        server_dc_wait(s, l);
        return false;
    }
    const uint64_t most = SERVER_DC_TURN * s->config.memory_block_size;
    bool over = (in->turn_bytes >= most || in->turn >= RAIL_SEND_DEPTH) &&
                server_dc_others_wait(s, l) && !PLANTED(server_dc_turn_endless);
    if (in->broken || in->proving || over) {
        l->dc.wants = true;
        return false;
    }
    /* Whoever comes next waits for what is under way: no more than keeps the port busy. */
    return in->bytes < most || PLANTED(server_dc_bytes_unbounded);
}

enum fabric_error server_link_post(struct server *s, struct server_link *l,
                                   struct fabric_send_wr *wr)
{
    assert(s && l && wr);
    struct server_initiator *in = l->dc.initiator;
    if (!l->dc.used)
        return fabric_qp_post_send(s->fabric, l->pair.qp, wr);
    assert(in && in->holder == l && in->outstanding < RAIL_SEND_DEPTH);
    wr->ah = l->dc.ah;
    wr->dct_num = l->dc.dct_num;
    wr->dc_access_key = l->dc.access_key;
    enum fabric_error error = fabric_qp_post_send(s->fabric, in->qp, wr);
    if (error)
        return error;
    if (in->outstanding++ == 0)
        in->since = server_now(s);
    uint32_t length = wr->sge_count ? wr->sges[0].length : 0;
    in->lengths[in->next_length++ % RAIL_SEND_DEPTH] = length;
    in->bytes += length;
    in->turn_bytes += length;
    in->turn++;
    return FABRIC_OK;
}

bool server_link_is_on(const struct server_link *l, fabric_qp qp)
{
    assert(l && qp.id);
    if (!l->dc.used)
        return l->pair.qp.id == qp.id;
    return l->dc.initiator && l->dc.initiator->qp.id == qp.id;
}

/* ------------------------------------------------------------------ completions */

enum fabric_error server_dc_judge(struct server *s, struct server_link *l,
                                  struct server_transfer *t, enum fabric_error error,
                                  uint32_t bytes)
{
    assert(s && l && l->dc.used && t);
    if (!error) {
        if (!t->flushed) /* what comes after a gap counts as nothing */
            t->done += bytes;
        l->dc.taken_back = l->dc.refusals = 0;
        if (l->state == SERVER_LINK_UP)
            server_dc_trust(l);
        return FABRIC_OK;
    }
    if (error != ERR_FLUSHED)
        return error;
    if (l->dc.dead)
        return ERR_RETRY_EXCEEDED;
    if (t->flushes >= SERVER_DC_FLUSHES || PLANTED(server_dc_flush_blamed))
        return ERR_FLUSHED;
    if (!t->flushed)
        t->flushes++;
    t->flushed = true;
    s->dc.flushed++;
    return FABRIC_OK;
}

bool server_dc_is_to_blame(struct server_link *l, const struct server_transfer *t,
                           enum fabric_error error)
{
    assert(l && t && error);
    if (!l->dc.used)
        return true;
    if (error == ERR_REMOTE_ACCESS && !PLANTED(server_dc_revoked_blamed)) {
        l->dc.suspect = true;
        return ++l->dc.refusals > SERVER_DC_REFUSALS && !PLANTED(server_dc_refusals_endless);
    }
    return !t->closed || error == ERR_RETRY_EXCEEDED;
}

bool server_dc_goes_again(struct server_transfer *t, struct server_link *l)
{
    assert(t && t->outstanding == 0);
    if (!t->flushed)
        return false;
    t->flushed = false;
    if (t->closed || t->error || !l)
        return false;
    t->next = PLANTED(server_dc_flush_skipped) ? t->next : t->done;
    l->dc.wants = true;
    return !PLANTED(server_dc_flush_skipped);
}
