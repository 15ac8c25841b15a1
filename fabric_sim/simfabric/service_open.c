/* SPDX-License-Identifier: Apache-2.0 */
/* Opening a device. */
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
    out->reply.u.opened.shared_size = sizeof(*service->shared);
    out->reply.u.opened.arena_size = SERVICE_ARENA;
    lend(out, service->shared_fd);
    lend(out, service->doorbell);
    lend(out, service->places[place - 1].fd);
}
