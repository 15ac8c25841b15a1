/* SPDX-License-Identifier: Apache-2.0 */
/* Finding the link-layer address of a peer: what the neighbour table of a RoCE host does. */
#include <stdlib.h>
#include <string.h>

#include "fabric_sim/front.h"
#include "src/fabric/planted.h"

/* ns: an answer takes a few packets' time; three requests, one a second, go unanswered. */
#define ANSWER_MIN 20000
#define ANSWER_SPREAD 200000
#define SILENCE UINT64_C(3000000000)
#define REMEMBERED UINT64_C(1000000000) /* ns that a success counts */

/* A look-up under way; it has a handle only so that it ends with its device. */
struct front_resolve {
    struct front_object object;
    struct front_device *device;
    struct fabric_av av;
    uint64_t cookie;
    sim_event due;
};

static struct net_port *port_of(const struct front_device *device, const struct fabric_av *av)
{
    assert(av->port_num > 0 && av->port_num <= net_node_ports(device->of->node));
    return net_node_port(device->of->node, av->port_num);
}

bool front_reaches(const struct front_device *device, const struct fabric_av *av)
{
    struct net_port *port = port_of(device, av);
    if (net_port_info(port)->link_layer != FABRIC_LINK_LAYER_ETHERNET || !av->is_global)
        return true;
    return net_port_reaches_gid(port, &av->grh.dgid);
}

static bool same_way(const struct fabric_av *a, const struct fabric_av *b)
{
    return a->port_num == b->port_num && a->grh.sgid_index == b->grh.sgid_index &&
           memcmp(a->grh.dgid.raw, b->grh.dgid.raw, sizeof(a->grh.dgid.raw)) == 0;
}

bool front_knows_way(const struct front_device *device, const struct fabric_av *av)
{
    uint64_t now = sim_now(device->object.f->sim);
    for (size_t i = 0; i < device->way_count; i++) {
        const struct front_way *way = &device->ways[i];
        if (now - way->time <= REMEMBERED && av->is_global && same_way(&way->av, av) &&
            !PLANTED(front_resolve_forgets))
            return true;
    }
    return front_reaches(device, av);
}

static void remember(struct front_device *device, const struct fabric_av *av)
{
    uint64_t now = sim_now(device->object.f->sim);
    size_t old = 0;
    while (old < device->way_count && now - device->ways[old].time > REMEMBERED)
        old++;
    device->way_count -= old;
    if (device->way_count)
        memmove(device->ways, device->ways + old, device->way_count * sizeof(*device->ways));
    if (device->way_count == device->way_capacity) {
        device->way_capacity = device->way_capacity * 2 + 4;
        device->ways = realloc(device->ways, device->way_capacity * sizeof(*device->ways));
        assert(device->ways);
    }
    device->ways[device->way_count++] = (struct front_way){*av, now};
}

static void tell(struct sim_fabric *f, fabric_device device, uint64_t cookie,
                 enum fabric_error error)
{
    const struct fabric_event event = {.type = FABRIC_EVENT_RESOLVED,
                                       .u.resolved = {device, cookie, error}};
    assert(device.id);
    front_push(f, &event);
}

static void finish(struct front_resolve *resolve, enum fabric_error error)
{
    tell(resolve->object.f, (fabric_device){resolve->device->object.id}, resolve->cookie, error);
    front_object_drop(&resolve->object);
}

static void on_due(void *object, uint64_t arg)
{
    struct front_resolve *resolve = object;
    (void)arg;
    bool found = front_reaches(resolve->device, &resolve->av) || PLANTED(front_resolves_anybody);
    resolve->due = 0;
    if (found)
        remember(resolve->device, &resolve->av);
    finish(resolve, found ? FABRIC_OK : ERR_UNREACHABLE);
}

enum fabric_error front_resolve(struct fabric *fabric, fabric_device handle,
                                const struct fabric_av *av, uint64_t cookie)
{
    struct sim_fabric *f = front_of(fabric);
    struct front_device *device = handles_get(&f->handles, handle.id, HANDLE_DEVICE);
    if (!device->hca)
        return ERR_DEVICE_REMOVED;
    if (av->port_num == 0 || av->port_num > net_node_ports(device->of->node))
        return ERR_INVALID_ARGUMENT;
    if (net_port_info(port_of(device, av))->link_layer != FABRIC_LINK_LAYER_ETHERNET) {
        tell(f, handle, cookie, FABRIC_OK);
        return FABRIC_OK;
    }
    struct front_resolve *resolve = calloc(1, sizeof(*resolve));
    assert(resolve);
    resolve->device = device;
    resolve->av = *av;
    resolve->cookie = cookie;
    front_object_add(f, &resolve->object, HANDLE_RESOLVE, &device->things);
    uint64_t wait = ANSWER_MIN + sim_random_below(f->sim, ANSWER_SPREAD);
    if (!front_reaches(device, av))
        wait += SILENCE;
    resolve->due = sim_in(f->sim, wait, on_due, resolve, 0);
    return FABRIC_OK;
}

void front_resolve_end(struct front_object *object)
{
    struct front_resolve *resolve = (struct front_resolve *)object;
    sim_cancel(object->f->sim, resolve->due);
    front_object_drop(object);
}

void front_resolve_detach(struct front_object *object)
{
    struct front_resolve *resolve = (struct front_resolve *)object;
    sim_cancel(object->f->sim, resolve->due);
    finish(resolve, ERR_DEVICE_REMOVED);
}
