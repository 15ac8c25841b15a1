/* SPDX-License-Identifier: Apache-2.0 */
/* A sequence in one world, and what is written down of it. */
#include "tests/support/twin_play.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "fabric_sim/hca/engine.h"
#include "fabric_sim/hca/queue.h"

#define STEPS 10

uint32_t side_draw(struct side *side, uint32_t limit)
{
    uint64_t z = (side->draws += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    assert(limit > 0);
    return (uint32_t)((z ^ z >> 31) >> 16) % limit;
}

bool side_chance(struct side *side, uint32_t percent)
{
    return side_draw(side, 100) < percent;
}

void side_note(struct side *side, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    size_t room = sizeof(side->text) - side->length;
    int length = vsnprintf(side->text + side->length, room, format, values);
    va_end(values);
    assert(length >= 0 && (size_t)length + 1 < room);
    side->length += (size_t)length;
    side->text[side->length++] = '\n';
    side->text[side->length] = '\0';
}

static void on_asked(void *context, struct hca *hca, uint64_t cq_context)
{
    struct side *side = context;
    (void)hca;
    assert(cq_context < 2);
    side->told[cq_context]++;
}

void side_create(struct side *side, uint64_t seed, bool messages)
{
    const struct hca_world_init init = {.seed = seed};
    side->w = hca_world_create(&init);
    side->messages = messages;
    for (int i = 0; i < SIDE_HOSTS; i++) {
        const struct hca_notify notify = {.context = side, .asked = on_asked};
        struct hca *hca = side->w->host[i].hca;
        hca_set_notify(hca, &notify);
        hca_use_messages(hca, messages);
        /* What part of a WRITE that fails lands is else drawn, from generators that have parted. */
        hca->state.device->caps |= FABRIC_CAP_WRITE_ORDER;
        hca_world_set_pkey(side->w, i, 1, 0x8001);
        hca_world_set_pkey(side->w, i, 2, i ? 0x8002 : 0x0002);
        hca_world_set_pkey(side->w, i, 3, 0x0003);
        struct hca_event event;
        while (hca_event_poll(hca, &event))
            continue;
    }
}

void side_destroy(struct side *side)
{
    hca_world_destroy(side->w);
}

/* ------------------------------------------------------------------ writing down */

static void note_completions(struct side *side, int end, bool receives)
{
    struct side_end *e = &side->ends[end];
    struct hca_wc wc;
    while (hca_cq_poll(side->w->host[e->host].hca, receives ? e->recv_cq : e->send_cq, &wc, 1)) {
        side->statuses[wc.status]++;
        if (wc.status != FABRIC_WC_SUCCESS)
            side_note(side, "wc at %d %llu %s send %d qp %u", end, (unsigned long long)wc.wr_id,
                      fabric_wc_status_name(wc.status), wc.is_send, wc.qp_num);
        else
            side_note(side,
                      "wc at %d %llu op %u len %u imm %d %u grh %d src %u slid %u sl %u pkey %u "
                      "bits %u send %d",
                      end, (unsigned long long)wc.wr_id, wc.opcode, wc.byte_len, wc.with_imm,
                      wc.imm, wc.with_grh, wc.src_qp, wc.slid, wc.sl, wc.pkey_index,
                      wc.dlid_path_bits, wc.is_send);
    }
}

static void note_queue_pair(struct side *side, int end)
{
    struct hca_qp_info info;
    struct side_end *e = &side->ends[end];
    enum fabric_error error = hca_qp_query(side->w->host[e->host].hca, e->qp, &info);
    assert(!error);
    (void)error;
    /* How much of several requests had left when one of them failed is chance. */
    bool psns = side->exact || info.attr.state != FABRIC_QPS_ERR;
    side_note(side, "qp %d state %d sq %u rq %u out %u in %u told %u", end, (int)info.attr.state,
              psns ? info.attr.sq_psn : 0, psns ? info.attr.rq_psn : 0, info.sq_outstanding,
              info.rq_outstanding, side->told[end]);
}

static uint64_t hash(const uint8_t *bytes, size_t length)
{
    uint64_t value = UINT64_C(0xcbf29ce484222325), word;
    for (size_t i = 0; i + sizeof(word) <= length; i += sizeof(word)) {
        memcpy(&word, bytes + i, sizeof(word));
        value = (value ^ word) * UINT64_C(0x100000001b3);
        value ^= value >> 29;
    }
    return value;
}

static void note_host(struct side *side, int i)
{
    struct hca_host *host = &side->w->host[i];
    struct hca_event event;
    while (hca_event_poll(host->hca, &event))
        side_note(side, "event at %d kind %d type %d context %llu", i, (int)event.kind,
                  (int)event.type, (unsigned long long)event.context);
    struct fabric_port_counters counters, *before = &side->before[i];
    enum fabric_error error = hca_counters_query(host->hca, 1, &counters);
    assert(!error);
    (void)error;
    side_note(side, "host %d memory %016llx", i,
              (unsigned long long)hash(host->memory, SIDE_MEMORY));
    if (!side->exact) /* of several requests, how many packets they need is chance */
        return;
    side_note(side, "host %d bad pkey %llu qkey %llu traps %zu", i,
              (unsigned long long)(counters.bad_pkey - before->bad_pkey),
              (unsigned long long)(counters.bad_qkey - before->bad_qkey), host->trap_count);
    side_note(side, "host %d sent %llu %llu got %llu %llu", i,
              (unsigned long long)(counters.xmit_packets - before->xmit_packets),
              (unsigned long long)(counters.xmit_data - before->xmit_data),
              (unsigned long long)(counters.rcv_packets - before->rcv_packets),
              (unsigned long long)(counters.rcv_data - before->rcv_data));
}

static void note_all(struct side *side)
{
    bool polls = !side->single || side_chance(side, 70); /* else the queues become full */
    for (int i = 0; i < 2; i++) {
        if (polls) {
            note_completions(side, i, false);
            note_completions(side, i, true);
        }
        note_queue_pair(side, i);
    }
    for (int i = 0; i < SIDE_HOSTS; i++)
        note_host(side, i);
}

/* ------------------------------------------------------------------ steps */

static void move(struct side *side, int end, enum fabric_qp_state state, uint32_t mask)
{
    struct side_end *e = &side->ends[end];
    struct hca_qp_attr attr = {.state = state, .en_sqd_async_notify = true};
    enum fabric_error error =
        hca_qp_modify(side->w->host[e->host].hca, e->qp, &attr, HCA_QP_STATE | mask);
    side_note(side, "end %d to state %d: %d", end, (int)state, (int)error);
}

static void reset(struct side *side, int end)
{
    move(side, end, FABRIC_QPS_RESET, 0);
    pair_bring_up(side, end);
}

static void set_active_mtu(struct side *side, int host, enum fabric_mtu mtu)
{
    struct net_port *port = net_node_port(side->w->host[host].node, 1);
    struct port_info before = *net_port_info(port);
    net_port_info(port)->active_mtu = (uint8_t)mtu;
    net_port_changed(port, &before);
}

static void draw_mtu(struct side *side, int host)
{
    enum fabric_mtu mtu = side_chance(side, 60) ? FABRIC_MTU_256 : FABRIC_MTU_4096;
    if (side->type == HCA_QP_UD && side_chance(side, 50))
        set_active_mtu(side, host, mtu);
    else
        net_link_set_mtu(net_node_port(side->w->host[host].node, 1), mtu);
}

/* Something of the pair or of its way changes. */
static void step_change(struct side *side, int end)
{
    struct side_end *e = &side->ends[end];
    struct hca_host *h = &side->w->host[e->host];
    switch (side_draw(side, 12)) {
    case 0:
        if (side->parted)
            break;
        move(side, end, FABRIC_QPS_SQD, HCA_QP_EN_SQD_ASYNC_NOTIFY);
        side->exact = false; /* what is posted now begins together */
        break;
    case 1:
    case 2:
        move(side, end, FABRIC_QPS_RTS, 0);
        break;
    case 3:
        move(side, end, FABRIC_QPS_ERR, 0);
        break;
    case 4:
        reset(side, end);
        side->parted = side->exact;
        if (!side->exact)
            reset(side, 1 - end);
        break;
    case 5:
        if (e->window_open)
            hca_mw_revoke(h->hca, e->window);
        e->window_open = false;
        break;
    case 6:
        if (e->extra_open)
            (void)hca_mr_deregister(h->hca, e->extra[4]);
        e->extra_open = false;
        break;
    case 7:
        hca_world_set_pkey(side->w, e->host, 1, side_chance(side, 30) ? 0x8005 : 0x8001);
        break;
    case 8:
        hca_world_loss(side->w, e->host, side_chance(side, 40) ? 1000000 : 0);
        break;
    case 9:
        if (e->srq.id)
            (void)hca_srq_set_limit(h->hca, e->srq, side_draw(side, 4));
        break;
    case 10: /* a link or, for datagrams, a port of a smaller MTU */
        draw_mtu(side, e->host);
        break;
    default:
        hca_world_set_lid(side->w, e->host,
                          (uint16_t)(side_chance(side, 30) ? 40 + e->host : 10 + e->host));
        break;
    }
}

static void arm(struct side *side, int end)
{
    const struct side_end *e = &side->ends[end];
    const struct hca_state *state = &side->w->host[e->host].hca->state;
    bool receives = side_chance(side, 70);
    queue_arm(
        table_find(&state->arena, &state->device->cqs, receives ? e->recv_cq.id : e->send_cq.id),
        side_chance(side, 50));
}

static void heal(struct side *side)
{
    for (int i = 0; i < SIDE_HOSTS; i++) {
        hca_world_set_pkey(side->w, i, 1, 0x8001);
        hca_world_loss(side->w, i, 0);
        hca_world_set_lid(side->w, i, (uint16_t)(10 + i));
        net_link_set_mtu(net_node_port(side->w->host[i].node, 1), FABRIC_MTU_4096);
        set_active_mtu(side, i, FABRIC_MTU_4096);
    }
}

/* A pair that failed is often made good again, or most of a sequence would be flushes. */
static void revive(struct side *side)
{
    bool failed = false;
    for (int i = 0; i < 2; i++) {
        enum fabric_qp_state state =
            hca_world_qp_state(side->w, side->ends[i].host, side->ends[i].qp);
        failed = failed || state == FABRIC_QPS_ERR || state == FABRIC_QPS_SQE;
    }
    if (!failed || !side_chance(side, 80))
        return;
    for (int i = 0; i < 2; i++)
        reset(side, i);
}

static void run(struct side *side)
{
    hca_world_run(side->w, SECOND);
    note_all(side);
}

void side_play(struct side *side, uint64_t sequence)
{
    side->draws = sequence * UINT64_C(0x2545f4914f6cdd1d);
    side->length = 0;
    side->next_id = 0;
    memset(side->told, 0, sizeof(side->told));
    for (int i = 0; i < SIDE_HOSTS; i++) {
        side->before[i] = hca_world_port(side->w, i)->counters;
        side->w->host[i].trap_count = 0;
    }
    side->parted = false;
    pair_make(side);
    side->exact = side->single;
    side_note(side, "sequence %llu type %d single %d loops %d", (unsigned long long)sequence,
              (int)side->type, side->single, side->loops);
    for (int i = 0; i < 2; i++)
        if (side_chance(side, 90))
            step_receives(side, i);
    if (side->type == HCA_QP_UD && side_chance(side, 20))
        draw_mtu(side, 0);
    run(side);
    bool over = true;
    int end = 0;
    for (int step = 0; step < STEPS; step++) {
        if (over) /* what both ends do in the same instant has no one outcome */
            end = side_chance(side, 70) ? 0 : 1;
        if (over)
            revive(side);
        uint32_t what = side_draw(side, over ? 11 : 8);
        if (what < 7)
            step_sends(side, end);
        if (what == 6 || what == 7)
            step_receives(side, 1 - end);
        if (what == 8)
            step_change(side, end);
        if (what == 9)
            arm(side, end);
        if (what == 10 && side->type != HCA_QP_UD)
            step_binds(side, end);
        over = side->single || what >= 8 || side_chance(side, 70);
        if (over)
            run(side);
    }
    run(side);
    pair_end(side);
    heal(side);
    hca_world_run(side->w, SECOND);
    struct hca_event event; /* of the healing */
    for (int i = 0; i < SIDE_HOSTS; i++)
        while (hca_event_poll(side->w->host[i].hca, &event))
            continue;
}
