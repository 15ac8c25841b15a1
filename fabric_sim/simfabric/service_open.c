/* SPDX-License-Identifier: Apache-2.0 */
/* Opening a device, and what the message engine of a program has to know of others. */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "fabric_sim/simfabric/service.h"

static uint32_t find_place(const struct service *service, const char *node, const char *device)
{
    for (uint32_t i = 0; i < service->place_count; i++) {
        const struct sim_device *one = service->places[i].device;
        if (strcmp(sim_device_host(one), node) == 0 && strcmp(sim_device_name(one), device) == 0)
            return i + 1;
    }
    return 0;
}

static void lend(struct service_answer *out, int fd)
{
    assert(out->fd_count < PROTOCOL_FDS);
    out->lent[out->fd_count] = true;
    out->fds[out->fd_count++] = fd;
}

void service_open(struct service *service, struct service_client *client,
                  const struct protocol_request *request, struct service_answer *out)
{
    assert(client && request->op == PROTOCOL_OPEN);
    uint32_t place = find_place(service, request->u.open.node, request->u.open.device);
    if (client->place || !place || !sim_device_hca(service->places[place - 1].device)) {
        out->reply.error = client->place ? EBUSY : ENODEV;
        return;
    }
    if (client->socket >= 0 && !program_open(&client->program, client->socket)) {
        out->reply.error = ESRCH;
        return;
    }
    client->place = place;
    out->reply.u.opened.device = place - 1;
    out->reply.u.opened.owner = client->number;
    out->reply.u.opened.shared_size = sizeof(*service->shared);
    out->reply.u.opened.arena_size = SERVICE_ARENA;
    lend(out, service->shared_fd);
    lend(out, service->doorbell);
    lend(out, service->places[place - 1].fd);
}

/* ------------------------------------------------------------------ other programs */

static uint32_t place_of_node(const struct service *service, const struct net_node *node)
{
    for (uint32_t i = 0; i < service->place_count; i++)
        if (sim_device_node(service->places[i].device) == node)
            return i + 1;
    return 0;
}

/* ENOENT where the way is not plain. Who asks may post and poll on the device there from now on, as
 * all programs of a fabric trust each other. */
void service_route(struct service *service, const struct protocol_request *request,
                   struct service_answer *out)
{
    uint32_t device = request->u.route.device;
    struct net_way way;
    assert(request->op == PROTOCOL_ROUTE);
    out->reply.error = ENOENT;
    if (device >= service->place_count)
        return;
    struct net_node *node = sim_device_node(service->places[device].device);
    uint8_t port = (uint8_t)request->u.route.port;
    if (port < 1 || port > net_node_ports(node) ||
        !net_plain_way(net_node_port(node, port), (uint16_t)request->u.route.dlid,
                       (uint8_t)request->u.route.sl, &way))
        return;
    uint32_t place = place_of_node(service, net_port_node(way.to));
    if (!place || !sim_device_hca(service->places[place - 1].device))
        return;
    out->reply.error = 0;
    out->reply.u.route.device = place - 1;
    out->reply.u.route.port = net_port_num(way.to);
    out->reply.u.route.mtu = way.mtu;
    lend(out, service->places[place - 1].fd);
}

void service_owner(struct service *service, const struct protocol_request *request,
                   struct service_answer *out)
{
    uint32_t number = request->u.handle;
    assert(request->op == PROTOCOL_OWNER);
    const struct service_client *client =
        number && number <= service->client_capacity ? service->clients[number - 1] : NULL;
    if (!client || client->program.pidfd < 0) {
        out->reply.error = ESRCH;
        return;
    }
    out->reply.u.owner.pid = (uint32_t)client->program.pid;
    lend(out, client->program.pidfd);
}
