/* SPDX-License-Identifier: Apache-2.0 */
/* The world and its hosts. */
#include <stdlib.h>
#include <string.h>

#include "fabric_sim/front.h"

/* What this fabric never is: queue pairs that are idle notice nothing, and there are no VLANs. */
#define NEVER (FABRIC_CAP_PEER_DEATH_NOTICED | FABRIC_CAP_VLAN)
/* What a device is or is not. */
#define OF_DEVICES                                                                                 \
    (FABRIC_CAP_DC | FABRIC_CAP_RC | FABRIC_CAP_RD_ATOMIC | FABRIC_CAP_SM_CHANGE_EVENT |           \
     FABRIC_CAP_GID_CACHE_STALE | FABRIC_CAP_RTR_MTU_CHECKED | FABRIC_CAP_SLID_CHECK |             \
     FABRIC_CAP_ACK_TIMEOUT_FLOOR)

struct sim_world *sim_world_create(uint64_t seed, fabric_caps caps)
{
    struct sim_world *world = calloc(1, sizeof(*world));
    assert(world);
    world->sim = sim_create(seed);
    world->net = net_create(world->sim);
    world->streams = stream_net_create(world->sim);
    world->caps = caps & ~NEVER;
    return world;
}

static void device_free(struct sim_device *device)
{
    assert(!device->openers);
    if (device->hca)
        hca_destroy(device->hca);
    if (device->removed)
        hca_destroy(device->removed);
    handles_free(&device->cqs);
    free(device->faults.held);
    free(device->sysfs.ports);
    free(device);
}

void sim_world_destroy(struct sim_world *world)
{
    for (size_t i = 0; i < world->host_count; i++) {
        struct sim_host *host = world->hosts[i];
        assert(!host->fabrics);
        for (size_t j = 0; j < host->device_count; j++)
            device_free(host->devices[j]);
        disk_destroy(host->disk);
        free(host->devices);
        free(host);
    }
    stream_net_destroy(world->streams);
    if (world->sma)
        sma_destroy(world->sma);
    net_destroy(world->net);
    sim_destroy(world->sim);
    handles_free(&world->by_node);
    free(world->hosts);
    free(world);
}

void sim_world_set_outside(struct sim_world *world, const struct sim_outside *outside)
{
    assert(world && outside && outside->place);
    world->outside = outside;
}

struct sim *sim_world_sim(const struct sim_world *world)
{
    return world->sim;
}

struct net *sim_world_net(const struct sim_world *world)
{
    return world->net;
}

struct stream_net *sim_world_streams(const struct sim_world *world)
{
    return world->streams;
}

fabric_caps sim_world_caps(const struct sim_world *world)
{
    return world->caps;
}

struct sma *sim_world_sma(struct sim_world *world)
{
    if (!world->sma)
        world->sma = sma_create(world->net);
    return world->sma;
}

struct sim_host *sim_host_add(struct sim_world *world, const struct sim_host_init *init)
{
    struct sim_host *host = calloc(1, sizeof(*host));
    struct sim_host **hosts =
        realloc(world->hosts, (world->host_count + 1) * sizeof(*world->hosts));
    assert(host && hosts && strlen(init->name) < sizeof(host->name));
    world->hosts = hosts;
    hosts[world->host_count++] = host;
    host->world = world;
    memcpy(host->name, init->name, strlen(init->name) + 1);
    host->streams = stream_host_add(world->streams, init->name, init->address);
    const struct disk_config config = {
        .size = init->disk_size, .keeps_order = (world->caps & FABRIC_CAP_STORAGE_ORDER) != 0};
    host->disk = disk_create(world->sim, &config);
    return host;
}

struct sim_host *sim_host_find(const struct sim_world *world, const char *name)
{
    for (size_t i = 0; i < world->host_count; i++) {
        if (strcmp(world->hosts[i]->name, name) == 0)
            return world->hosts[i];
    }
    return NULL;
}

size_t sim_host_count(const struct sim_world *world)
{
    return world->host_count;
}

struct sim_host *sim_host_at(const struct sim_world *world, size_t index)
{
    assert(index < world->host_count);
    return world->hosts[index];
}

const char *sim_host_name(const struct sim_host *host)
{
    return host->name;
}

struct stream_host *sim_host_streams(const struct sim_host *host)
{
    return host->streams;
}

struct disk *sim_host_disk(const struct sim_host *host)
{
    return host->disk;
}

void sim_host_jump_clock(struct sim_host *host, int64_t offset)
{
    assert(host);
    host->clock_offset += offset;
}

fabric_caps sim_host_caps(const struct sim_host *host, fabric_caps mask)
{
    fabric_caps devices = 0, ordered = host->device_count ? FABRIC_CAP_WRITE_ORDER : 0;
    for (size_t i = 0; i < host->device_count; i++) {
        fabric_caps caps = host->devices[i]->init.profile->caps;
        devices |= caps & OF_DEVICES;
        ordered &= caps; /* a promise: only if all of them give it */
    }
    fabric_caps own = host->world->caps & ~(OF_DEVICES | FABRIC_CAP_WRITE_ORDER);
    return (own | ((devices | ordered) & host->world->caps)) & mask;
}

struct sim_fabric *sim_host_fabric(const struct sim_host *host, uint32_t serial)
{
    assert(serial <= host->last_serial);
    struct sim_fabric *f = host->fabrics;
    while (f && f->serial != serial)
        f = f->next;
    return f;
}
