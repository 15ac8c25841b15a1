/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/hca_world.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct hca_host *host_of(struct hca_world *w, const struct hca *hca)
{
    for (int i = 0; i < HCA_WORLD_HOSTS; i++)
        if (w->host[i].hca == hca)
            return &w->host[i];
    assert(0 && "a device of this world");
    return NULL;
}

static void on_completion(void *context, struct hca *hca, hca_cq cq, bool solicited)
{
    struct hca_host *host = host_of(context, hca);
    (void)solicited;
    assert(host->wc_count < HCA_WORLD_WCS);
    host->wc_count += hca_cq_poll(hca, cq, &host->wcs[host->wc_count], 1);
}

static void on_event(void *context, struct hca *hca)
{
    struct hca_host *host = host_of(context, hca);
    while (hca_event_poll(hca, &host->events[host->event_count]))
        if (host->event_count + 1 < HCA_WORLD_EVENTS)
            host->event_count++;
}

static void on_trap(void *context, struct hca *hca, const struct hca_trap *trap)
{
    struct hca_host *host = host_of(context, hca);
    if (host->trap_count < HCA_WORLD_EVENTS)
        host->traps[host->trap_count++] = *trap;
}

static void configure(struct net_port *port, uint16_t lid)
{
    struct port_info before = *net_port_info(port);
    struct port_info *info = net_port_info(port);
    info->lid = lid;
    info->sm_lid = 1;
    info->oper_vls = 1;
    memset(info->sl_to_vl, 0, sizeof(info->sl_to_vl));
    info->pkeys[0] = 0xffff;
    info->active_mtu = FABRIC_MTU_4096;
    info->guid = 0x100 + lid;
    info->gid_prefix = 0xfe80000000000000;
    info->gids[0].gid = (union fabric_gid){{0xfe, 0x80, [14] = 1, [15] = (uint8_t)lid}};
    info->state = FABRIC_PORT_ACTIVE;
    net_port_changed(port, &before);
}

static void add_host(struct hca_world *w, int i, const struct hca_world_init *init)
{
    struct hca_host *host = &w->host[i];
    char name[16];
    snprintf(name, sizeof(name), "n%d", i);
    host->node = net_add_node(w->net, NET_HCA, name, 0x1000 + (uint64_t)i, 1);
    struct net_port *port = net_node_port(host->node, 1);
    struct net_port *sw_port = net_node_port(w->sw, (uint8_t)(i + 1));
    struct port_info *info = net_port_info(port);
    info->mtu_cap = net_port_info(sw_port)->mtu_cap = FABRIC_MTU_4096;
    info->vl_cap = net_port_info(sw_port)->vl_cap = 8;
    const char *profile = init->profile ? init->profile : "mlx5";
    struct hca_init device = {.node = host->node,
                              .name = "mlx5_0",
                              .profile = hca_profile_find(profile),
                              .caps = ~init->without,
                              .discard_payload = init->discard_payload,
                              .memory = init->arena[i],
                              .memory_size = init->arena_size,
                              .reach = init->reach};
    assert(device.profile);
    host->hca = hca_create(w->net, &device);
    net_connect(port, sw_port, NULL);
    configure(port, (uint16_t)(10 + i));
    if (!w->ethernet) {
        configure(sw_port, 0);
        net_lft_set(w->sw, (uint16_t)(10 + i), (uint8_t)(i + 1));
    }
    struct hca_notify notify = {.context = w, .completion = on_completion, .event = on_event};
    hca_set_notify(host->hca, &notify);
    hca_set_trap_handler(host->hca, on_trap, w);
}

static void add_objects(struct hca_host *host)
{
    host->memory = aligned_alloc(4096, HCA_WORLD_MEMORY);
    assert(host->memory);
    memset(host->memory, 0, HCA_WORLD_MEMORY);
    uint32_t all = HCA_ACCESS_LOCAL_WRITE | HCA_ACCESS_REMOTE_WRITE | HCA_ACCESS_REMOTE_READ |
                   HCA_ACCESS_REMOTE_ATOMIC;
    enum fabric_error error = hca_pd_alloc(host->hca, &host->pd);
    assert(!error);
    error = hca_cq_create(host->hca, HCA_WORLD_WCS, 0, &host->cq);
    assert(!error);
    error = hca_mr_register(host->hca, host->pd, host->memory, HCA_WORLD_MEMORY, HCA_WORLD_IOVA,
                            all, 0, &host->mr, &host->key);
    assert(!error);
    struct hca_event before; /* of setting up the port */
    while (hca_event_poll(host->hca, &before))
        continue;
}

struct hca_world *hca_world_create(const struct hca_world_init *init)
{
    struct hca_world *w = calloc(1, sizeof(*w));
    assert(w && init);
    const char *profile = init->profile ? init->profile : "mlx5";
    w->ethernet = strcmp(profile, "rxe") == 0;
    w->sim = sim_create(init->seed);
    w->net = net_create(w->sim);
    w->sw = net_add_node(w->net, w->ethernet ? NET_ETHERNET_SWITCH : NET_SWITCH, "sw", 1,
                         HCA_WORLD_HOSTS);
    for (int i = 0; i < HCA_WORLD_HOSTS; i++)
        add_host(w, i, init);
    for (int i = 0; i < HCA_WORLD_HOSTS; i++)
        add_objects(&w->host[i]);
    return w;
}

void hca_world_destroy(struct hca_world *w)
{
    for (int i = 0; i < HCA_WORLD_HOSTS; i++) {
        hca_destroy(w->host[i].hca);
        free(w->host[i].memory);
    }
    net_destroy(w->net);
    sim_destroy(w->sim);
    free(w);
}

void hca_world_run(struct hca_world *w, uint64_t ns)
{
    sim_run_until(w->sim, sim_now(w->sim) + ns);
}

bool hca_world_wait(struct hca_world *w, int host, size_t count, uint64_t ns)
{
    uint64_t end = sim_now(w->sim) + ns;
    while (w->host[host].wc_count < count && sim_next_time(w->sim) <= end)
        sim_step(w->sim);
    return w->host[host].wc_count >= count;
}

struct port_info *hca_world_port(struct hca_world *w, int host)
{
    return net_port_info(net_node_port(w->host[host].node, 1));
}

void hca_world_set_lid(struct hca_world *w, int host, uint16_t lid)
{
    struct net_port *port = net_node_port(w->host[host].node, 1);
    struct port_info before = *net_port_info(port);
    net_lft_set(w->sw, before.lid, NET_PORT_NONE);
    net_lft_set(w->sw, lid, (uint8_t)(host + 1));
    net_port_info(port)->lid = lid;
    net_port_changed(port, &before);
}

void hca_world_set_pkey(struct hca_world *w, int host, uint16_t index, uint16_t pkey)
{
    struct net_port *port = net_node_port(w->host[host].node, 1);
    struct port_info before = *net_port_info(port);
    net_port_info(port)->pkeys[index] = pkey;
    net_port_changed(port, &before);
}

void hca_world_set_state(struct hca_world *w, int host, enum fabric_port_state state)
{
    struct net_port *port = net_node_port(w->host[host].node, 1);
    struct port_info before = *net_port_info(port);
    net_port_info(port)->state = (uint8_t)state;
    net_port_changed(port, &before);
}

void hca_world_loss(struct hca_world *w, int host, uint32_t ppm)
{
    net_link_set_loss(net_node_port(w->host[host].node, 1), ppm);
}

struct hca_qp_attr hca_world_attr(struct hca_world *w, int from, int to)
{
    struct hca_qp_attr attr = {.port_num = 1,
                               .access = HCA_ACCESS_LOCAL_WRITE | HCA_ACCESS_REMOTE_WRITE |
                                         HCA_ACCESS_REMOTE_READ | HCA_ACCESS_REMOTE_ATOMIC,
                               .qkey = 0x11111111,
                               .path_mtu = FABRIC_MTU_1024,
                               .av = {.dlid = (uint16_t)(10 + to), .port_num = 1},
                               .rq_psn = 0x100u * (uint32_t)(to + 1),
                               .sq_psn = 0x100u * (uint32_t)(from + 1),
                               .max_rd_atomic = 4,
                               .max_dest_rd_atomic = 4,
                               .min_rnr_timer = 12,
                               .timeout = 10,
                               .retry_cnt = 7,
                               .rnr_retry = 7};
    if (w->ethernet) {
        attr.av.is_global = true;
        attr.av.grh.dgid = hca_world_port(w, to)->gids[0].gid;
        attr.av.grh.hop_limit = 64;
        attr.av.dlid = 0;
    }
    return attr;
}

hca_qp hca_world_qp(struct hca_world *w, int host, enum hca_qp_type type)
{
    struct hca_host *h = &w->host[host];
    struct hca_qp_init init = {.type = type,
                               .pd = h->pd,
                               .send_cq = h->cq,
                               .recv_cq = h->cq,
                               .max_send_wr = 256,
                               .max_recv_wr = 256,
                               .max_send_sge = 4,
                               .max_recv_sge = 4,
                               .max_inline = 64};
    hca_qp qp;
    enum fabric_error error = hca_qp_create(h->hca, &init, &qp);
    assert(!error);
    return qp;
}

static enum fabric_error move(struct hca_world *w, int host, hca_qp qp, enum hca_qp_type type,
                              struct hca_qp_attr attr, enum fabric_qp_state from,
                              enum fabric_qp_state to)
{
    attr.state = to;
    return hca_qp_modify(w->host[host].hca, qp, &attr, hca_qp_required_mask(type, from, to));
}

enum fabric_error hca_world_init_qp(struct hca_world *w, int host, hca_qp qp,
                                    const struct hca_qp_attr *attr)
{
    return move(w, host, qp, HCA_QP_RC, *attr, FABRIC_QPS_RESET, FABRIC_QPS_INIT);
}

enum fabric_error hca_world_bring_up(struct hca_world *w, int host, hca_qp qp,
                                     enum hca_qp_type type, const struct hca_qp_attr *attr)
{
    enum fabric_error error = move(w, host, qp, type, *attr, FABRIC_QPS_RESET, FABRIC_QPS_INIT);
    if (!error)
        error = move(w, host, qp, type, *attr, FABRIC_QPS_INIT, FABRIC_QPS_RTR);
    if (!error && type != HCA_QP_DCT)
        error = move(w, host, qp, type, *attr, FABRIC_QPS_RTR, FABRIC_QPS_RTS);
    return error;
}

uint32_t hca_world_number(struct hca_world *w, int host, hca_qp qp)
{
    struct hca_qp_info info;
    enum fabric_error error = hca_qp_query(w->host[host].hca, qp, &info);
    assert(!error);
    return info.qp_num;
}

void hca_world_connect(struct hca_world *w, struct hca_qp_attr *a, struct hca_qp_attr *b,
                       hca_qp qps[2])
{
    qps[0] = hca_world_qp(w, 0, HCA_QP_RC);
    qps[1] = hca_world_qp(w, 1, HCA_QP_RC);
    a->dest_qp_num = hca_world_number(w, 1, qps[1]);
    b->dest_qp_num = hca_world_number(w, 0, qps[0]);
    enum fabric_error error = hca_world_bring_up(w, 0, qps[0], HCA_QP_RC, a);
    assert(!error);
    error = hca_world_bring_up(w, 1, qps[1], HCA_QP_RC, b);
    assert(!error);
}

struct hca_send_wr hca_world_wr(enum hca_wr_opcode opcode, struct hca_sge *sge)
{
    return (struct hca_send_wr){
        .opcode = opcode, .flags = HCA_SEND_SIGNALED, .sges = sge, .sge_count = 1};
}

struct hca_sge hca_world_sge(struct hca_world *w, int host, uint32_t offset, uint32_t length)
{
    assert(offset + length <= HCA_WORLD_MEMORY);
    return (struct hca_sge){HCA_WORLD_IOVA + offset, length, w->host[host].key};
}

/* One-sided operations of host 0 go to host 1 and the other way round, to the same offset. */
enum fabric_error hca_world_send(struct hca_world *w, int host, hca_qp qp,
                                 enum hca_wr_opcode opcode, uint32_t offset, uint32_t length,
                                 uint64_t wr_id)
{
    struct hca_sge sge = hca_world_sge(w, host, offset, length);
    struct hca_send_wr wr = hca_world_wr(opcode, &sge);
    wr.wr_id = wr_id;
    wr.remote_addr = HCA_WORLD_IOVA + offset;
    wr.rkey = w->host[1 - host].key;
    wr.imm = 0x1234;
    wr.compare_add = 1;
    wr.swap = 2;
    return hca_post_send(w->host[host].hca, qp, &wr);
}

enum fabric_error hca_world_recv(struct hca_world *w, int host, hca_qp qp, uint32_t offset,
                                 uint32_t length, uint64_t wr_id)
{
    struct hca_sge sge = hca_world_sge(w, host, offset, length);
    struct hca_recv_wr wr = {.wr_id = wr_id, .sges = &sge, .sge_count = 1};
    return hca_post_recv(w->host[host].hca, qp, &wr);
}

void hca_world_fill(struct hca_world *w, int host, uint32_t offset, uint32_t length,
                    uint8_t pattern)
{
    for (uint32_t i = 0; i < length; i++)
        w->host[host].memory[offset + i] = (uint8_t)(pattern + i * 7 + (i >> 8));
}

bool hca_world_same(struct hca_world *w, int a, uint32_t a_offset, int b, uint32_t b_offset,
                    uint32_t length)
{
    return memcmp(w->host[a].memory + a_offset, w->host[b].memory + b_offset, length) == 0;
}

size_t hca_world_events(const struct hca_world *w, int host, enum fabric_async_type type)
{
    size_t count = 0;
    for (size_t i = 0; i < w->host[host].event_count; i++)
        count +=
            w->host[host].events[i].kind == HCA_EVENT_ASYNC && w->host[host].events[i].type == type;
    return count;
}

enum fabric_qp_state hca_world_qp_state(struct hca_world *w, int host, hca_qp qp)
{
    struct hca_qp_info info;
    enum fabric_error error = hca_qp_query(w->host[host].hca, qp, &info);
    assert(!error);
    return info.attr.state;
}

struct hca_pair hca_pair_make(const char *profile, fabric_caps without, uint64_t seed)
{
    struct hca_world_init init = {.profile = profile, .without = without, .seed = seed};
    struct hca_pair p = {.w = hca_world_create(&init)};
    p.a = hca_world_attr(p.w, 0, 1);
    p.b = hca_world_attr(p.w, 1, 0);
    return p;
}

void hca_pair_connect(struct hca_pair *p)
{
    hca_world_connect(p->w, &p->a, &p->b, p->qp);
}

struct hca_pair hca_pair_connected(const char *profile)
{
    struct hca_pair p = hca_pair_make(profile, 0, 1);
    hca_pair_connect(&p);
    return p;
}

int hca_pair_status(struct hca_pair *p, enum hca_wr_opcode opcode, uint32_t length, uint64_t ns)
{
    size_t before = p->w->host[0].wc_count;
    enum fabric_error error = hca_world_send(p->w, 0, p->qp[0], opcode, 0, length, 1);
    assert(!error);
    if (!hca_world_wait(p->w, 0, before + 1, ns))
        return -1;
    return p->w->host[0].wcs[before].status;
}
