/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Link addresses on RoCE. The kernel looks a neighbour up inside the making of an address handle
 * and waits for it, so a thread makes one for each look-up and throws it away: what stays is the
 * kernel's neighbour entry, which the move to RTR then finds at once.
 *
 * Threading: the thread touches its job, the protection domain of the device and the list of those
 * that are done; the device is kept until its last look-up was taken back. It blocks every signal.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "fabric_hw/rdma/state.h"
#include "src/fabric/planted.h"

struct job {
    struct job *next;
    struct rdma_device *device;
    uint32_t device_id;
    uint64_t cookie;
    struct ibv_ah_attr attr;
    int number; /* 0 or why it failed */
};

struct rdma_resolver {
    struct os_source source;
    struct rdma *rdma;
    pthread_t thread;
    pthread_mutex_t mutex; /* of the members below */
    pthread_cond_t more;
    struct job *first, *last; /* to do */
    struct job *done;
    bool ends;
    int fd; /* readable when there are some done */
};

static void look_up(struct rdma_resolver *resolver, struct job *job)
{
    const struct verbs_calls *calls = resolver->rdma->calls;
    errno = 0;
    struct ibv_ah *ah = calls->create_ah(job->device->pd, &job->attr);
    job->number = ah ? 0 : errno ? errno : EHOSTUNREACH;
    if (ah)
        calls->destroy_ah(ah);
}

static void *run(void *context)
{
    struct rdma_resolver *resolver = context;
    const uint64_t one = 1;
    pthread_mutex_lock(&resolver->mutex);
    while (!resolver->ends) {
        struct job *job = resolver->first;
        if (!job) {
            pthread_cond_wait(&resolver->more, &resolver->mutex);
            continue;
        }
        resolver->first = job->next;
        pthread_mutex_unlock(&resolver->mutex);
        look_up(resolver, job);
        pthread_mutex_lock(&resolver->mutex);
        job->next = resolver->done;
        resolver->done = job;
        ssize_t written = write(resolver->fd, &one, sizeof(one));
        (void)written; /* a full counter wakes just as well */
    }
    pthread_mutex_unlock(&resolver->mutex);
    return NULL;
}

static void push(struct rdma *r, uint32_t device_id, uint64_t cookie, enum fabric_error error)
{
    struct fabric_event event = {.type = FABRIC_EVENT_RESOLVED};
    event.u.resolved.device.id = device_id;
    event.u.resolved.cookie = cookie;
    event.u.resolved.error = error;
    os_push(r->f, &event);
}

/* Takes a job back; it may have been the last that kept its device. */
static void end_job(struct rdma *r, struct job *job)
{
    struct rdma_device *device = job->device;
    enum fabric_error error = FABRIC_OK;
    if (device->removed)
        error = ERR_DEVICE_REMOVED;
    else if (job->number &&
             !PLANTED(rdma_always_resolved)) /* whatever the kernel calls it: nobody answered */
        error = rdma_failed(device, "ibv_create_ah", job->number) == ERR_DEVICE_REMOVED
                    ? ERR_DEVICE_REMOVED
                    : ERR_UNREACHABLE;
    assert(device->look_ups > 0);
    device->look_ups--;
    if (device->id)
        push(r, job->device_id, job->cookie, error);
    else if (device->look_ups == 0)
        rdma_device_release(device);
    free(job);
}

static void ready(struct os_source *source, uint32_t events)
{
    struct rdma_resolver *resolver = (struct rdma_resolver *)source;
    uint64_t count;
    (void)events;
    ssize_t got = read(resolver->fd, &count, sizeof(count));
    (void)got; /* the list says what there is */
    pthread_mutex_lock(&resolver->mutex);
    struct job *done = resolver->done;
    resolver->done = NULL;
    pthread_mutex_unlock(&resolver->mutex);
    while (done) {
        struct job *job = done;
        done = job->next;
        end_job(resolver->rdma, job);
    }
}

static bool start_thread(struct rdma_resolver *resolver)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(&resolver->thread, NULL, run, resolver) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

static struct rdma_resolver *open_resolver(struct rdma *r)
{
    struct rdma_resolver *resolver = calloc(1, sizeof(*resolver));
    if (!resolver)
        return NULL;
    resolver->rdma = r;
    resolver->source.ready = ready;
    resolver->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pthread_mutex_init(&resolver->mutex, NULL);
    pthread_cond_init(&resolver->more, NULL);
    bool watched = resolver->fd >= 0 && !os_watch(r->f, resolver->fd, EPOLLIN, &resolver->source);
    if (watched && start_thread(resolver))
        return resolver;
    if (watched)
        os_unwatch(r->f, resolver->fd);
    if (resolver->fd >= 0)
        close(resolver->fd);
    pthread_cond_destroy(&resolver->more);
    pthread_mutex_destroy(&resolver->mutex);
    free(resolver);
    return NULL;
}

static void drop_all(struct job *list)
{
    while (list) {
        struct job *job = list;
        list = job->next;
        struct rdma_device *device = job->device;
        device->look_ups--;
        if (!device->id && device->look_ups == 0)
            rdma_device_release(device);
        free(job);
    }
}

/* Waits for the look-up under way. */
void rdma_resolver_close(struct rdma *r)
{
    struct rdma_resolver *resolver = r->resolver;
    if (!resolver)
        return;
    pthread_mutex_lock(&resolver->mutex);
    resolver->ends = true;
    pthread_cond_signal(&resolver->more);
    pthread_mutex_unlock(&resolver->mutex);
    pthread_join(resolver->thread, NULL);
    drop_all(resolver->first);
    drop_all(resolver->done);
    os_unwatch(r->f, resolver->fd);
    close(resolver->fd);
    pthread_cond_destroy(&resolver->more);
    pthread_mutex_destroy(&resolver->mutex);
    free(resolver);
    r->resolver = NULL;
}

static void submit(struct rdma_resolver *resolver, struct job *job)
{
    pthread_mutex_lock(&resolver->mutex);
    if (resolver->first)
        resolver->last->next = job;
    else
        resolver->first = job;
    resolver->last = job;
    pthread_cond_signal(&resolver->more);
    pthread_mutex_unlock(&resolver->mutex);
}

enum fabric_error rdma_resolve(struct fabric *f, fabric_device handle, const struct fabric_av *av,
                               uint64_t cookie)
{
    struct rdma *r = rdma_of(f);
    struct rdma_device *device = rdma_device_get(r, handle.id);
    if (device->removed)
        return ERR_DEVICE_REMOVED;
    if (!rdma_is_port(device, av->port_num))
        return ERR_INVALID_ARGUMENT;
    if (!rdma_device_links_ethernet(device, av->port_num)) {
        push(r, device->id, cookie, FABRIC_OK);
        return FABRIC_OK;
    }
    if (!r->resolver)
        r->resolver = open_resolver(r);
    struct job *job = r->resolver ? calloc(1, sizeof(*job)) : NULL;
    if (!job)
        return ERR_RESOURCES_EXHAUSTED;
    job->device = device;
    job->device_id = device->id;
    job->cookie = cookie;
    rdma_ah_attr(av, &job->attr);
    device->look_ups++;
    submit(r->resolver, job);
    return FABRIC_OK;
}
