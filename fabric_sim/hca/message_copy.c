/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of a message, from where they are to where they go, once. */
#include "fabric_sim/hca/message_state.h"

#include <assert.h>

#include "fabric_sim/hca/header.h"
#include "fabric_sim/hca/keys.h"
#include "src/fabric/planted.h"

#define PARTS (FABRIC_MAX_SGE + 1)

struct parts {
    struct message_part at[PARTS];
    uint32_t count;
};

static void add(struct parts *parts, const struct key_state *key, uint64_t addr, uint32_t length)
{
    assert(parts->count < PARTS && key && addr >= key->iova);
    parts->at[parts->count++] =
        (struct message_part){key->host + (addr - key->iova), key->owner, length};
}

static void add_entries(struct parts *parts, const struct message_end *end,
                        const struct hca_sge *sges, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (sges[i].length)
            add(parts, state_key(end->state, sges[i].lkey), sges[i].addr, sges[i].length);
}

static struct parts here(const void *bytes, uint32_t length)
{
    struct parts parts = {.count = length ? 1 : 0};
    parts.at[0] = (struct message_part){(uint64_t)(uintptr_t)bytes, 0, length};
    return parts;
}

/* What the request of the sender names. */
static struct parts local_parts(const struct message *m)
{
    struct send_wqe *wqe = m->wqe;
    if (wqe->flags & HCA_SEND_INLINE)
        return here(send_wqe_inline(m->from.qp, wqe), wqe->length);
    struct parts parts = {.count = 0};
    add_entries(&parts, &m->from, send_wqe_sges(wqe), wqe->sge_count);
    return parts;
}

static struct parts remote_parts(const struct message *m, uint32_t length)
{
    struct parts parts = {.count = 0};
    if (length)
        add(&parts, m->remote, m->wqe->remote_addr, length);
    return parts;
}

static void skip(struct parts *parts, uint32_t *at, uint32_t bytes)
{
    struct message_part *part = &parts->at[*at];
    assert(bytes <= part->length);
    part->host += bytes;
    part->length -= bytes;
    if (part->length == 0)
        ++*at;
}

/* `length` bytes, the first `offset` of the destination left as they are. */
static bool move(const struct message *m, struct parts *to, uint32_t offset, struct parts *from,
                 uint32_t length)
{
    const struct message_world *world = m->world;
    uint32_t into = 0, out = 0;
    while (offset > 0) {
        uint32_t part = to->at[into].length < offset ? to->at[into].length : offset;
        skip(to, &into, part);
        offset -= part;
    }
    while (length > 0) {
        assert(into < to->count && out < from->count);
        struct message_part one = to->at[into], other = from->at[out];
        uint32_t part = one.length < other.length ? one.length : other.length;
        part = part < length ? part : length;
        one.length = other.length = part;
        if (!world->copy(world->context, &one, &other))
            return false;
        skip(to, &into, part);
        skip(from, &out, part);
        length -= part;
    }
    return true;
}

/* The receive of a SEND, behind the GRH of a datagram. */
static bool into_receive(struct message *m, struct parts *from)
{
    struct parts to = {.count = 0};
    bool datagram = m->from.qp->type == HCA_QP_UD;
    if (m->wqe->length || datagram) /* nobody looked at its entries for an empty message */
        add_entries(&to, &m->to, m->recv.sges, m->recv.sge_count);
    if (datagram && m->head.is_global) {
        uint8_t grh[GRH_BYTES];
        header_grh(&m->head, grh);
        struct parts head = here(grh, GRH_BYTES), first = to;
        if (!move(m, &first, 0, &head, GRH_BYTES))
            return false;
    }
    return move(m, &to, datagram ? GRH_BYTES : 0, from, m->wqe->length);
}

static bool atomic(const struct message *m)
{
    uint64_t before = 0, after;
    struct parts remote = remote_parts(m, 8), value = here(&before, 8);
    if (!move(m, &value, 0, &remote, 8))
        return false;
    after = rules_atomic(
        m->head.opcode & 0x1f, before, m->wqe->compare_add, /* compared with, or added */
        m->wqe->opcode == HCA_WR_ATOMIC_CMP_AND_SWP ? m->wqe->swap : m->wqe->compare_add);
    struct parts local = local_parts(m);
    remote = remote_parts(m, 8);
    value = here(&after, 8);
    if (!move(m, &remote, 0, &value, 8))
        return false;
    value = here(&before, 8);
    return move(m, &local, 0, &value, 8);
}

bool message_copy(struct message *m)
{
    struct parts local = local_parts(m), remote;
    switch (rules_opcode(m->head.opcode)->kind) {
    case RULES_SEND:
        return into_receive(m, &local);
    case RULES_WRITE:
        remote = remote_parts(m, m->wqe->length);
        return move(m, &remote, 0, &local, m->wqe->length);
    case RULES_READ:
        remote = remote_parts(m, m->wqe->length);
        return move(m, &local, 0, &remote, m->wqe->length);
    default:
        return atomic(m);
    }
}
