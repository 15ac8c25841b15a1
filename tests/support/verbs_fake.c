/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "tests/support/verbs_fake.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct verbs_fake verbs_fake;

struct fake_cq {
    struct ibv_cq cq;
    struct ibv_wc wcs[VERBS_FAKE_QUEUE];
    size_t head, count;
    bool armed, rang;
};

struct fake_qp { /* as providers lay it out: the extended one begins with the plain one */
    struct ibv_qp_ex ex;
    struct mlx5dv_qp_ex mlx5;
};

static struct ibv_context *context; /* the latest */
static struct ibv_comp_channel *channel;
static struct ibv_async_event events[16];
static size_t event_head, event_count;
static struct fake_cq *user_cq, *bind_cq, *cqs[8];
static size_t cq_count;
static struct fake_qp *latest_qp;
static uint32_t next_number;

void verbs_fake_say(const char *format, ...)
{
    size_t length = strlen(verbs_fake.said);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(verbs_fake.said + length, sizeof(verbs_fake.said) - length, format, arguments);
    va_end(arguments);
}

/* Counts a set-up verb; true when it shall fail. */
static bool fails(const char *name)
{
    verbs_fake_say("%s ", name);
    verbs_fake.verbs++;
    bool named = verbs_fake.fail_name && strcmp(verbs_fake.fail_name, name) == 0;
    if (!named && (!verbs_fake.fail_nth || verbs_fake.verbs != verbs_fake.fail_nth))
        return false;
    errno = verbs_fake.fail_errno;
    return true;
}

static void *make(size_t size)
{
    void *made = calloc(1, size);
    assert(made);
    verbs_fake.live++;
    return made;
}

static int end(const char *name, void *object)
{
    verbs_fake_say("%s ", name);
    verbs_fake.live--;
    free(object);
    return 0;
}

size_t verbs_fake_count(const char *word)
{
    size_t count = 0, length = strlen(word);
    for (const char *at = verbs_fake.said; (at = strstr(at, word)) != NULL; at += length)
        count += at[length] == ' ' && (at == verbs_fake.said || at[-1] == ' ');
    return count;
}

/* ------------------------------------------------------------------ devices and ports */

static int fork_init(void)
{
    verbs_fake_say("fork_init ");
    return 0;
}

static struct ibv_device **get_device_list(int *count)
{
    struct ibv_device **list = calloc(2, sizeof(*list));
    assert(list);
    *count = verbs_fake.present;
    list[0] = verbs_fake.present ? &verbs_fake.device : NULL;
    return list;
}

static void free_device_list(struct ibv_device **list)
{
    free(list);
}

static struct ibv_context *open_device(struct ibv_device *device)
{
    if (fails("open_device"))
        return NULL;
    context = make(sizeof(*context));
    *context = (struct ibv_context){.device = device, .async_fd = eventfd(0, EFD_NONBLOCK)};
    assert(context->async_fd >= 0);
    return context;
}

static int close_device(struct ibv_context *of)
{
    close(of->async_fd);
    return end("close_device", of);
}

static int query_device(struct ibv_context *of, struct ibv_device_attr *attr)
{
    *attr = verbs_fake.attr;
    return of && fails("query_device") ? verbs_fake.fail_errno : 0;
}

static int query_port(struct ibv_context *of, uint8_t port_num, struct ibv_port_attr *attr)
{
    assert(of && port_num == 1);
    *attr = verbs_fake.port;
    return 0;
}

static int query_gid_ex(struct ibv_context *of, uint32_t port_num, uint32_t index,
                        struct ibv_gid_entry *entry, uint32_t flags)
{
    assert(of && port_num == 1 && flags == 0);
    if (index >= 4 || verbs_fake.gids[index].port_num == 0)
        return ENODATA;
    *entry = verbs_fake.gids[index];
    return 0;
}

static int query_pkey(struct ibv_context *of, uint8_t port_num, int index, __be16 *pkey)
{
    assert(of && port_num == 1 && index < 4);
    *pkey = htobe16(verbs_fake.pkeys[index]);
    return 0;
}

static int get_async_event(struct ibv_context *of, struct ibv_async_event *event)
{
    assert(of);
    if (event_head == event_count) {
        uint64_t count;
        ssize_t got = read(of->async_fd, &count, sizeof(count));
        (void)got;
        errno = EAGAIN;
        return -1;
    }
    *event = events[event_head++];
    return 0;
}

static void ack_async_event(struct ibv_async_event *event)
{
    verbs_fake_say("ack_async_event:%d ", (int)event->event_type);
}

/* ------------------------------------------------------------------ memory */

static struct ibv_pd *alloc_pd(struct ibv_context *of)
{
    if (fails("alloc_pd"))
        return NULL;
    struct ibv_pd *pd = make(sizeof(*pd));
    pd->context = of;
    return pd;
}

static int dealloc_pd(struct ibv_pd *pd)
{
    return end("dealloc_pd", pd);
}

static struct ibv_mr *reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
                                  int access)
{
    if (fails("reg_mr_iova"))
        return NULL;
    struct ibv_mr *mr = make(sizeof(*mr));
    *mr = (struct ibv_mr){.pd = pd, .addr = addr, .length = length};
    mr->lkey = mr->rkey = verbs_fake.given_again ? verbs_fake.given_again : ++next_number << 8;
    verbs_fake.given_again = 0;
    verbs_fake_say("iova:%#llx ", (unsigned long long)iova);
    verbs_fake.region = mr;
    verbs_fake.region_access = access;
    return mr;
}

static int dereg_mr(struct ibv_mr *mr)
{
    return end("dereg_mr", mr);
}

static struct ibv_mw *alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
    if (fails("alloc_mw"))
        return NULL;
    assert(type == IBV_MW_TYPE_1);
    struct ibv_mw *mw = make(sizeof(*mw));
    *mw = (struct ibv_mw){.pd = pd, .rkey = ++next_number << 8, .type = type};
    return mw;
}

static int dealloc_mw(struct ibv_mw *mw)
{
    return end("dealloc_mw", mw);
}

static int bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
    assert(qp && bind->bind_info.mr && bind->send_flags == IBV_SEND_SIGNALED);
    verbs_fake_say("bind_mw:%llu ", (unsigned long long)bind->bind_info.length);
    mw->rkey = ibv_inc_rkey(mw->rkey);
    assert(verbs_fake.binding_count < VERBS_FAKE_QUEUE);
    verbs_fake.bindings[verbs_fake.binding_count++] = bind->wr_id;
    if (!verbs_fake.hold_bindings)
        verbs_fake_bound(bind->wr_id, verbs_fake.binding_status);
    return 0;
}

/* ------------------------------------------------------------------ queues */

static struct ibv_comp_channel *create_comp_channel(struct ibv_context *of)
{
    if (fails("create_comp_channel"))
        return NULL;
    channel = make(sizeof(*channel));
    *channel = (struct ibv_comp_channel){.context = of, .fd = eventfd(0, EFD_NONBLOCK)};
    assert(channel->fd >= 0);
    return channel;
}

static int destroy_comp_channel(struct ibv_comp_channel *of)
{
    close(of->fd);
    return end("destroy_comp_channel", of);
}

/* The first one with a channel is the user's; one of 256 places is that of bindings. */
static struct ibv_cq *create_cq(struct ibv_context *of, int depth, void *cq_context,
                                struct ibv_comp_channel *with, int vector)
{
    if (fails("create_cq"))
        return NULL;
    assert(vector == 0 && cq_count < 8);
    struct fake_cq *cq = make(sizeof(*cq));
    cq->cq =
        (struct ibv_cq){.context = of, .channel = with, .cq_context = cq_context, .cqe = depth};
    if (with && depth == 256)
        bind_cq = cq;
    else if (with)
        user_cq = cq;
    cqs[cq_count++] = cq;
    return &cq->cq;
}

static int destroy_cq(struct ibv_cq *cq)
{
    for (size_t i = 0; i < cq_count; i++) {
        if (&cqs[i]->cq == cq)
            cqs[i] = cqs[--cq_count];
    }
    user_cq = user_cq && &user_cq->cq == cq ? NULL : user_cq;
    bind_cq = bind_cq && &bind_cq->cq == cq ? NULL : bind_cq;
    return end("destroy_cq", cq);
}

static int poll_cq(struct ibv_cq *of, int count, struct ibv_wc *wc)
{
    struct fake_cq *cq = (struct fake_cq *)of;
    int given = 0;
    while (given < count && cq->count > 0) {
        wc[given++] = cq->wcs[cq->head++ % VERBS_FAKE_QUEUE];
        cq->count--;
    }
    return given;
}

static int get_cq_event(struct ibv_comp_channel *of, struct ibv_cq **cq, void **cq_context)
{
    uint64_t count;
    for (size_t i = 0; i < cq_count; i++) {
        if (!cqs[i]->rang)
            continue;
        cqs[i]->rang = false;
        *cq = &cqs[i]->cq;
        *cq_context = cqs[i]->cq.cq_context;
        return 0;
    }
    ssize_t got = read(of->fd, &count, sizeof(count));
    (void)got;
    errno = EAGAIN;
    return -1;
}

static void ack_cq_events(struct ibv_cq *cq, unsigned count)
{
    assert(cq);
    verbs_fake_say("ack_cq_events:%u ", count);
}

static void put(struct fake_cq *cq, const struct ibv_wc *wc)
{
    const uint64_t one = 1;
    assert(cq && cq->count < VERBS_FAKE_QUEUE);
    cq->wcs[(cq->head + cq->count++) % VERBS_FAKE_QUEUE] = *wc;
    if (!cq->armed)
        return;
    cq->armed = false;
    cq->rang = true;
    ssize_t written = write(channel->fd, &one, sizeof(one));
    assert(written == sizeof(one));
}

void verbs_fake_complete_wc(const struct ibv_wc *wc)
{
    put(user_cq, wc);
}

void verbs_fake_complete(uint64_t wr_id, enum ibv_wc_status status)
{
    const struct ibv_wc wc = {.wr_id = wr_id, .status = status};
    put(user_cq, &wc);
}

void verbs_fake_bound(uint64_t wr_id, enum ibv_wc_status status)
{
    const struct ibv_wc wc = {.wr_id = wr_id, .status = status};
    put(bind_cq, &wc);
}

static int req_notify_cq(struct ibv_cq *of, int solicited_only)
{
    assert(!solicited_only);
    if (verbs_fake.complete_when_armed)
        verbs_fake_complete(verbs_fake.complete_when_armed, IBV_WC_SUCCESS);
    verbs_fake.complete_when_armed = 0;
    ((struct fake_cq *)of)->armed = true;
    verbs_fake_say("req_notify_cq ");
    return 0;
}

static struct ibv_srq *create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *init)
{
    if (fails("create_srq"))
        return NULL;
    struct ibv_srq *srq = make(sizeof(*srq));
    srq->pd = pd;
    srq->srq_context = init->srq_context;
    return srq;
}

static int destroy_srq(struct ibv_srq *srq)
{
    return end("destroy_srq", srq);
}

static int keep_receive(struct ibv_recv_wr *wr)
{
    verbs_fake_say("post_recv ");
    assert(verbs_fake.received_count < VERBS_FAKE_QUEUE);
    verbs_fake.received[verbs_fake.received_count++] = *wr;
    return 0;
}

static int post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    assert(srq && bad);
    return keep_receive(wr);
}

/* ------------------------------------------------------------------ queue pairs */

static struct ibv_qp *make_qp(struct ibv_pd *pd, void *qp_context)
{
    struct fake_qp *qp = make(sizeof(*qp));
    qp->ex.qp_base.pd = pd;
    qp->ex.qp_base.qp_context = qp_context;
    qp->ex.qp_base.qp_num = ++next_number;
    latest_qp = qp_context ? qp : latest_qp;
    return &qp->ex.qp_base;
}

static struct ibv_qp *create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
    assert(init->qp_type == IBV_QPT_RC);
    return fails("create_qp") ? NULL : make_qp(pd, init->qp_context);
}

static int modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
    static const char *const names[] = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};
    char name[32];
    snprintf(name, sizeof(name), "modify_qp:%s", names[attr->qp_state]);
    assert(mask & IBV_QP_STATE);
    if (fails(name))
        return verbs_fake.fail_errno;
    verbs_fake.modified = *attr;
    verbs_fake.modified_mask = mask;
    if (mask & IBV_QP_STATE && attr->qp_state == IBV_QPS_RTR)
        verbs_fake.rtr = *attr;
    qp->state = attr->qp_state;
    return 0;
}

static int destroy_qp(struct ibv_qp *qp)
{
    latest_qp = latest_qp && &latest_qp->ex.qp_base == qp ? NULL : latest_qp;
    return end("destroy_qp", qp);
}

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    assert(qp && bad && verbs_fake.sent_count < VERBS_FAKE_QUEUE);
    if (fails("post_send"))
        return verbs_fake.fail_errno;
    if (wr->num_sge)
        verbs_fake.sent_sge = wr->sg_list[0];
    verbs_fake.sent[verbs_fake.sent_count++] = *wr;
    return 0;
}

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    assert(qp && bad);
    return keep_receive(wr);
}

static struct ibv_ah *create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
    if (fails("create_ah"))
        return NULL;
    struct ibv_ah *ah = make(sizeof(*ah));
    ah->pd = pd;
    verbs_fake.ah = *attr;
    return ah;
}

static int destroy_ah(struct ibv_ah *ah)
{
    return end("destroy_ah", ah);
}

/* ------------------------------------------------------------------ DC */

static struct ibv_qp_ex *qp_to_qp_ex(struct ibv_qp *qp)
{
    return (struct ibv_qp_ex *)qp;
}

static bool is_mlx5(struct ibv_device *device)
{
    return device && verbs_fake.mlx5;
}

static struct ibv_qp *create_dc(struct ibv_context *of, struct ibv_qp_init_attr_ex *init,
                                struct mlx5dv_qp_init_attr *dv)
{
    bool target = dv->dc_init_attr.dc_type == MLX5DV_DCTYPE_DCT;
    assert(of && init->qp_type == IBV_QPT_DRIVER);
    if (fails(target ? "create_dct" : "create_dci"))
        return NULL;
    verbs_fake.dc_init = *init;
    verbs_fake.dc = *dv;
    struct fake_qp *qp = (struct fake_qp *)make_qp(init->pd, init->qp_context);
    verbs_fake_operations(&qp->ex, &qp->mlx5);
    return &qp->ex.qp_base;
}

static struct mlx5dv_qp_ex *mlx5_of(struct ibv_qp_ex *qp)
{
    return &((struct fake_qp *)qp)->mlx5;
}

/* ------------------------------------------------------------------ the test's side */

void verbs_fake_event(enum ibv_event_type type)
{
    const uint64_t one = 1;
    struct ibv_async_event *event = &events[event_count++];
    assert(event_count <= sizeof(events) / sizeof(*events));
    *event = (struct ibv_async_event){.event_type = type};
    if (type == IBV_EVENT_CQ_ERR)
        event->element.cq = &user_cq->cq;
    else if (type <= IBV_EVENT_PATH_MIG_ERR && latest_qp)
        event->element.qp = &latest_qp->ex.qp_base;
    else
        event->element.port_num = 1;
    ssize_t written = write(context->async_fd, &one, sizeof(one));
    assert(written == sizeof(one));
}

const struct verbs_calls verbs_fake_calls = {
    .fork_init = fork_init,
    .get_device_list = get_device_list,
    .free_device_list = free_device_list,
    .open_device = open_device,
    .close_device = close_device,
    .query_device = query_device,
    .query_port = query_port,
    .query_gid_ex = query_gid_ex,
    .query_pkey = query_pkey,
    .get_async_event = get_async_event,
    .ack_async_event = ack_async_event,
    .alloc_pd = alloc_pd,
    .dealloc_pd = dealloc_pd,
    .reg_mr_iova = reg_mr_iova,
    .dereg_mr = dereg_mr,
    .alloc_mw = alloc_mw,
    .dealloc_mw = dealloc_mw,
    .bind_mw = bind_mw,
    .create_comp_channel = create_comp_channel,
    .destroy_comp_channel = destroy_comp_channel,
    .create_cq = create_cq,
    .destroy_cq = destroy_cq,
    .poll_cq = poll_cq,
    .req_notify_cq = req_notify_cq,
    .get_cq_event = get_cq_event,
    .ack_cq_events = ack_cq_events,
    .create_srq = create_srq,
    .destroy_srq = destroy_srq,
    .post_srq_recv = post_srq_recv,
    .create_qp = create_qp,
    .modify_qp = modify_qp,
    .destroy_qp = destroy_qp,
    .post_send = post_send,
    .post_recv = post_recv,
    .create_ah = create_ah,
    .destroy_ah = destroy_ah,
    .qp_to_qp_ex = qp_to_qp_ex,
    .mlx5dv_is_supported = is_mlx5,
    .mlx5dv_create_qp = create_dc,
    .mlx5dv_qp_ex_from_ibv_qp_ex = mlx5_of,
};

void verbs_fake_reset(void)
{
    verbs_fake = (struct verbs_fake){
        .device = {.node_type = IBV_NODE_CA, .transport_type = IBV_TRANSPORT_IB, .name = "mlx5_0"},
        .present = true,
        .attr = {.fw_ver = "16.35.2000",
                 .node_guid = htobe64(0xec0d9a0300000001),
                 .max_mr_size = UINT64_MAX,
                 .max_qp = 1000,
                 .max_qp_wr = 1024,
                 .max_sge = 16,
                 .max_cqe = 4096,
                 .max_mw = 1000,
                 .max_qp_rd_atom = 16,
                 .max_qp_init_rd_atom = 300,
                 .device_cap_flags = IBV_DEVICE_MEM_WINDOW,
                 .phys_port_cnt = 1},
        .port = {.state = IBV_PORT_ACTIVE,
                 .max_mtu = IBV_MTU_4096,
                 .active_mtu = IBV_MTU_2048,
                 .gid_tbl_len = 4,
                 .pkey_tbl_len = 4,
                 .lid = 5,
                 .sm_lid = 1,
                 .phys_state = 5,
                 .active_width = 2,
                 .active_speed = 32,
                 .link_layer = IBV_LINK_LAYER_INFINIBAND},
        .pkeys = {0xffff, 0, 0x8001, 0x0001},
        .fail_errno = ENOMEM,
    };
    verbs_fake.gids[0] = (struct ibv_gid_entry){.port_num = 1, .gid_type = IBV_GID_TYPE_IB};
    verbs_fake.gids[0].gid.raw[0] = 0xfe;
    verbs_fake.gids[0].gid.raw[1] = 0x80;
    verbs_fake.gids[0].gid.raw[15] = 7;
    event_head = event_count = 0;
    user_cq = bind_cq = NULL;
    latest_qp = NULL;
    next_number = 0;
}
