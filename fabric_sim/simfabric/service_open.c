/* SPDX-License-Identifier: Apache-2.0 */
/* Opening a device, and what `simfabric status` asks for. */
#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabric_sim/simfabric/service.h"
#include "src/fabric/planted.h"

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

/* ------------------------------------------------------------------ status */

struct text {
    char *bytes;
    size_t length, capacity;
};

__attribute__((format(printf, 2, 3))) static void add(struct text *text, const char *format, ...)
{
    va_list values;
    if (text->capacity - text->length < 256) {
        text->capacity = text->capacity * 2 + 1024;
        text->bytes = realloc(text->bytes, text->capacity);
        assert(text->bytes);
    }
    va_start(values, format);
    int length =
        vsnprintf(text->bytes + text->length, text->capacity - text->length, format, values);
    va_end(values);
    assert(length >= 0 && (size_t)length < text->capacity - text->length);
    text->length += (size_t)length;
}

static void describe_place(const struct service *service, uint32_t place, struct text *text)
{
    static const char *const states[] = {"NOP", "DOWN", "INIT", "ARMED", "ACTIVE"};
    const struct sim_device *device = service->places[place].device;
    const struct hca *hca = sim_device_hca(device);
    unsigned opened = 0, objects = 0;
    for (uint32_t i = 0; i < service->client_capacity; i++) {
        const struct service_client *client = service->clients[i];
        if (!client || client->place != place + 1)
            continue;
        opened++;
        objects += objects_count(&service->objects, client->number);
    }
    for (uint8_t port = 1; port <= net_node_ports(sim_device_node(device)); port++) {
        struct fabric_port_attr attr = {.state = FABRIC_PORT_DOWN};
        bool there = hca && hca_port_query(hca, port, &attr) == FABRIC_OK;
        assert(attr.state <= FABRIC_PORT_ACTIVE);
        add(text, "%-12.32s %.32s/%u %-7s lid %u opened %u objects %u\n", sim_device_host(device),
            sim_device_name(device), port, there ? states[attr.state] : "removed", attr.lid, opened,
            objects);
    }
}

void service_status(struct service *service, const struct protocol_request *request,
                    struct service_answer *out)
{
    struct text text = {0};
    size_t from = (size_t)request->u.page * (PROTOCOL_TEXT - 1);
    for (uint32_t i = 0; i < service->place_count; i++)
        describe_place(service, i, &text);
    size_t rest = text.length > from ? text.length - from : 0;
    size_t part = rest < PROTOCOL_TEXT - 1 ? rest : PROTOCOL_TEXT - 1;
    if (part > 0)
        memcpy(out->reply.u.status.text, text.bytes + from, part);
    out->reply.u.status.length = (uint32_t)part;
    out->reply.u.status.more = rest > part;
    free(text.bytes);
}
