/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of a sequence: of every kind, mostly allowed. */
#include "tests/support/twin_play.h"

#include <assert.h>

static const uint32_t lengths[] = {0, 1, 8, 64, 255, 256, 257, 511, 512, 513, 1000, 1024};
#define LENGTHS (sizeof(lengths) / sizeof(lengths[0]))

/* Where bytes of several requests at once lie apart: a READ that is followed by a WRITE may see its
 * bytes or not (vol. 1, chapter 10.8.3.3). */
enum area { SOURCE, TARGET, LANDING, READ, ATOMIC };

static uint32_t place(struct side *side, enum area area, uint32_t length)
{
    static const uint32_t begins[] = {0, 2048, 4096, 6144, 7168, SIDE_MEMORY};
    if (side->single && !side->loops)
        return side_draw(side, SIDE_MEMORY - length + 1);
    assert(length <= begins[area + 1] - begins[area]);
    return begins[area] + side_draw(side, begins[area + 1] - begins[area] - length + 1);
}

static uint32_t draw_length(struct side *side)
{
    return lengths[side_draw(side, LENGTHS)];
}

/* Entries that together have the length; returns how many. */
static uint32_t cut(struct side *side, int end, enum area area, uint32_t length,
                    struct hca_sge *sges)
{
    uint32_t count = 1 + side_draw(side, 3);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t part = i + 1 == count ? length : side_draw(side, length + 1);
        sges[i] = (struct hca_sge){HCA_WORLD_IOVA + place(side, area, part), part,
                                   side->ends[end].keys[0]};
        length -= part;
    }
    if (side_chance(side, 3))
        sges[side_draw(side, count)].lkey = side->ends[end].keys[1 + side_draw(side, 4)];
    if (side_chance(side, 1))
        sges[0].lkey ^= 0x5a;
    if (side_chance(side, 1))
        sges[0].addr += 64u << 20;
    return count;
}

static void draw_remote(struct side *side, int to, uint32_t length, struct hca_send_wr *wr)
{
    const struct side_end *e = &side->ends[to];
    enum area area = wr->opcode < HCA_WR_RDMA_READ   ? LANDING
                     : wr->opcode > HCA_WR_RDMA_READ ? ATOMIC
                                                     : READ;
    wr->remote_addr = HCA_WORLD_IOVA + place(side, area, length) / 8 * 8;
    wr->rkey = e->keys[0];
    switch (side_draw(side, 24)) {
    case 0:
        wr->rkey ^= 0x5a;
        break;
    case 1:
        wr->remote_addr += HCA_WORLD_MEMORY;
        break;
    case 2:
        wr->rkey = e->keys[2]; /* may only be read */
        break;
    case 3:
        wr->rkey = e->keys[3]; /* of another domain */
        break;
    case 4:
    case 5:
        wr->rkey = e->keys[4]; /* perhaps closed */
        break;
    case 6:
    case 7:
    case 8:
        wr->rkey = e->window_key; /* perhaps closed, or outside */
        break;
    case 9:
        wr->remote_addr += 4;
        break;
    case 10:
    case 11:
    case 12:
        wr->rkey = e->bound_keys[side_draw(side, 2)]; /* perhaps not bound, or outside */
        break;
    default:
        break;
    }
}

static enum hca_wr_opcode draw_opcode(struct side *side)
{
    if (side->type == HCA_QP_UD)
        return side_chance(side, 50) ? HCA_WR_SEND : HCA_WR_SEND_WITH_IMM;
    return (enum hca_wr_opcode)side_draw(side, side->type == HCA_QP_UC ? 4 : 7);
}

static void post_send(struct side *side, int from)
{
    struct side_end *e = &side->ends[from], *other = &side->ends[1 - from];
    struct hca_host *h = &side->w->host[e->host];
    struct hca_sge sges[4];
    uint32_t length = draw_length(side);
    struct hca_send_wr wr = {.wr_id = ++side->next_id,
                             .opcode = draw_opcode(side),
                             .flags = side_draw(side, 8), /* fence, signaled, solicited */
                             .sges = sges,
                             .imm = (uint32_t)side->next_id * 77};
    if (wr.opcode >= HCA_WR_ATOMIC_CMP_AND_SWP)
        length = 8;
    if (side->type == HCA_QP_UD && length > 4000)
        length = 4000;
    wr.sge_count = cut(side, from, wr.opcode < HCA_WR_RDMA_READ ? SOURCE : TARGET, length, sges);
    draw_remote(side, 1 - from, length, &wr);
    wr.compare_add = side_draw(side, 2) ? 0 : side_draw(side, 256);
    wr.swap = side_draw(side, 1u << 20);
    bool reads = wr.opcode >= HCA_WR_RDMA_READ;
    if (length <= 64 && !reads && side_chance(side, 50)) {
        wr.flags |= HCA_SEND_INLINE;
        sges[0] = (struct hca_sge){(uint64_t)(uintptr_t)(h->memory + place(side, SOURCE, length)),
                                   length, 0};
        wr.sge_count = 1;
    }
    wr.ah = e->ah;
    wr.dest_qp = other->attr.dest_qp_num ? e->attr.dest_qp_num : 0;
    wr.qkey = side_chance(side, 10) ? 0x80000001 : 0x11111111;
    enum fabric_error error = hca_post_send(h->hca, e->qp, &wr);
    side->posted++;
    side_note(side, "send %llu op %d len %u from %d: %d", (unsigned long long)wr.wr_id,
              (int)wr.opcode, length, from, (int)error);
}

void step_sends(struct side *side, int from)
{
    uint32_t count = side->single ? 1 : 1 + side_draw(side, 4);
    assert(count > 0);
    for (uint32_t i = 0; i < count; i++)
        post_send(side, from);
}

void step_receives(struct side *side, int end)
{
    struct side_end *e = &side->ends[end];
    struct hca *hca = side->w->host[e->host].hca;
    uint32_t count = 1 + side_draw(side, 4);
    for (uint32_t i = 0; i < count; i++) {
        struct hca_sge sges[4];
        uint32_t length = side_chance(side, 80) ? 1100 : draw_length(side);
        struct hca_recv_wr wr = {.wr_id = ++side->next_id, .sges = sges};
        wr.sge_count = cut(side, end, LANDING, length, sges);
        enum fabric_error error =
            e->srq.id ? hca_srq_post_recv(hca, e->srq, &wr) : hca_post_recv(hca, e->qp, &wr);
        side_note(side, "recv %llu len %u at %d: %d", (unsigned long long)wr.wr_id, length, end,
                  (int)error);
    }
}

/* The next key of a window: the tag alone is the program's to choose. */
static uint32_t next_key(uint32_t key)
{
    return (key & ~0xffu) | ((key + 1) & 0xffu);
}

static void post_binding(struct side *side, int end)
{
    struct side_end *e = &side->ends[end];
    uint32_t which = side_draw(side, 2);
    bool invalidates = which == 1 && side_chance(side, 50);
    struct hca_send_wr wr = {.wr_id = ++side->next_id,
                             .opcode = invalidates ? HCA_WR_LOCAL_INV : HCA_WR_BIND_MW,
                             .flags = side_draw(side, 4), /* fence, signaled */
                             .rkey = invalidates ? e->bound_keys[which]
                                                 : next_key(e->bound_keys[which]),
                             .bind = {.mw = e->bound[which],
                                      .lkey = e->keys[side_chance(side, 90) ? 1 : 2],
                                      .access = HCA_ACCESS_REMOTE_READ | HCA_ACCESS_REMOTE_WRITE,
                                      .addr = HCA_WORLD_IOVA + side_draw(side, 1024) * 4,
                                      .length = side_chance(side, 20) ? 0 : 4096}};
    enum fabric_error error = hca_post_send(side->w->host[e->host].hca, e->qp, &wr);
    if (!error && !invalidates)
        e->bound_keys[which] = wr.rkey;
    side_note(side, "bind %llu op %d window %u at %d: %d", (unsigned long long)wr.wr_id,
              (int)wr.opcode, which, end, (int)error);
}

void step_binds(struct side *side, int end)
{
    uint32_t count = side->single ? 1 : 1 + side_draw(side, 3);
    assert(count > 0);
    for (uint32_t i = 0; i < count; i++)
        post_binding(side, end);
}
