/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Front 1: the contract of src/fabric/fabric.h in virtual time. A world holds the simulated
 * networks and hosts; each host gives out fabrics, one for each program (or lane) that runs on it.
 *
 * Virtual time passes between calls: fabric_poll never waits. Whoever runs the world (a testbed, a
 * test) steps its sim and is told through struct sim_fabric_hooks when a fabric has something.
 */
#ifndef FABRIC_SIM_FABRIC_H
#define FABRIC_SIM_FABRIC_H

#include "fabric_sim/hca/hca.h"
#include "fabric_sim/world/disk.h"
#include "fabric_sim/world/sma.h"
#include "fabric_sim/world/stream.h"
#include "fabric_sim/world/sysfs.h"

struct sim_world;
struct sim_host;

/* ---- building. Names are copied and unique; everything lives as long as the world. */

/* An empty world. `caps` masks what the fabric can do: all ones is everything that it has. */
struct sim_world *sim_world_create(uint64_t seed, fabric_caps caps);
void sim_world_destroy(struct sim_world *world); /* every fabric must be destroyed */
struct sim *sim_world_sim(const struct sim_world *world);
struct net *sim_world_net(const struct sim_world *world);
struct stream_net *sim_world_streams(const struct sim_world *world);
fabric_caps sim_world_caps(const struct sim_world *world);
/* The agents of every node; made by the first call, so after the nodes were added. */
struct sma *sim_world_sma(struct sim_world *world);

struct sim_host_init {
    const char *name;
    uint32_t address;   /* IPv4 in host order; 0: the next free one */
    uint64_t disk_size; /* 0: the default */
};
struct sim_host *sim_host_add(struct sim_world *world, const struct sim_host_init *init);
struct sim_host *sim_host_find(const struct sim_world *world, const char *name); /* null: none */
size_t sim_host_count(const struct sim_world *world);
struct sim_host *sim_host_at(const struct sim_world *world, size_t index);
const char *sim_host_name(const struct sim_host *host);
struct stream_host *sim_host_streams(const struct sim_host *host);
struct disk *sim_host_disk(const struct sim_host *host);

/* A device of the host; the node of the net is made for it, named "HOST/DEVICE", with
 * `port_count` ports that the caller connects. Null: no such profile. */
struct sim_device_init {
    const char *name, *profile;
    uint64_t node_guid, sys_image_guid;
    const struct sysfs_port *ports; /* netdev, its MTU and IPoIB mode; info is filled in */
    uint8_t port_count;
};
struct sim_device;
struct sim_device *sim_device_add(struct sim_host *host, const struct sim_device_init *init);
/* The host's address lives on the interface `netdev` of one of its ports: its streams name it, and
 * have its MTU. False when there is no such interface. */
bool sim_host_set_control(struct sim_host *host, const char *netdev, struct sim_device **device,
                          uint8_t *port_num);
/* Whether the IPoIB interface of the port is in its broadcast group; true at first. */
void sim_device_set_carrier(struct sim_device *device, uint8_t port_num, bool on);
struct sim_device *sim_device_find(const struct sim_host *host, const char *name);
size_t sim_device_count(const struct sim_host *host);
struct sim_device *sim_device_at(const struct sim_host *host, size_t index);
const char *sim_device_name(const struct sim_device *device);
struct net_node *sim_device_node(const struct sim_device *device);
struct hca *sim_device_hca(const struct sim_device *device); /* null while it is removed */

/* What /sys shows of a host; the devices in the view are the caller's to free. */
struct sysfs_device *sim_host_sysfs(const struct sim_host *host, struct sysfs_view *view);

/* Programs outside this process that work the devices of a world through shared memory. There are
 * no fabrics then. */
struct sim_outside {
    void *context;
    /* Where the state of a device lies, as hca_init.memory: asked when it is made, and again when
     * it returns. */
    void *(*place)(void *context, const struct sim_device *device, size_t *size);
    struct hca_reach reach;
    /* As hca_notify.asked; and an asynchronous event on its way to the programs. */
    void (*asked)(void *context, const struct sim_device *device, uint64_t cq_context);
    void (*event)(void *context, const struct sim_device *device, const struct hca_event *event);
};
/* Before the first device; `outside` stays there as long as the world. */
void sim_world_set_outside(struct sim_world *world, const struct sim_outside *outside);
const char *sim_device_host(const struct sim_device *device);

/* ---- fabrics */

struct sim_fabric_hooks {
    void *context;
    /* The fabric's queue of events is no longer empty; called by an event of its own, soon after,
     * and again after each poll that left something. May be null. */
    void (*ready)(void *context, struct fabric *f);
    void (*log)(void *context, enum fabric_log_level level, const char *line); /* may be null */
};

/* A fabric on `host`; `caps` masks the world's once more. Aborts when memory is out. Ended by
 * fabric_destroy: as the operating system clears up after a program, streams are closed or reset
 * as the seed draws, queue pairs vanish. */
struct fabric *sim_fabric_create(struct sim_host *host, fabric_caps caps,
                                 const struct sim_fabric_hooks *hooks);
bool sim_fabric_has_events(const struct fabric *f);
/* The program was killed: the operating system clears up at once, nothing more is reported. From
 * then on every call that can fail fails and the others do nothing, so that what is left of the
 * program can be released as usual. Its memory must still be there. */
void sim_fabric_kill(struct fabric *f);

/* Who waits for the answer to an HTTP request; it is told once, with null when the program ended
 * instead. The answer lives during the call only. */
struct sim_http_client {
    void *context;
    void (*answered)(void *context, const struct fabric_http_answer *answer);
};

/* An operator's request to an HTTP end point of `f`, which is no layer over one: the one bound to
 * `address`, null for the latest. False when there is none; nobody is told then. */
bool sim_fabric_http_ask(struct fabric *f, const char *address, const char *method,
                         const char *path, const struct sim_http_client *client);

/* ---- faults */

/* The device vanishes, also from the list of devices, and returns as after a power cycle. */
void sim_device_remove(struct sim_device *device);
void sim_device_return(struct sim_device *device);

/* What happens to asynchronous events on their way to the programs; `types` is a set of
 * 1 << enum fabric_async_type. */
void sim_device_hold_events(struct sim_device *device, uint32_t types, bool on);
void sim_device_lose_events(struct sim_device *device, uint32_t types, uint32_t count);
void sim_device_double_events(struct sim_device *device, uint32_t types, uint32_t count);
/* Held events are given out in this order, then the rest as they came; the types stay held. */
void sim_device_order_events(struct sim_device *device, const enum fabric_async_type *order,
                             size_t count);
void sim_device_clear_event_faults(struct sim_device *device); /* lets the held ones go */

/* The host's wall clock jumps by `offset` ns, either way. */
void sim_host_jump_clock(struct sim_host *host, int64_t offset);

#endif
