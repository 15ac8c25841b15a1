/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/mover.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/fabric/av.h"
#include "src/fabric/gid.h"

#define SERVER_PORT "7000"
#define PEERS 32
#define IOVA UINT64_C(0x20000000)
#define RETRY UINT64_C(20000000) /* ns */
#define DEADLINE UINT64_C(2000000000)
#define PAGE 4096

struct hello { /* both ends are one binary */
    struct fabric_port_address address;
    uint32_t qp_num, psn, rkey, ready;
    uint64_t iova;
};

enum wr { WR_WRITE = 1, WR_READ };

struct mover;

struct peer { /* one connection; of a client the only one */
    struct mover *m;
    bool used, sent, answered, ready;
    uint32_t slot;
    fabric_stream stream;
    fabric_cq cq;
    fabric_qp qp;
    fabric_mr mr;
    fabric_window window;
    struct fabric_mr_keys keys;
    struct hello mine, theirs;
    size_t sent_bytes, got_bytes;
    uint8_t *memory; /* two blocks: to be written, read back */
    bool waits_for_window;
};

struct mover {
    struct fabric *f;
    const struct fabric_report_sink *sink;
    char device_name[FABRIC_NAME_MAX], server[FABRIC_NAME_MAX];
    unsigned port_num, blocks, bytes, moved;
    bool serves;
    fabric_device device;
    bool has_device;
    fabric_listener listener;
    fabric_timer retry, deadline;
    struct peer peers[PEERS];
};

static size_t room(const struct mover *m)
{
    return ((size_t)m->bytes * 2 + PAGE - 1) / PAGE * PAGE;
}

/* ------------------------------------------------------------------ connections */

static void close_qp(struct peer *p)
{
    struct fabric *f = p->m->f;
    if (p->qp.id)
        (void)fabric_qp_destroy(f, p->qp);
    if (p->cq.id)
        (void)fabric_cq_destroy(f, p->cq);
    p->qp.id = p->cq.id = 0;
}

static void free_memory(struct peer *p)
{
    if (p->mr.id)
        (void)fabric_mr_deregister(p->m->f, p->mr);
    free(p->memory);
    p->memory = NULL;
    p->mr.id = 0;
    p->used = false;
}

static void end_peer(struct peer *p, bool reset)
{
    struct mover *m = p->m;
    if (!p->used || p->waits_for_window)
        return;
    close_qp(p);
    if (p->stream.id)
        (void)fabric_stream_close(m->f, p->stream, reset);
    p->stream.id = 0;
    if (p->window.id) { /* the memory is ours again when the key is */
        p->waits_for_window = true;
        (void)fabric_window_revoke(m->f, p->window);
    } else
        free_memory(p);
    if (m->serves || m->moved == m->blocks)
        return;
    uint64_t now;
    (void)fabric_now(m->f, &now);
    if (m->deadline.id) {
        bool was;
        (void)fabric_timer_cancel(m->f, m->deadline, &was);
        m->deadline.id = 0;
    }
    if (!m->retry.id)
        (void)fabric_timer_set(m->f, now + RETRY, 1, &m->retry);
}

static bool read_address(struct mover *m, struct fabric_port_address *out)
{
    struct fabric_port_attr attr;
    struct fabric_device_attr device;
    struct fabric_gid_entry gids[32];
    size_t count = 0;
    uint8_t port = (uint8_t)m->port_num;
    if (fabric_port_query(m->f, m->device, port, &attr) ||
        fabric_device_query(m->f, m->device, &device))
        return false;
    for (uint32_t i = 0; i < attr.gid_tbl_len && i < 32; i++) {
        if (!fabric_gid_query(m->f, m->device, port, i, &gids[count]))
            count++;
    }
    memset(out, 0, sizeof(*out));
    out->link_layer = attr.link_layer;
    out->state = attr.state;
    out->port_num = port;
    out->lid = attr.lid;
    out->lmc = attr.lmc;
    out->port_guid = attr.port_guid;
    out->mtu = out->active_mtu = attr.active_mtu;
    out->flags = attr.flags;
    out->max_rd_atomic = device.max_init_rd_atomic;
    out->max_dest_rd_atomic = device.max_rd_atomic;
    out->gid_count = fabric_gids_usable(attr.link_layer, gids, count, out->gids);
    out->subnet_prefix = count ? fabric_gid_prefix(&gids[0].gid) : 0;
    return fabric_pkey_query(m->f, m->device, port, 0, &out->pkey) == FABRIC_OK;
}

static bool register_memory(struct peer *p)
{
    struct mover *m = p->m;
    p->memory = aligned_alloc(PAGE, room(m));
    assert(p->memory);
    memset(p->memory, 0, room(m));
    const struct fabric_mr_init init = {.kind = FABRIC_MEM_HOST,
                                        .addr = p->memory,
                                        .length = room(m),
                                        .iova = IOVA,
                                        .access = FABRIC_ACCESS_LOCAL_WRITE};
    if (fabric_mr_register(m->f, m->device, &init, &p->mr, &p->keys))
        return false;
    return !m->serves || !fabric_window_open(m->f, p->mr, IOVA, m->bytes,
                                             FABRIC_ACCESS_REMOTE_READ | FABRIC_ACCESS_REMOTE_WRITE,
                                             p->slot, &p->window);
}

static bool make_qp(struct peer *p)
{
    struct mover *m = p->m;
    struct fabric_qp_info info;
    if (!m->has_device)
        m->has_device = !fabric_device_open(m->f, m->device_name, &m->device);
    if (!m->has_device || !register_memory(p) || fabric_cq_create(m->f, m->device, 16, &p->cq))
        return false;
    const struct fabric_qp_init init = {.type = FABRIC_QP_RC,
                                        .send_cq = p->cq,
                                        .recv_cq = p->cq,
                                        .max_send_wr = 4,
                                        .max_recv_wr = 1,
                                        .max_send_sge = 1,
                                        .max_recv_sge = 1,
                                        .cookie = p->slot};
    if (fabric_qp_create(m->f, m->device, &init, &p->qp) || fabric_qp_query(m->f, p->qp, &info))
        return false;
    p->mine.qp_num = info.qp_num;
    p->mine.iova = IOVA;
    (void)fabric_entropy(m->f, &p->mine.psn, sizeof(p->mine.psn));
    p->mine.psn &= 0xffffff;
    return read_address(m, &p->mine.address);
}

static bool connect_qp(struct peer *p)
{
    struct mover *m = p->m;
    struct fabric_path path;
    if (p->theirs.address.gid_count > FABRIC_AV_MAX_GIDS ||
        fabric_av_build(&p->mine.address, &p->theirs.address, &path, NULL))
        return false;
    struct fabric_qp_attr attr = {.state = FABRIC_QPS_INIT,
                                  .port_num = (uint8_t)m->port_num,
                                  .access = FABRIC_ACCESS_REMOTE_READ | FABRIC_ACCESS_REMOTE_WRITE |
                                            FABRIC_ACCESS_LOCAL_WRITE,
                                  .path_mtu = path.path_mtu,
                                  .av = path.av,
                                  .dest_qp_num = p->theirs.qp_num,
                                  .rq_psn = p->theirs.psn,
                                  .sq_psn = p->mine.psn,
                                  .max_rd_atomic = path.max_rd_atomic,
                                  .max_dest_rd_atomic = path.max_dest_rd_atomic,
                                  .min_rnr_timer = 12,
                                  .timeout = 10,
                                  .retry_cnt = 3,
                                  .rnr_retry = 3};
    for (int state = FABRIC_QPS_INIT; state <= FABRIC_QPS_RTS; state++) {
        attr.state = (enum fabric_qp_state)state;
        if (fabric_qp_modify(m->f, p->qp, &attr))
            return false;
    }
    return true;
}

static struct peer *new_peer(struct mover *m, fabric_stream stream)
{
    for (uint32_t i = 0; i < PEERS; i++) {
        struct peer *p = &m->peers[i];
        if (p->used)
            continue;
        *p = (struct peer){.m = m, .used = true, .slot = i, .stream = stream};
        (void)fabric_stream_set_cookie(m->f, stream, i);
        return p;
    }
    return NULL;
}

static void dial(struct mover *m)
{
    fabric_stream stream;
    uint64_t now;
    if (fabric_connect(m->f, m->server, 0, &stream))
        return;
    if (!new_peer(m, stream))
        (void)fabric_stream_close(m->f, stream, true);
    (void)fabric_now(m->f, &now);
    (void)fabric_timer_set(m->f, now + DEADLINE, 2, &m->deadline);
}

/* ------------------------------------------------------------------ moving */

static void fill(uint8_t *bytes, size_t length, unsigned seed)
{
    for (size_t i = 0; i < length; i++)
        bytes[i] = (uint8_t)(seed * 31 + i + (i >> 8));
}

static bool post(struct peer *p, enum wr what)
{
    struct mover *m = p->m;
    const struct fabric_sge sge = {p->memory + (what == WR_READ ? m->bytes : 0), m->bytes,
                                   p->keys.lkey};
    const struct fabric_send_wr wr = {.wr_id = what,
                                      .opcode = what == WR_READ ? FABRIC_WR_RDMA_READ
                                                                : FABRIC_WR_RDMA_WRITE,
                                      .flags = what == WR_READ ? FABRIC_SEND_SIGNALED : 0,
                                      .sges = &sge,
                                      .sge_count = 1,
                                      .remote_iova = p->theirs.iova,
                                      .rkey = p->theirs.rkey};
    return !fabric_qp_post_send(m->f, p->qp, &wr);
}

static void move_next(struct peer *p)
{
    struct mover *m = p->m;
    char line[64];
    if (m->moved == m->blocks) {
        snprintf(line, sizeof(line), "{\"moved\":%u}", m->moved);
        m->sink->report(m->sink->context, line);
        end_peer(p, false);
        return;
    }
    fill(p->memory, m->bytes, m->moved);
    if (!post(p, WR_WRITE) || !post(p, WR_READ))
        end_peer(p, true);
}

static void completed(struct mover *m, const struct fabric_wc *wc)
{
    struct peer *p = NULL;
    for (uint32_t i = 0; i < PEERS; i++) {
        if (m->peers[i].used && m->peers[i].qp.id == wc->qp.id)
            p = &m->peers[i];
    }
    if (!p)
        return;
    if (wc->status != FABRIC_WC_SUCCESS) {
        end_peer(p, true);
    } else if (wc->wr_id == WR_READ) {
        if (memcmp(p->memory, p->memory + m->bytes, m->bytes) != 0)
            m->sink->report(m->sink->context, "{\"corrupted\":1}");
        m->moved++;
        move_next(p);
    }
}

/* ------------------------------------------------------------------ hellos */

/* A client's hello first; the server answers when its queue pair is ready; then the client's. */
static void send_hello(struct peer *p)
{
    const uint8_t *bytes = (const uint8_t *)&p->mine;
    size_t accepted;
    if (p->m->serves && !p->mine.rkey)
        return; /* the window is being opened */
    while (p->sent_bytes < sizeof(p->mine)) {
        if (fabric_stream_send(p->m->f, p->stream, bytes + p->sent_bytes,
                               sizeof(p->mine) - p->sent_bytes, &accepted)) {
            end_peer(p, true);
            return;
        }
        p->sent_bytes += accepted;
        if (accepted == 0)
            return;
    }
}

static void got_hello(struct peer *p)
{
    struct mover *m = p->m;
    p->answered = true;
    if ((m->serves && !make_qp(p)) || !connect_qp(p)) {
        end_peer(p, true);
        return;
    }
    p->ready = true;
    if (m->serves)
        send_hello(p);
    else
        move_next(p);
}

static void receive(struct peer *p)
{
    uint8_t surplus[16], *at = (uint8_t *)&p->theirs;
    size_t received = 1;
    bool end = false;
    while (p->used && p->stream.id && received && !end) {
        bool full = p->got_bytes == sizeof(p->theirs);
        if (fabric_stream_recv(p->m->f, p->stream, full ? surplus : at + p->got_bytes,
                               full ? sizeof(surplus) : sizeof(p->theirs) - p->got_bytes, &received,
                               &end)) {
            end_peer(p, true);
            return;
        }
        p->got_bytes += full ? 0 : received;
        if (p->got_bytes == sizeof(p->theirs) && !p->answered)
            got_hello(p);
    }
    if (end)
        end_peer(p, false);
}

/* ------------------------------------------------------------------ the program */

static void on_timer(struct mover *m, uint64_t cookie)
{
    if (cookie == 1) {
        m->retry.id = 0;
        dial(m);
        return;
    }
    m->deadline.id = 0;
    for (uint32_t i = 0; i < PEERS; i++)
        end_peer(&m->peers[i], true);
}

static void on_removed(struct mover *m)
{
    for (uint32_t i = 0; i < PEERS; i++)
        end_peer(&m->peers[i], true);
    for (uint32_t i = 0; i < PEERS; i++) {
        if (m->peers[i].waits_for_window)
            m->peers[i].window.id = 0;
        if (m->peers[i].used)
            m->peers[i].mr.id = 0;
    }
    (void)fabric_device_close(m->f, m->device);
    m->has_device = false;
}

static void event(void *state, const struct fabric_event *e)
{
    struct mover *m = state;
    struct peer *p = &m->peers[e->u.stream.cookie % PEERS];
    switch (e->type) {
    case FABRIC_EVENT_COMPLETION:
        completed(m, &e->u.wc);
        break;
    case FABRIC_EVENT_ASYNC:
        if (e->u.async.type == FABRIC_ASYNC_DEVICE_FATAL && m->has_device)
            on_removed(m);
        break;
    case FABRIC_EVENT_WINDOW_OPENED:
        p = &m->peers[e->u.window.cookie];
        p->mine.rkey = e->u.window.rkey;
        if (e->u.window.error)
            p->window.id = 0;
        if (e->u.window.error || !p->mine.rkey)
            end_peer(p, true);
        else
            send_hello(p);
        break;
    case FABRIC_EVENT_WINDOW_REVOKED:
        p = &m->peers[e->u.window.cookie];
        p->waits_for_window = false;
        p->window.id = 0;
        free_memory(p);
        break;
    case FABRIC_EVENT_ACCEPTED:
        if (!new_peer(m, e->u.stream.stream))
            (void)fabric_stream_close(m->f, e->u.stream.stream, true);
        break;
    case FABRIC_EVENT_CONNECTED:
        if (make_qp(p))
            send_hello(p);
        else
            end_peer(p, true);
        break;
    case FABRIC_EVENT_WRITABLE:
        send_hello(p);
        break;
    case FABRIC_EVENT_READABLE:
        receive(p);
        break;
    case FABRIC_EVENT_CLOSED:
        end_peer(p, true);
        break;
    case FABRIC_EVENT_TIMER:
        on_timer(m, e->u.timer.cookie);
        break;
    default:
        break;
    }
}

static enum fabric_error start(struct fabric *f, const char *config, size_t length,
                               const struct fabric_report_sink *sink, void **state)
{
    struct mover *m = calloc(1, sizeof(*m));
    char bound[FABRIC_ADDRESS_MAX];
    enum fabric_error error = FABRIC_OK;
    assert(m && length > 0);
    m->f = f;
    m->sink = sink;
    m->bytes = MOVER_BYTES_MAX;
    if (sscanf(config, "serve %63s %u", m->device_name, &m->port_num) == 2)
        m->serves = true;
    else if (sscanf(config, "move %63s %u %63s %u %u", m->device_name, &m->port_num, m->server,
                    &m->blocks, &m->bytes) != 5)
        error = ERR_CONFIG_INVALID;
    if (!error && m->serves)
        error = fabric_listen(f, "0.0.0.0:" SERVER_PORT, 0, &m->listener, bound);
    if (error) {
        free(m);
        return error;
    }
    if (!m->serves)
        dial(m);
    *state = m;
    return FABRIC_OK;
}

static void command(void *state, const char *json)
{
    (void)state;
    (void)json;
}

static void stop(void *state)
{
    struct mover *m = state;
    if (m->has_device)
        (void)fabric_device_close(m->f, m->device);
    for (uint32_t i = 0; i < PEERS; i++)
        free(m->peers[i].memory);
    free(m);
}

const struct fabric_program mover_program = {"mover", start, event, command, stop};
