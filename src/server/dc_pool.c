/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "src/fabric/planted.h"
#include "src/rail/log.h"
#include "src/server/server.h"

#define ACK_TIMEOUT (UINT64_C(4096) << RAIL_ACK_TIMEOUT) /* ns */
#define HOLD_SHIFTS 3u /* a hold doubles so often for who has answered between */

static uint32_t pool_size(const struct server *s)
{
    return PLANTED(server_dc_pool_of_one) ? 1 : (uint32_t)s->config.num_dcis;
}

static struct server_dc_class *class_of(struct server *s, const struct server_link *l)
{
    assert(l->dc.used && l->dc.mtu <= FABRIC_MTU_4096);
    return &s->dc.classes[l->rail][l->dc.mtu];
}

uint64_t server_dc_hold(struct server *s, const struct server_link *l)
{
    struct fabric_guarantees g = {.ack_timeout_floor = 0};
    assert(s && l);
    fabric_guarantees(s->fabric, &g);
    uint64_t ack = g.ack_timeout_floor > ACK_TIMEOUT ? g.ack_timeout_floor : ACK_TIMEOUT;
    uint64_t hold =
        SERVER_DC_HOLD_TIMEOUTS * ack + SERVER_DC_HOLD_BYTE * s->config.memory_block_size;
    uint32_t shifts = l->dc.taken_back < HOLD_SHIFTS ? l->dc.taken_back : HOLD_SHIFTS;
    return l->dc.suspect ? hold : hold << shifts;
}

/* ------------------------------------------------------------------ the initiators */

/* FABRIC_OK when one or more are there: `there` of them. */
static enum fabric_error make_missing(struct server *s, uint32_t rail, enum fabric_mtu mtu,
                                      uint32_t *there)
{
    struct server_dc_class *class = &s->dc.classes[rail][mtu];
    enum fabric_error first = FABRIC_OK;
    *there = 0;
    for (uint32_t i = 0; i < pool_size(s); i++) {
        struct server_initiator *in = &class->initiators[i];
        enum fabric_error error = FABRIC_OK;
        if (!in->qp.id && !first)
            error = rail_initiator_create(&s->rails[rail], mtu,
                                          server_cookie(SERVER_INITIATOR, rail, mtu), &in->qp);
        first = first ? first : error;
        *there += in->qp.id != 0;
    }
    return *there ? FABRIC_OK : first;
}

enum fabric_error server_dc_class_make(struct server *s, uint32_t rail, enum fabric_mtu mtu)
{
    assert(s && rail < s->rail_count && mtu && mtu <= FABRIC_MTU_4096);
    struct server_dc_class *class = &s->dc.classes[rail][mtu];
    if (class->initiators && class->epoch == s->rails[rail].epoch)
        return FABRIC_OK;
    if (!class->initiators)
        class->initiators = calloc(pool_size(s), sizeof(struct server_initiator));
    if (!class->initiators)
        return ERR_RESOURCES_EXHAUSTED;
    class->epoch = s->rails[rail].epoch;
    s->dc.used = true;
    uint32_t there;
    enum fabric_error error = make_missing(s, rail, mtu, &there);
    if (!error && there < pool_size(s))
        rail_log(s->fabric, FABRIC_LOG_WARN,
                 "%s port %u: resources_exhausted: %u of %u DC initiators could be made",
                 s->rails[rail].name, s->rails[rail].port_num, there, pool_size(s));
    if (error) {
        free(class->initiators);
        class->initiators = NULL;
    }
    return error;
}

void server_dc_break(struct server *s, struct server_initiator *in)
{
    const struct fabric_qp_attr attr = {.state = FABRIC_QPS_ERR};
    assert(s && in && in->qp.id);
    if (!in->broken)
        (void)fabric_qp_modify(s->fabric, in->qp, &attr); /* else it is there, or gone */
    in->broken = true;
    s->dc.dirty = true;
}

static struct server_initiator *find(struct server *s, fabric_qp qp)
{
    for (uint32_t rail = 0; s->dc.used && rail < s->rail_count; rail++) {
        for (uint32_t mtu = FABRIC_MTU_256; mtu <= FABRIC_MTU_4096; mtu++) {
            struct server_initiator *in = s->dc.classes[rail][mtu].initiators;
            for (uint32_t i = 0; in && i < pool_size(s); i++) {
                if (in[i].qp.id == qp.id)
                    return &in[i];
            }
        }
    }
    return NULL;
}

void server_dc_queue_pair_broke(struct server *s, fabric_qp qp)
{
    assert(s);
    struct server_initiator *in = qp.id ? find(s, qp) : NULL;
    if (in && !PLANTED(server_dc_fatal_ignored))
        server_dc_break(s, in);
}

/* ------------------------------------------------------------------ waiting */

void server_dc_wait(struct server *s, struct server_link *l)
{
    assert(s && l && !l->dc.initiator);
    struct server_dc_queue *q = &class_of(s, l)->waiting[l->dc.suspect];
    if (l->dc.waits)
        return;
    l->dc.waits = true;
    l->dc.before = q->last;
    l->dc.after = NULL;
    if (q->last)
        q->last->dc.after = l;
    else
        q->first = l;
    q->last = l;
    s->dc.dirty = true;
}

void server_dc_wait_no_more(struct server *s, struct server_link *l)
{
    assert(s && l);
    struct server_dc_queue *q = &class_of(s, l)->waiting[l->dc.suspect];
    if (!l->dc.waits)
        return;
    if (l->dc.before)
        l->dc.before->dc.after = l->dc.after;
    else
        q->first = l->dc.after;
    if (l->dc.after)
        l->dc.after->dc.before = l->dc.before;
    else
        q->last = l->dc.before;
    l->dc.before = l->dc.after = NULL;
    l->dc.waits = false;
}

static bool anybody_waits(const struct server_dc_class *class)
{
    return class->waiting[0].first || class->waiting[1].first;
}

bool server_dc_others_wait(const struct server *s, const struct server_link *l)
{
    assert(s && l && l->dc.used);
    return anybody_waits(&s->dc.classes[l->rail][l->dc.mtu]);
}

/* Suspects share a quarter of the initiators; so the others always have most of them. */
static bool room_for_suspect(struct server *s, const struct server_dc_class *class, uint32_t rail)
{
    const uint32_t count = pool_size(s);
    uint32_t with = 0;
    for (uint32_t i = 0; i < count; i++)
        with += class->initiators[i].holder && class->initiators[i].holder->dc.suspect;
    uint32_t most = count / 4 ? count / 4 : 1;
    return (with < most || PLANTED(server_dc_suspects_everywhere)) &&
           s->posts[rail] < RAIL_CQ_DEPTH;
}

/* In turn where both kinds wait. */
static struct server_link *next_of(struct server *s, const struct server_dc_class *class,
                                   uint32_t rail)
{
    struct server_link *trusted = class->waiting[0].first, *suspect = class->waiting[1].first;
    if (suspect && !room_for_suspect(s, class, rail))
        suspect = NULL;
    if (trusted && suspect)
        return class->suspect_last ? trusted : suspect;
    return trusted ? trusted : suspect;
}

/* ------------------------------------------------------------------ granting */

static void let_go(struct server *s, struct server_initiator *in)
{
    struct server_link *l = in->holder;
    in->holder = NULL;
    if (!l)
        return;
    assert(l->dc.initiator == in);
    l->dc.initiator = NULL;
    if (l->dc.wants)
        server_dc_wait(s, l);
    l->dc.wants = false;
}

static void recover(struct server *s, uint32_t rail, enum fabric_mtu mtu,
                    struct server_initiator *in)
{
    if (s->rails[rail].state != RAIL_READY || PLANTED(server_dc_broken_for_good))
        return; /* a change of the rail makes others */
    in->broken = false;
    s->dc.recoveries++;
    enum fabric_error error = rail_initiator_recover(&s->rails[rail], mtu, in->qp);
    if (!error)
        return;
    in->qp = (fabric_qp){0}; /* the tick makes another one */
    if (error == ERR_DEVICE_REMOVED)
        return; /* its rail says so */
    rail_log(s->fabric, FABRIC_LOG_WARN, "%s port %u: %s: a DC initiator could not be recovered",
             s->rails[rail].name, s->rails[rail].port_num, error_name(error));
}

/* Those whose last post is back. */
static void recycle(struct server *s, uint32_t rail, enum fabric_mtu mtu)
{
    struct server_dc_class *class = &s->dc.classes[rail][mtu];
    for (uint32_t i = 0; i < pool_size(s); i++) {
        struct server_initiator *in = &class->initiators[i];
        if (!in->qp.id || in->outstanding)
            continue;
        let_go(s, in);
        if (in->broken)
            recover(s, rail, mtu, in);
    }
}

/* The smallest request that asks a target for an answer: nothing is written, so that no key is
 * looked at (vol. 1, chapter 9.7.4.1.5), but DC key, path and P_Key are. */
static void prove(struct server *s, struct server_link *l)
{
    struct server_initiator *in = l->dc.initiator;
    struct fabric_send_wr wr = {.wr_id = server_cookie(SERVER_DC_PROOF, l->rail, 0),
                                .opcode = FABRIC_WR_RDMA_WRITE,
                                .flags = FABRIC_SEND_SIGNALED};
    enum fabric_error error = server_link_post(s, l, &wr);
    if (error) {
        server_link_fail(s, l->dc.connection, l->dc.index, error, "a proof could not be posted");
        return;
    }
    in->proving = true;
    s->posts[l->rail]++;
    s->dc.proofs++;
}

static struct server_initiator *free_one(struct server *s, const struct server_dc_class *class)
{
    for (uint32_t i = 0; class->initiators && i < pool_size(s); i++) { /* pumping may end them */
        struct server_initiator *in = &class->initiators[i];
        if (in->qp.id && !in->holder && !in->broken && !in->outstanding)
            return in;
    }
    return NULL;
}

static void grant(struct server *s, uint32_t rail, enum fabric_mtu mtu)
{
    struct server_dc_class *class = &s->dc.classes[rail][mtu];
    struct server_initiator *in;
    struct server_link *l;
    while ((in = free_one(s, class)) && (l = next_of(s, class, rail))) {
        server_dc_wait_no_more(s, l);
        l->dc.initiator = in;
        l->dc.wants = false;
        in->holder = l;
        in->turn = 0;
        in->turn_bytes = 0;
        in->since = server_now(s);
        class->suspect_last = l->dc.suspect;
        s->dc.dirty = true;
        if (l->dc.suspect && l->state == SERVER_LINK_UP && !PLANTED(server_dc_unproven))
            prove(s, l);
        else
            server_transfers_pump(s, l->dc.connection, l->dc.index);
    }
}

/* While others wait, a timer looks for who holds an initiator in silence. */
static void arm(struct server *s, uint32_t rail, enum fabric_mtu mtu)
{
    struct server_dc_class *class = &s->dc.classes[rail][mtu];
    uint64_t due = FABRIC_FOREVER;
    fabric_timer timer;
    if (class->timed || !class->initiators || !anybody_waits(class))
        return;
    for (uint32_t i = 0; i < pool_size(s); i++) {
        const struct server_initiator *in = &class->initiators[i];
        if (!in->holder || !in->outstanding || in->broken)
            continue;
        uint64_t end = in->since + server_dc_hold(s, in->holder);
        due = end < due ? end : due;
    }
    if (due != FABRIC_FOREVER)
        class->timed = fabric_timer_set(s->fabric, due, server_cookie(SERVER_DC_TIMER, rail, mtu),
                                        &timer) == FABRIC_OK;
}

void server_dc_turn(struct server *s)
{
    assert(s);
    while (s->dc.dirty) {
        s->dc.dirty = false;
        for (uint32_t rail = 0; rail < s->rail_count; rail++) {
            for (uint32_t mtu = FABRIC_MTU_256; mtu <= FABRIC_MTU_4096; mtu++) {
                if (!s->dc.classes[rail][mtu].initiators)
                    continue;
                recycle(s, rail, (enum fabric_mtu)mtu);
                grant(s, rail, (enum fabric_mtu)mtu);
                arm(s, rail, (enum fabric_mtu)mtu);
            }
        }
    }
}

/* ------------------------------------------------------------------ silence */

static void say_silent(struct server *s, struct server_link *l, uint64_t hold)
{
    char detail[96], more[RAIL_SAID_MORE];
    snprintf(detail, sizeof detail, "no answer for %" PRIu64 " ms while others wait",
             hold / 1000000u);
    if (rail_said_is_due(&l->said_silent, ERR_TIMEOUT, detail, server_now(s), more))
        rail_log(s->fabric, FABRIC_LOG_INFO,
                 "client %s rail %u: %s: its DC initiator is taken back%s", l->dc.connection->peer,
                 l->dc.index, detail, more);
}

/* The holder has not answered for a hold, and others wait: they come first. */
static void take_back(struct server *s, struct server_initiator *in)
{
    struct server_link *l = in->holder;
    s->dc.taken_back++;
    say_silent(s, l, server_dc_hold(s, l));
    l->dc.misses++;
    if (l->dc.suspect)
        l->dc.dead = l->dc.misses > SERVER_DC_MISSES && !PLANTED(server_dc_never_dead);
    else
        l->dc.taken_back++;
    l->dc.suspect = true;
    l->dc.wants = true;
    server_dc_break(s, in);
}

static void look_for_silence(struct server *s, struct server_dc_class *class)
{
    uint64_t now = server_now(s);
    for (uint32_t i = 0; i < pool_size(s) && anybody_waits(class); i++) {
        struct server_initiator *in = &class->initiators[i];
        bool silent = in->holder && in->outstanding && !in->broken &&
                      now - in->since >= server_dc_hold(s, in->holder);
        if (silent && !PLANTED(server_dc_hold_endless))
            take_back(s, in);
    }
    s->dc.dirty = true;
}

void server_dc_timer(struct server *s, uint64_t cookie)
{
    uint32_t rail = (uint32_t)(cookie >> 32) & 0xffffffu, mtu = (uint32_t)cookie;
    assert(s && rail < s->rail_count && mtu <= FABRIC_MTU_4096);
    struct server_dc_class *class = &s->dc.classes[rail][mtu];
    class->timed = false;
    if (class->initiators)
        look_for_silence(s, class);
}

void server_dc_tick(struct server *s)
{
    uint32_t there;
    assert(s);
    for (uint32_t rail = 0; s->dc.used && rail < s->rail_count; rail++) {
        for (uint32_t mtu = FABRIC_MTU_256; mtu <= FABRIC_MTU_4096; mtu++) {
            struct server_dc_class *class = &s->dc.classes[rail][mtu];
            if (!class->initiators || s->rails[rail].state != RAIL_READY)
                continue;
            (void)make_missing(s, rail, (enum fabric_mtu)mtu, &there);
            look_for_silence(s, class);
        }
    }
}

/* ------------------------------------------------------------------ completions */

/* A target that answers is served at once; one that cannot be reached has lost its link. */
static void take_proof(struct server *s, struct server_initiator *in, enum fabric_error error)
{
    struct server_link *l = in->holder;
    in->proving = false;
    if (!l)
        return;
    struct server_connection *c = l->dc.connection;
    const uint32_t rail = l->rail;
    if (!error) {
        server_dc_trust(l);
        server_transfers_pump(s, c, l->dc.index);
    } else if (error != ERR_FLUSHED || l->dc.dead) {
        server_link_fail(s, c, l->dc.index, error == ERR_FLUSHED ? ERR_RETRY_EXCEEDED : error,
                         "its DC target does not answer");
        server_rail_is_to_blame(s, rail);
    }
}

void server_dc_completed(struct server *s, const struct fabric_wc *wc)
{
    assert(s && wc);
    if (!s->dc.used)
        return;
    struct server_initiator *in = find(s, wc->qp);
    bool proof = server_cookie_kind(wc->wr_id) == SERVER_DC_PROOF;
    s->dc.dirty = true; /* there is room in the completion queue */
    if (proof)
        s->posts[(wc->wr_id >> 32) & 0xffffffu]--;
    if (!in || in->outstanding == 0)
        return;
    enum fabric_error error =
        wc->status == FABRIC_WC_SUCCESS ? FABRIC_OK : fabric_wc_error(wc->status);
    in->bytes -= in->lengths[(in->next_length - in->outstanding) % RAIL_SEND_DEPTH];
    in->outstanding--;
    in->since = server_now(s);
    if (error)
        server_dc_break(s, in);
    else if (in->holder)
        in->holder->dc.misses = 0;
    if (proof)
        take_proof(s, in, error);
}

/* ------------------------------------------------------------------ the end */

void server_dc_rail_changed(struct server *s, uint32_t rail)
{
    assert(s && rail < s->rail_count);
    const struct rail *r = &s->rails[rail];
    for (uint32_t mtu = FABRIC_MTU_256; mtu <= FABRIC_MTU_4096; mtu++) {
        struct server_dc_class *class = &s->dc.classes[rail][mtu];
        for (uint32_t i = 0; class->initiators && i < pool_size(s); i++) {
            struct server_initiator *in = &class->initiators[i];
            if (in->holder)
                in->holder->dc.initiator = NULL;
            if (in->qp.id && r->device.id && class->epoch == r->epoch)
                fabric_qp_destroy(s->fabric, in->qp);
        }
        free(class->initiators);
        class->initiators = NULL;
    }
}

void server_dc_free(struct server *s)
{
    assert(s);
    for (uint32_t rail = 0; rail < RAIL_MAX; rail++) {
        for (uint32_t mtu = 0; mtu <= FABRIC_MTU_4096; mtu++)
            free(s->dc.classes[rail][mtu].initiators);
    }
}

void server_dc_count(const struct server *s, uint32_t rail, uint32_t *initiators, uint32_t *held,
                     uint32_t *waiting)
{
    assert(s && initiators && held && waiting);
    *initiators = *held = *waiting = 0;
    for (uint32_t mtu = FABRIC_MTU_256; mtu <= FABRIC_MTU_4096; mtu++) {
        const struct server_dc_class *class = &s->dc.classes[rail][mtu];
        for (uint32_t i = 0; class->initiators && i < pool_size(s); i++) {
            *initiators += class->initiators[i].qp.id != 0;
            *held += class->initiators[i].holder != NULL;
        }
        for (unsigned kind = 0; kind < 2; kind++) {
            for (const struct server_link *l = class->waiting[kind].first; l; l = l->dc.after)
                (*waiting)++;
        }
    }
}
