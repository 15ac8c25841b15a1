/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* memfd_create */
#include "fabric_sim/simfabric/service_call.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "src/fabric/planted.h"

#define BATCH 4096 /* events under one lock: a millisecond or two */

/* ------------------------------------------------------------------ shared memory */

/* Memory of `size` zero bytes that other processes can map; null: *fd is -1 then. */
static void *share(const char *name, uint64_t size, int *fd)
{
    *fd = memfd_create(name, MFD_CLOEXEC);
    if (*fd < 0)
        return NULL;
    void *base = MAP_FAILED;
    if (ftruncate(*fd, (off_t)size) == 0)
        base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
    if (base != MAP_FAILED)
        return base;
    close(*fd);
    *fd = -1;
    return NULL;
}

static struct service_place *place_of(struct service *service, const struct sim_device *device)
{
    for (uint32_t i = 0; i < service->place_count; i++) {
        if (service->places[i].device == device)
            return &service->places[i];
    }
    return NULL;
}

/* A device that returns begins with an empty arena, at the same place. */
static void *on_place(void *context, const struct sim_device *device, size_t *size)
{
    assert(device && size);
    struct service *service = context;
    struct service_place *known = place_of(service, device);
    *size = SERVICE_ARENA;
    if (known) {
        int error = madvise(known->base, SERVICE_ARENA, MADV_REMOVE);
        assert(error == 0);
        (void)error;
        service->shared->epoch++;
        return known->base;
    }
    struct service_place place = {.device = device};
    place.base = share("simfabric-arena", SERVICE_ARENA, &place.fd);
    if (!place.base) { /* the device then lives in memory of its own: nobody gets to see it */
        service->failed = true;
        return NULL;
    }
    service->places =
        realloc(service->places, (service->place_count + 1) * sizeof(*service->places));
    assert(service->places);
    service->places[service->place_count++] = place;
    return place.base;
}

/* ------------------------------------------------------------------ programs */

static const struct program *owner_of(const struct service *service, uint32_t owner)
{
    struct service_client *client =
        owner && owner <= service->client_capacity ? service->clients[owner - 1] : NULL;
    return client ? &client->program : NULL;
}

static bool on_read(void *context, uint32_t owner, uint64_t from, void *to, uint64_t length)
{
    const struct program *program = owner_of(context, owner);
    return program && program_read(program, from, to, length);
}

static bool on_write(void *context, uint32_t owner, uint64_t to, const void *from, uint64_t length)
{
    const struct program *program = owner_of(context, owner);
    return program && program_write(program, to, from, length);
}

/* ------------------------------------------------------------------ events */

static void on_asked(void *context, const struct sim_device *device, uint64_t cq_context)
{
    struct service *service = context;
    const struct object *cq = objects_get(&service->objects, (uint32_t)cq_context);
    (void)device;
    assert(cq && cq->kind == OBJECT_CQ);
    struct object *channel = objects_get(&service->objects, cq->channel);
    const struct protocol_completion record = {.cookie = cq->cookie};
    if (channel && !PLANTED(simfabric_completion_untold))
        service->stuck |= outbox_put(&channel->outbox, &record, sizeof(record));
}

static void tell(struct service *service, const struct service_client *client, uint64_t element,
                 enum fabric_async_type type)
{
    struct object *channel = objects_get(&service->objects, client->async);
    const struct protocol_async record = {.element = element, .type = type};
    if (channel)
        service->stuck |= outbox_put(&channel->outbox, &record, sizeof(record));
}

static bool has_opened(const struct service *service, const struct service_client *client,
                       const struct sim_device *device)
{
    return client && client->place && service->places[client->place - 1].device == device;
}

static void keep_news(struct service *service, const struct sim_device *device,
                      const struct hca_event *event)
{
    if (service->news_count == service->news_capacity) {
        size_t capacity = service->news_capacity ? 2 * service->news_capacity : 16;
        service->news = realloc(service->news, capacity * sizeof(*service->news));
        assert(service->news);
        service->news_capacity = capacity;
    }
    service->news[service->news_count++] =
        (struct service_news){device, event->port_num, event->type};
}

/* An event of a queue is for the program that made it, one of a port for all who opened the device
 * (vol. 1, chapter 11.6.3). */
static void on_event(void *context, const struct sim_device *device, const struct hca_event *event)
{
    struct service *service = context;
    if (event->kind != HCA_EVENT_ASYNC)
        return;
    bool of_one = event->qp.id || event->cq.id || event->srq.id, awaited = false;
    const struct object *object =
        of_one ? objects_get(&service->objects, (uint32_t)event->context) : NULL;
    for (uint32_t i = 0; i < service->client_capacity; i++) {
        const struct service_client *client = service->clients[i];
        if (!has_opened(service, client, device))
            continue;
        awaited = true;
        const struct object *own = object ? service_share_of(service, object, client) : NULL;
        if (PLANTED(simfabric_events_for_all))
            own = object;
        if (own)
            tell(service, client, own->cookie, event->type);
    }
    if (awaited && !of_one)
        keep_news(service, device, event);
}

static void announce(struct service *service, const struct service_news *news)
{
    assert(news->device);
    for (uint32_t i = 0; i < service->client_capacity; i++) {
        const struct service_client *client = service->clients[i];
        if (has_opened(service, client, news->device))
            tell(service, client, news->port_num, news->type);
    }
}

void service_announce(struct service *service)
{
    if (!service->news_count)
        return;
    bool locked = shared_lock(service->shared);
    assert(locked);
    (void)locked;
    for (size_t i = 0; i < service->news_count; i++)
        announce(service, &service->news[i]);
    service->news_count = 0;
    service_unlock(service);
}

/* ------------------------------------------------------------------ life */

bool service_create(struct service *service, const struct topology *topology, uint64_t seed,
                    char *detail)
{
    assert(service && topology && detail);
    memset(service, 0, sizeof(*service));
    service->outside = (struct sim_outside){.context = service,
                                            .place = on_place,
                                            .reach = {service, on_read, on_write},
                                            .asked = on_asked,
                                            .event = on_event};
    const struct testbed_options options = {.seed = seed, .caps = FABRIC_CAPS_ALL};
    service->doorbell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    service->shared = share("simfabric-shared", sizeof(*service->shared), &service->shared_fd);
    strcpy(detail, "the system gives no shared memory, event descriptor or robust lock");
    if (service->shared && service->doorbell >= 0 && shared_create(service->shared))
        service->tb = sim_testbed_create(topology, &options, &service->outside, detail);
    if (service->tb && service->failed)
        strcpy(detail, "the system gives no shared memory for the devices");
    if (!service->tb || service->failed) {
        service_destroy(service);
        return false;
    }
    service->sim = sim_world_sim(sim_testbed_world(service->tb));
    return true;
}

void service_destroy(struct service *service)
{
    for (uint32_t i = 0; i < service->client_capacity; i++) {
        if (service->clients[i])
            service_leave(service, service->clients[i]);
    }
    if (service->tb)
        sim_testbed.destroy(service->tb);
    objects_free(&service->objects);
    for (uint32_t i = 0; i < service->place_count; i++) {
        munmap(service->places[i].base, SERVICE_ARENA);
        close(service->places[i].fd);
    }
    if (service->shared)
        munmap(service->shared, sizeof(*service->shared));
    if (service->shared_fd >= 0)
        close(service->shared_fd);
    if (service->doorbell >= 0)
        close(service->doorbell);
    free(service->news);
    free(service->places);
    free(service->clients);
    memset(service, 0, sizeof(*service));
}

struct hca *service_hca(const struct service *service, const struct service_client *client)
{
    return client->place ? sim_device_hca(service->places[client->place - 1].device) : NULL;
}

struct service_client *service_join(struct service *service, int socket)
{
    assert(service && service->tb);
    uint32_t index = 0;
    while (index < service->client_capacity && service->clients[index])
        index++;
    if (index == service->client_capacity) {
        service->client_capacity += 16;
        service->clients =
            realloc(service->clients, service->client_capacity * sizeof(*service->clients));
        assert(service->clients);
        for (uint32_t i = index; i < service->client_capacity; i++)
            service->clients[i] = NULL;
    }
    struct service_client *client = calloc(1, sizeof(*client));
    assert(client);
    *client = (struct service_client){
        .number = index + 1, .socket = socket, .program = {.pid = -1, .pidfd = -1}};
    service->clients[index] = client;
    return client;
}

/* Users end before what they use (enum object_kind), as the system does it for a program that
 * died. */
void service_leave(struct service *service, struct service_client *client)
{
    assert(service->clients[client->number - 1] == client);
    struct hca *hca = service_hca(service, client);
    bool locked = shared_lock(service->shared);
    assert(locked);
    (void)locked;
    for (int kind = 0; kind < OBJECT_KINDS; kind++) {
        uint32_t position = 0;
        struct object *object;
        while ((object = objects_next(&service->objects, (enum object_kind)kind, client->number,
                                      &position)))
            service_end_object(service, hca, object);
    }
    service->shared->epoch++; /* its number may be another's soon */
    service_unlock(service);
    program_close(&client->program);
    service->clients[client->number - 1] = NULL;
    free(client);
}

/* ------------------------------------------------------------------ going on */

void service_unlock(struct service *service)
{
    uint64_t ways = net_way_epoch(sim_world_net(sim_testbed_world(service->tb)));
    if (ways != service->ways && !PLANTED(simfabric_ways_stale))
        service->shared->epoch++;
    service->ways = ways;
    service->shared->now = sim_now(service->sim);
    shared_unlock(service->shared);
}

static void hear(struct service *service)
{
    struct shared_doorbell bell;
    if (shared_take_all(service->shared)) {
        for (uint32_t i = 0; i < service->place_count; i++) {
            struct hca *hca = sim_device_hca(service->places[i].device);
            if (hca)
                hca_doorbells(hca);
        }
    }
    while (shared_hear(service->shared, &bell)) {
        struct hca *hca = bell.device < service->place_count
                              ? sim_device_hca(service->places[bell.device].device)
                              : NULL;
        if (hca)
            hca_qp_doorbell(hca, (hca_qp){bell.qp});
        if (hca && bell.cq)
            hca_cq_doorbell(hca, (hca_cq){bell.cq});
    }
}

static void flush(struct service *service)
{
    service->stuck = false;
    for (uint32_t i = 0; i < service->objects.used; i++) {
        struct object *object = service->objects.at[i];
        if (object && object->kind == OBJECT_CHANNEL && object->outbox.length)
            service->stuck |= outbox_flush(&object->outbox);
    }
}

bool service_run(struct service *service, uint64_t now)
{
    assert(service->shared->layout == SHARED_LAYOUT);
    bool locked = shared_lock(service->shared);
    assert(locked);
    (void)locked;
    service->shared->asleep = false;
    unsigned events = 0;
    if (service->stuck)
        flush(service);
    while (events < BATCH && sim_next_time(service->sim) <= now && sim_step(service->sim))
        events++;
    bool more = sim_next_time(service->sim) <= now;
    if (!more && now > sim_now(service->sim))
        sim_run_until(service->sim, now);
    hear(service);
    more = more || sim_next_time(service->sim) <= now;
    service_unlock(service);
    return more;
}

uint64_t service_next(struct service *service, bool sleeps)
{
    bool locked = shared_lock(service->shared);
    assert(locked);
    (void)locked;
    bool rung = service->shared->head != service->shared->tail || service->shared->look_at_all;
    service->shared->asleep = sleeps && !rung;
    uint64_t next = rung ? 0 : sim_next_time(service->sim);
    service_unlock(service);
    return next;
}
