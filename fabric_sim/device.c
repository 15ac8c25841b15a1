/* SPDX-License-Identifier: Apache-2.0 */
/* Devices of hosts: their asynchronous events on the way to the programs, removal and return. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabric_sim/front.h"
#include "src/fabric/planted.h"

#define RETURN_TAKES 1000 /* ns */

static void on_trap(void *context, struct hca *hca, const struct hca_trap *trap)
{
    struct sim_device *device = context;
    struct sim_world *world = device->host->world;
    const struct sma_violation violation = {.trap = trap->number,
                                            .slid = trap->lid1,
                                            .dlid = trap->lid2,
                                            .key = trap->key,
                                            .sl = trap->sl,
                                            .src_qp = trap->qp1,
                                            .dest_qp = trap->qp2};
    if (world->sma)
        sma_key_violation(world->sma, net_node_port(hca_node(hca), trap->port_num), &violation);
}

static void on_asked(void *context, struct hca *hca, uint64_t cq_context)
{
    const struct sim_device *device = context;
    const struct sim_outside *outside = device->host->world->outside;
    assert(device->hca == hca);
    outside->asked(outside->context, device, cq_context);
}

static void make_hca(struct sim_device *device)
{
    assert(!device->hca && !device->removed);
    const struct sim_outside *outside = device->host->world->outside;
    struct hca_notify notify = {device, front_on_completion, front_on_event, NULL};
    if (outside) {
        notify.completion = NULL;
        notify.asked = on_asked;
        device->init.reach = &outside->reach;
        device->init.memory = outside->place(outside->context, device, &device->init.memory_size);
    }
    device->hca = hca_create(device->host->world->net, &device->init);
    if (device->init.reach) /* programs of their own, in real time */
        hca_use_messages(device->hca, true);
    hca_set_notify(device->hca, &notify);
    hca_set_trap_handler(device->hca, on_trap, device);
}

static void describe(struct sim_device *device, const struct sim_device_init *init)
{
    const struct hca_profile *profile = device->init.profile;
    struct sysfs_device *sysfs = &device->sysfs;
    *sysfs = (struct sysfs_device){
        .node_guid = init->node_guid,
        .sys_image_guid = init->sys_image_guid ? init->sys_image_guid : init->node_guid,
        .vendor_id = profile->vendor_id,
        .device_id = profile->vendor_part_id,
        .hw_ver = profile->hw_ver,
        .bus = (uint32_t)device->host->device_count,
        .port_count = init->port_count,
        .ports = calloc(init->port_count, sizeof(*sysfs->ports)),
    };
    assert(sysfs->ports);
    snprintf(sysfs->name, sizeof(sysfs->name), "%s", device->name);
    snprintf(sysfs->fw_ver, sizeof(sysfs->fw_ver), "%s", profile->fw_ver);
    for (uint8_t i = 0; i < init->port_count && init->ports; i++)
        sysfs->ports[i] = init->ports[i];
    for (uint8_t i = 0; i < init->port_count; i++)
        sysfs->ports[i].info = net_port_info(net_node_port(device->node, (uint8_t)(i + 1)));
}

struct sim_device *sim_device_add(struct sim_host *host, const struct sim_device_init *init)
{
    const struct hca_profile *profile = hca_profile_find(init->profile);
    char label[2 * FABRIC_NAME_MAX];
    if (!profile)
        return NULL;
    struct sim_device *device = calloc(1, sizeof(*device));
    struct sim_device **devices =
        realloc(host->devices, (host->device_count + 1) * sizeof(*host->devices));
    assert(device && devices && strlen(init->name) < sizeof(device->name));
    host->devices = devices;
    devices[host->device_count++] = device;
    device->host = host;
    snprintf(device->name, sizeof(device->name), "%s", init->name);
    snprintf(label, sizeof(label), "%s/%s", host->name, init->name);
    struct sim_world *world = host->world;
    device->node = net_add_node(world->net, NET_HCA, label, init->node_guid, init->port_count);
    handles_put(&world->by_node, (uint32_t)net_node_index(device->node) + 1, HANDLE_DEVICE, device);
    device->init = (struct hca_init){.node = device->node,
                                     .name = device->name,
                                     .profile = profile,
                                     .caps = world->caps,
                                     .sys_image_guid = init->sys_image_guid};
    make_hca(device);
    describe(device, init);
    return device;
}

struct sysfs_port *front_interface(const struct sim_host *host, const char *name, size_t length,
                                   struct sim_device **device)
{
    for (size_t i = 0; i < host->device_count; i++) {
        struct sysfs_device *one = &host->devices[i]->sysfs;
        for (uint8_t j = 0; host->devices[i]->hca && j < one->port_count; j++) {
            struct sysfs_port *port = &one->ports[j];
            if (strlen(port->netdev) != length || memcmp(port->netdev, name, length) != 0)
                continue;
            if (device)
                *device = host->devices[i];
            return port;
        }
    }
    return NULL;
}

bool sim_host_set_control(struct sim_host *host, const char *netdev, struct sim_device **device,
                          uint8_t *port_num)
{
    const struct sysfs_port *port = front_interface(host, netdev, strlen(netdev), device);
    if (!port)
        return false;
    assert(strlen(netdev) < sizeof(host->control));
    *port_num = port->info->port_num;
    memcpy(host->control, port->netdev, sizeof(host->control));
    stream_host_set_mtu(host->streams, port->netdev_mtu);
    return true;
}

void sim_device_set_carrier(struct sim_device *device, uint8_t port_num, bool on)
{
    assert(port_num > 0 && port_num <= device->sysfs.port_count);
    device->sysfs.ports[port_num - 1].ipoib_waits = !on;
}

struct sim_device *sim_device_find(const struct sim_host *host, const char *name)
{
    for (size_t i = 0; i < host->device_count; i++) {
        if (strcmp(host->devices[i]->name, name) == 0)
            return host->devices[i];
    }
    return NULL;
}

size_t sim_device_count(const struct sim_host *host)
{
    return host->device_count;
}

struct sim_device *sim_device_at(const struct sim_host *host, size_t index)
{
    assert(index < host->device_count);
    return host->devices[index];
}

const char *sim_device_host(const struct sim_device *device)
{
    return device->host->name;
}

const char *sim_device_name(const struct sim_device *device)
{
    return device->name;
}

struct net_node *sim_device_node(const struct sim_device *device)
{
    return device->node;
}

struct hca *sim_device_hca(const struct sim_device *device)
{
    return device->hca;
}

/* ------------------------------------------------------------------ asynchronous events */

static void hold(struct event_faults *faults, const struct hca_event *event)
{
    if (faults->held_count == faults->held_capacity) {
        faults->held_capacity = faults->held_capacity * 2 + 8;
        faults->held = realloc(faults->held, faults->held_capacity * sizeof(*faults->held));
        assert(faults->held);
    }
    faults->held[faults->held_count++] = *event;
}

static bool spend(uint32_t types, uint32_t *count, uint32_t type)
{
    assert(count);
    if (!(types & type) || *count == 0)
        return false;
    --*count;
    return true;
}

void front_on_event(void *context, struct hca *hca)
{
    struct sim_device *device = context;
    struct event_faults *faults = &device->faults;
    struct sim_world *world = device->host->world;
    struct hca_event event;
    while (hca_event_poll(hca, &event)) {
        uint32_t type = event.kind == HCA_EVENT_ASYNC ? 1u << event.type : 0;
        bool unreliable = type && !(world->caps & FABRIC_CAP_EVENTS_RELIABLE);
        if (spend(faults->lose, &faults->lose_count, type))
            continue;
        if (unreliable && sim_random_below(world->sim, 4) == 0)
            continue;
        bool twice = spend(faults->twice, &faults->twice_count, type);
        for (int i = 0; i <= twice; i++) {
            if (faults->hold & type)
                hold(faults, &event);
            else
                front_deliver(device, &event);
        }
    }
}

/* Gives out held events: those of `types` (0: all of them), the rest stays. */
static void release(struct sim_device *device, uint32_t types)
{
    struct event_faults *faults = &device->faults;
    size_t kept = 0;
    for (size_t i = 0; i < faults->held_count; i++) {
        if (types & 1u << faults->held[i].type)
            front_deliver(device, &faults->held[i]);
        else
            faults->held[kept++] = faults->held[i];
    }
    faults->held_count = kept;
}

void sim_device_hold_events(struct sim_device *device, uint32_t types, bool on)
{
    if (on) {
        device->faults.hold |= types;
        return;
    }
    device->faults.hold &= ~types;
    release(device, types);
}

void sim_device_lose_events(struct sim_device *device, uint32_t types, uint32_t count)
{
    device->faults.lose = types;
    device->faults.lose_count = count;
}

void sim_device_double_events(struct sim_device *device, uint32_t types, uint32_t count)
{
    device->faults.twice = types;
    device->faults.twice_count = count;
}

void sim_device_order_events(struct sim_device *device, const enum fabric_async_type *order,
                             size_t count)
{
    assert(order || count == 0);
    for (size_t i = 0; i < count; i++)
        release(device, 1u << order[i]);
    release(device, UINT32_MAX);
}

void sim_device_clear_event_faults(struct sim_device *device)
{
    device->faults.hold = device->faults.lose_count = device->faults.twice_count = 0;
    release(device, UINT32_MAX);
}

/* ------------------------------------------------------------------ removal, return */

void sim_device_remove(struct sim_device *device)
{
    struct sim *sim = device->host->world->sim;
    if (device->returning) {
        sim_cancel(sim, device->returning);
        device->returning = 0;
    }
    if (!device->hca)
        return;
    SIM_TRACE(sim, device->host->name, "%s removed", device->name);
    hca_remove(device->hca);
    for (struct front_device *opener = device->openers; opener; opener = opener->next_opener)
        front_device_detach(opener);
    device->removed = device->hca;
    device->hca = NULL;
    net_node_set_power(device->node, false);
}

static void on_return(void *object, uint64_t arg)
{
    struct sim_device *device = object;
    struct sim_world *world = device->host->world;
    (void)arg;
    assert(device->removed && !device->hca);
    device->returning = 0;
    hca_destroy(device->removed);
    device->removed = NULL;
    make_hca(device);
    for (uint8_t i = 0; i < device->sysfs.port_count; i++)
        device->sysfs.ports[i].info = net_port_info(net_node_port(device->node, (uint8_t)(i + 1)));
    net_node_set_power(device->node, true);
    SIM_TRACE(world->sim, device->host->name, "%s returned", device->name);
}

/* Not at once: what the device had scheduled for this very moment still runs on its remains. */
void sim_device_return(struct sim_device *device)
{
    if (device->removed && !device->returning)
        device->returning = sim_in(device->host->world->sim, RETURN_TAKES, on_return, device, 0);
}
