/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All that a fabric can tell of itself, as one JSON text in a memfd that goes to whoever asked: its
 * adapters with their ports and what programs made on them, its switches, and its links.
 * docs/simfabric.md lists the members.
 */
#define _GNU_SOURCE /* memfd_create */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fabric_sim/hca/state.h"
#include "fabric_sim/simfabric/service.h"
#include "src/fabric/gid.h"
#include "src/fabric/planted.h"
#include "src/fabric/seam.h"

/* One adapter, and both ways to look into it. */
struct view {
    const struct service *service;
    uint32_t place;
    struct hca *hca; /* null while it is removed */
    struct hca_state state;
};

static json_t *hex(uint64_t value, int digits)
{
    return json_sprintf("0x%0*" PRIx64, digits, value);
}

static json_int_t pid_of(const struct service *service, const struct object *object)
{
    assert(object->client && object->client <= service->client_capacity);
    return service->clients[object->client - 1]->program.pid;
}

/* ------------------------------------------------------------------ ports */

static json_t *counters(const struct port_info *info)
{
    const struct fabric_port_counters *c = &info->counters;
    const struct {
        const char *name;
        uint64_t value;
    } all[] = {{"port_xmit_data", c->xmit_data},
               {"port_rcv_data", c->rcv_data},
               {"port_xmit_packets", c->xmit_packets},
               {"port_rcv_packets", c->rcv_packets},
               {"port_xmit_discards", c->xmit_discards},
               {"port_rcv_errors", c->rcv_errors},
               {"port_xmit_wait", c->xmit_wait},
               {"symbol_error", c->symbol_errors},
               {"link_downed", c->link_downed},
               {"bad_pkey", c->bad_pkey},
               {"bad_qkey", c->bad_qkey},
               {"local_ack_timeout_err", c->ack_timeouts},
               {"packet_seq_err", c->seq_errors},
               {"rnr_nak_retry_err", c->rnr_retries}};
    json_t *out = json_object();
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        json_object_set_new(out, all[i].name, json_integer((json_int_t)all[i].value));
    return out;
}

/* What is in the tables, without the holes, by index. */
static json_t *pkeys(const struct port_info *info)
{
    char index[16];
    json_t *out = json_object();
    for (unsigned i = 0; i < info->pkey_count; i++) {
        snprintf(index, sizeof(index), "%u", i);
        if (info->pkeys[i])
            json_object_set_new(out, index, hex(info->pkeys[i], 4));
    }
    return out;
}

static json_t *gids(const struct port_info *info)
{
    static const uint8_t none[16];
    char index[16], text[FABRIC_GID_TEXT];
    json_t *out = json_object();
    for (unsigned i = 0; i < info->gid_count; i++) {
        snprintf(index, sizeof(index), "%u", i);
        if (memcmp(info->gids[i].gid.raw, none, sizeof(none)) == 0)
            continue;
        fabric_gid_format(&info->gids[i].gid, text);
        json_object_set_new(out, index, json_string(text));
    }
    return out;
}

static json_t *port(const struct net_port *of, bool there)
{
    const struct port_info *info = net_port_info(of);
    enum fabric_port_state state = there ? (enum fabric_port_state)info->state : FABRIC_PORT_DOWN;
    json_t *out =
        json_pack("{s:i, s:s, s:s, s:i, s:i, s:i, s:i, s:i, s:b}", "port", (int)net_port_num(of),
                  "state", fabric_port_state_name(state), "link_layer",
                  info->link_layer == FABRIC_LINK_LAYER_ETHERNET ? "Ethernet" : "InfiniBand", "lid",
                  (int)info->lid, "lmc", (int)info->lmc, "sm_lid", (int)info->sm_lid, "active_mtu",
                  (int)fabric_mtu_bytes((enum fabric_mtu)info->active_mtu), "rate_mbps",
                  (int)info->rate_mbps, "grh_required", (int)info->grh_required);
    assert(out);
    json_object_set_new(out, "pkeys", pkeys(info));
    json_object_set_new(out, "gids", gids(info));
    json_object_set_new(out, "counters", counters(info));
    return out;
}

/* ------------------------------------------------------------------ what programs made */

static json_t *queue_pair(const struct view *view, const struct object *object)
{
    static const char *const types[] = {"RC", "UC", "UD", "XRC_INI", "XRC_TGT", "DCI", "DCT"};
    struct hca_qp_info info;
    if (hca_qp_query(view->hca, (hca_qp){object->id}, &info) != FABRIC_OK)
        return NULL;
    bool peer =
        info.attr.state >= FABRIC_QPS_RTR && (info.type == HCA_QP_RC || info.type == HCA_QP_UC);
    assert(info.type <= HCA_QP_DCT);
    json_t *out = json_pack(
        "{s:I, s:s, s:s, s:I, s:i, s:i, s:I, s:I, s:I, s:I}", "qp_num", (json_int_t)info.qp_num,
        "type", types[info.type], "state", fabric_qp_state_name(info.attr.state), "pid",
        pid_of(view->service, object), "port", (int)info.attr.port_num, "pkey_index",
        (int)info.attr.pkey_index, "sq_psn", (json_int_t)info.attr.sq_psn, "rq_psn",
        (json_int_t)info.attr.rq_psn, "sq_outstanding", (json_int_t)info.sq_outstanding,
        "rq_outstanding", (json_int_t)info.rq_outstanding);
    assert(out);
    if (peer)
        json_object_set_new(out, "peer",
                            json_pack("{s:i, s:I, s:i}", "lid", (int)info.attr.av.dlid, "qp_num",
                                      (json_int_t)info.attr.dest_qp_num, "path_mtu",
                                      (int)fabric_mtu_bytes(info.attr.path_mtu)));
    return out;
}

static json_t *completion_queue(const struct view *view, const struct object *object)
{
    const struct cq_state *cq =
        table_find(&view->state.arena, &view->state.device->cqs, object->id);
    if (!cq)
        return NULL;
    return json_pack("{s:I, s:I, s:I, s:b, s:b}", "pid", pid_of(view->service, object), "cqe",
                     (json_int_t)cq->limit, "entries", (json_int_t)(cq->head - cq->tail), "armed",
                     (int)(cq->armed != CQ_NOT_ARMED), "overrun", (int)cq->overrun);
}

static json_t *memory_region(const struct view *view, const struct object *object)
{
    const struct key_state *key =
        table_find(&view->state.arena, &view->state.device->keys, object->id);
    if (!key)
        return NULL;
    return json_pack("{s:I, s:o, s:o, s:I, s:o}", "pid", pid_of(view->service, object), "rkey",
                     hex(key->key, 8), "iova", hex(key->iova, 16), "length",
                     (json_int_t)key->length, "access", hex(key->access, 1));
}

static json_t *made(const struct view *view, enum object_kind kind,
                    json_t *(*tell)(const struct view *view, const struct object *object))
{
    const struct objects *objects = &view->service->objects;
    json_t *out = json_array();
    for (uint32_t i = 0; view->hca && i < objects->used; i++) {
        const struct object *object = objects->at[i];
        if (!object || object->kind != kind ||
            view->service->clients[object->client - 1]->place != view->place + 1)
            continue;
        json_t *one = tell(view, object);
        if (one)
            json_array_append_new(out, one);
    }
    return out;
}

static json_t *programs(const struct view *view)
{
    json_t *out = json_array();
    for (uint32_t i = 0; i < view->service->client_capacity; i++) {
        const struct service_client *client = view->service->clients[i];
        if (!client || (client->place != view->place + 1 && !PLANTED(simfabric_programs_anywhere)))
            continue;
        json_array_append_new(
            out, json_pack("{s:I, s:I, s:b}", "pid", (json_int_t)client->program.pid, "objects",
                           (json_int_t)objects_count(&view->service->objects, client->number),
                           "frozen", (int)client->frozen));
    }
    return out;
}

static json_t *device(const struct service *service, uint32_t place)
{
    const struct sim_device *of = service->places[place].device;
    struct net_node *node = sim_device_node(of);
    struct view view = {.service = service, .place = place, .hca = sim_device_hca(of)};
    json_t *ports = json_array();
    bool there = view.hca && state_open(&view.state, service->places[place].base, SERVICE_ARENA);
    if (!there)
        view.hca = NULL;
    for (uint8_t i = 1; i <= net_node_ports(node); i++)
        json_array_append_new(ports, port(net_node_port(node, i), there));
    json_t *out =
        json_pack("{s:s, s:s, s:o, s:b, s:o, s:o, s:o, s:o, s:o}", "node", sim_device_host(of),
                  "device", sim_device_name(of), "node_guid", hex(net_node_guid(node), 16),
                  "removed", (int)!there, "ports", ports, "programs", programs(&view),
                  "queue_pairs", made(&view, OBJECT_QP, queue_pair), "completion_queues",
                  made(&view, OBJECT_CQ, completion_queue), "memory_regions",
                  made(&view, OBJECT_MR, memory_region));
    if (there)
        state_close(&view.state);
    assert(out);
    return out;
}

/* ------------------------------------------------------------------ switches and links */

static json_t *link_end(const struct net_port *of)
{
    return json_pack("{s:s, s:i, s:s, s:i}", "node", net_node_name(net_port_node(of)), "port",
                     (int)net_port_num(of), "state",
                     fabric_port_state_name((enum fabric_port_state)net_port_info(of)->state),
                     "lid", (int)net_port_info(of)->lid);
}

/* Each link once: from the end that comes first. */
static void add_links(struct net_node *node, json_t *out)
{
    for (unsigned i = 0; i <= net_node_ports(node); i++) {
        struct net_port *of = net_node_port(node, (uint8_t)i);
        const struct net_port *peer = of ? net_port_peer(of) : NULL;
        if (!peer)
            continue;
        size_t mine = net_node_index(node), theirs = net_node_index(net_port_node(peer));
        if (mine > theirs || (mine == theirs && net_port_num(peer) < i))
            continue;
        const struct port_info *info = net_port_info(of);
        json_array_append_new(
            out, json_pack("{s:o, s:o, s:i, s:i}", "a", link_end(of), "b", link_end(peer),
                           "rate_mbps", (int)info->rate_mbps, "active_mtu",
                           (int)fabric_mtu_bytes((enum fabric_mtu)info->active_mtu)));
    }
}

static json_t *describe(const struct service *service)
{
    static const char *const kinds[] = {"hca", "switch", "router", "ethernet_switch"};
    const struct net *net = sim_world_net(sim_testbed_world(service->tb));
    json_t *devices = json_array(), *nodes = json_array(), *links = json_array();
    for (uint32_t i = 0; i < service->place_count; i++)
        json_array_append_new(devices, device(service, i));
    for (size_t i = 0; i < net_node_count(net); i++) {
        struct net_node *node = net_node_at(net, i);
        add_links(node, links);
        json_array_append_new(nodes, json_pack("{s:s, s:s, s:i}", "name", net_node_name(node),
                                               "kind", kinds[net_node_kind(node)], "ports",
                                               (int)net_node_ports(node)));
    }
    return json_pack("{s:i, s:I, s:o, s:o, s:o}", "version", 1, "time_ns",
                     (json_int_t)sim_now(service->sim), "devices", devices, "nodes", nodes, "links",
                     links);
}

/* The whole text or nothing; -1: errno says why. */
static int keep(const char *text)
{
    int fd = memfd_create("simfabric-inspect", MFD_CLOEXEC);
    size_t length = strlen(text), done = 0;
    while (fd >= 0 && done < length) {
        ssize_t wrote = write(fd, text + done, length - done);
        if (wrote < 0) {
            close(fd);
            return -1;
        }
        done += (size_t)wrote;
    }
    return fd;
}

void service_inspect(struct service *service, struct service_answer *out)
{
    assert(service && out->fd_count == 0);
    json_t *all = describe(service);
    char *text = all ? json_dumps(all, JSON_COMPACT) : NULL;
    int fd = text ? keep(text) : -1;
    free(text);
    json_decref(all);
    if (fd < 0)
        out->reply.error = ENOMEM;
    else
        out->fds[out->fd_count++] = fd;
}
