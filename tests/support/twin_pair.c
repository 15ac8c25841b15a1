/* SPDX-License-Identifier: Apache-2.0 */
/* The pair of queue pairs of a sequence: most of it usual, some of it wrong. */
#include "tests/support/twin_play.h"

#include <assert.h>
#include <string.h>

static const uint32_t all_access = HCA_ACCESS_LOCAL_WRITE | HCA_ACCESS_REMOTE_WRITE |
                                   HCA_ACCESS_REMOTE_READ | HCA_ACCESS_REMOTE_ATOMIC |
                                   HCA_ACCESS_MW_BIND;

static struct hca_host *host_of(struct side *side, int end)
{
    return &side->w->host[side->ends[end].host];
}

static void check(enum fabric_error error)
{
    assert(error == FABRIC_OK);
    (void)error;
}

/* Key 0 is the host's own region. */
static void make_regions(struct side *side, int end)
{
    struct side_end *e = &side->ends[end];
    struct hca_host *h = host_of(side, end);
    const uint32_t access[SIDE_KEYS] = {0, all_access, HCA_ACCESS_REMOTE_READ, all_access,
                                        all_access};
    check(hca_pd_alloc(h->hca, &e->other_pd));
    e->keys[0] = h->key;
    for (int i = 1; i < SIDE_KEYS; i++)
        check(hca_mr_register(h->hca, i == 3 ? e->other_pd : h->pd, h->memory, SIDE_MEMORY,
                              HCA_WORLD_IOVA, access[i], 0, &e->extra[i], &e->keys[i]));
    check(hca_mw_open(h->hca, e->extra[1], HCA_WORLD_IOVA + 1024, 6144,
                      HCA_ACCESS_REMOTE_READ | HCA_ACCESS_REMOTE_WRITE | HCA_ACCESS_REMOTE_ATOMIC,
                      0, &e->window, &e->window_key));
    e->window_open = e->extra_open = true;
    for (int i = 0; i < 2; i++)
        check(hca_mw_alloc(h->hca, h->pd, i ? HCA_MW_TYPE_2 : HCA_MW_TYPE_1, 0, &e->bound[i],
                           &e->bound_keys[i]));
}

static void make_queues(struct side *side, int end)
{
    struct side_end *e = &side->ends[end];
    struct hca_host *h = host_of(side, end);
    bool shared = side_chance(side, 25);
    uint32_t little = side->single ? 5 : 0; /* when an overrun ends what is sent is chance */
    bool small = side_chance(side, little);
    check(hca_cq_create(h->hca, small ? 2 : 128, (uint64_t)end, &e->send_cq));
    check(hca_cq_create(h->hca, side_chance(side, little) ? 1 : 128, (uint64_t)end, &e->recv_cq));
    e->srq.id = 0;
    if (shared)
        check(hca_srq_create(h->hca, h->pd, 32, 4, 0, &e->srq));
    if (shared)
        check(hca_srq_set_limit(h->hca, e->srq, side_draw(side, 4)));
    struct hca_qp_init init = {.type = side->type,
                               .pd = h->pd,
                               .send_cq = e->send_cq,
                               .recv_cq = side->shared_cq ? e->send_cq : e->recv_cq,
                               .srq = e->srq,
                               .max_send_wr = 32,
                               .max_recv_wr = 32,
                               .max_send_sge = 4,
                               .max_recv_sge = 4,
                               .max_inline = 64,
                               .sq_sig_all = side_chance(side, 50),
                               .context = 100 + (uint64_t)end};
    check(hca_qp_create(h->hca, &init, &e->qp));
}

/* What the two ends have in common, then what is wrong with one of them. */
static void draw_attributes(struct side *side)
{
    struct side_end *a = &side->ends[0], *b = &side->ends[1];
    uint32_t psn[2] = {side_chance(side, 30) ? 0xfffffe : side_draw(side, 0x1000000),
                       side_draw(side, 0x1000000)};
    uint16_t pkey_index = (uint16_t)side_draw(side, 3);
    bool global = side_chance(side, 20);
    for (int i = 0; i < 2; i++) {
        struct side_end *e = &side->ends[i], *other = &side->ends[1 - i];
        e->attr = hca_world_attr(side->w, e->host, other->host);
        e->attr.path_mtu = FABRIC_MTU_256;
        e->attr.pkey_index = pkey_index;
        e->attr.sq_psn = psn[i];
        e->attr.rq_psn = psn[1 - i];
        e->attr.max_rd_atomic = (uint8_t)(1 + side_draw(side, 4));
        e->attr.max_dest_rd_atomic = 4;
        e->attr.min_rnr_timer = 24;
        e->attr.timeout = 8;
        e->attr.retry_cnt = (uint8_t)side_draw(side, 4);
        e->attr.rnr_retry = (uint8_t)side_draw(side, 3);
        e->attr.av.dlid = hca_world_port(side->w, other->host)->lid;
        e->attr.dest_qp_num = hca_world_number(side->w, other->host, other->qp);
        e->attr.av.is_global = global;
        e->attr.av.grh.dgid = hca_world_port(side->w, other->host)->gids[0].gid;
        e->attr.av.grh.hop_limit = 3;
        e->attr.av.grh.flow_label = 0x12345;
    }
    switch (side_draw(side, 30)) {
    case 0:
        b->attr.path_mtu = FABRIC_MTU_512;
        break;
    case 1:
        a->attr.path_mtu = FABRIC_MTU_512;
        break;
    case 2:
        b->attr.pkey_index = (uint16_t)side_draw(side, 4);
        break;
    case 3: /* limited members of one partition */
        a->attr.pkey_index = b->attr.pkey_index = 3;
        break;
    case 4:
        b->attr.av.is_global = !global;
        break;
    case 5: /* of several requests, how many the same answer is for is chance */
        side->parted = side->single;
        if (side->single)
            b->attr.rq_psn = (b->attr.rq_psn + side_draw(side, 3)) & 0xffffff;
        break;
    case 6:
        b->attr.max_dest_rd_atomic = 0;
        break;
    case 7:
        b->attr.access = side_draw(side, 16);
        break;
    case 8:
        b->attr.av.dlid = 77;
        break;
    case 9:
        b->attr.dest_qp_num ^= 1;
        break;
    case 10:
        a->attr.av.dlid = 77;
        break;
    case 11:
        b->attr.qkey = 0x22222222;
        break;
    default:
        break;
    }
}

void pair_bring_up(struct side *side, int end)
{
    struct side_end *e = &side->ends[end];
    struct hca *hca = host_of(side, end)->hca;
    static const enum fabric_qp_state states[] = {FABRIC_QPS_RESET, FABRIC_QPS_INIT, FABRIC_QPS_RTR,
                                                  FABRIC_QPS_RTS};
    uint32_t last = side_chance(side, 8) ? side_draw(side, 3) : 3;
    if (end == 0 && last == 2 && side_chance(side, 50))
        last = 3;
    for (uint32_t i = 1; i <= last; i++) {
        struct hca_qp_attr attr = e->attr;
        attr.state = states[i];
        enum fabric_error error = hca_qp_modify(
            hca, e->qp, &attr, hca_qp_required_mask(side->type, states[i - 1], states[i]));
        if (error)
            side_note(side, "end %d state %u: %d", end, i, (int)error);
    }
}

void pair_make(struct side *side)
{
    uint32_t kind = side_draw(side, 10);
    side->type = kind < 6 ? HCA_QP_RC : kind < 8 ? HCA_QP_UC : HCA_QP_UD;
    side->single = side_chance(side, 60);
    side->shared_cq = side->single && side_chance(side, 20);
    side->loops = side->single && side_chance(side, 10);
    memset(side->ends, 0, sizeof(side->ends));
    for (int i = 0; i < 2; i++) {
        side->ends[i].host = side->loops ? 0 : i;
        make_regions(side, i);
        make_queues(side, i);
    }
    draw_attributes(side);
    for (int i = 0; i < 2; i++) {
        check(hca_ah_create(host_of(side, i)->hca, host_of(side, i)->pd, &side->ends[i].attr.av,
                            &side->ends[i].ah));
        pair_bring_up(side, i);
    }
}

void pair_end(struct side *side)
{
    for (int i = 0; i < 2; i++)
        hca_qp_destroy(host_of(side, i)->hca, side->ends[i].qp);
    for (int i = 0; i < 2; i++) {
        struct side_end *e = &side->ends[i];
        struct hca *hca = host_of(side, i)->hca;
        if (e->srq.id)
            check(hca_srq_destroy(hca, e->srq));
        check(hca_cq_destroy(hca, e->send_cq));
        check(hca_cq_destroy(hca, e->recv_cq));
        if (e->window_open)
            hca_mw_end(hca, e->window);
        for (int k = 0; k < 2; k++)
            hca_mw_end(hca, e->bound[k]);
        for (int k = 1; k < SIDE_KEYS; k++)
            if (k != 4 || e->extra_open)
                check(hca_mr_deregister(hca, e->extra[k]));
        hca_ah_destroy(hca, e->ah);
        check(hca_pd_dealloc(hca, e->other_pd));
    }
}
