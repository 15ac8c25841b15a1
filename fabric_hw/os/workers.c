/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "fabric_hw/os/workers.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "src/fabric/planted.h"

#define MOST 16

struct os_workers {
    struct os_source source;
    struct fabric *f;
    int fd; /* eventfd: something is done */
    unsigned most, thread_count;
    pthread_t threads[MOST];
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t more;
    struct os_job *queue, **queue_end;
    struct os_job *finished, **finished_end;
    unsigned idle, alive; /* threads */
    bool stop, left;      /* left: the instance is gone, the last thread cleans up */
};

static void workers_free(struct os_workers *workers)
{
    pthread_cond_destroy(&workers->more);
    pthread_mutex_destroy(&workers->lock);
    free(workers);
}

static struct os_job *take(struct os_workers *workers)
{
    struct os_job *job = workers->queue;
    workers->queue = job->next;
    if (!workers->queue)
        workers->queue_end = &workers->queue;
    job->next = NULL;
    return job;
}

/* The lock is held. One write for any number of jobs that the loop has not seen yet. */
static void finish(struct os_workers *workers, struct os_job *job)
{
    bool first = workers->finished == NULL;
    const uint64_t one = 1;
    *workers->finished_end = job;
    workers->finished_end = &job->next;
    if (first) {
        ssize_t written = write(workers->fd, &one, sizeof(one));
        assert(written == sizeof(one));
    }
}

static void *work(void *context)
{
    struct os_workers *workers = context;
    pthread_mutex_lock(&workers->lock);
    while (!workers->stop) {
        if (!workers->queue) {
            workers->idle++;
            pthread_cond_wait(&workers->more, &workers->lock);
            workers->idle--;
            continue;
        }
        struct os_job *job = take(workers);
        pthread_mutex_unlock(&workers->lock);
        job->work(job);
        pthread_mutex_lock(&workers->lock);
        if (workers->left)
            job->drop(job);
        else
            finish(workers, job);
    }
    bool last = --workers->alive == 0 && workers->left;
    pthread_mutex_unlock(&workers->lock);
    if (last)
        workers_free(workers);
    return NULL;
}

static void on_finished(struct os_source *source, uint32_t events)
{
    struct os_workers *workers = (struct os_workers *)source;
    uint64_t count;
    (void)events;
    pthread_mutex_lock(&workers->lock);
    if (read(workers->fd, &count, sizeof(count)) < 0)
        count = 0; /* nobody wrote */
    struct os_job *job = workers->finished;
    workers->finished = NULL;
    workers->finished_end = &workers->finished;
    pthread_mutex_unlock(&workers->lock);
    while (job) {
        struct os_job *next = job->next;
        job->next = NULL;
        job->done(job);
        job = next;
    }
}

struct os_workers *os_workers_create(struct fabric *f, unsigned most)
{
    assert(most >= 1 && most <= MOST);
    struct os_workers *workers = calloc(1, sizeof(*workers));
    if (!workers)
        return NULL;
    workers->source.ready = on_finished;
    workers->f = f;
    workers->most = most;
    workers->queue_end = &workers->queue;
    workers->finished_end = &workers->finished;
    workers->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (workers->fd >= 0 && !os_watch(f, workers->fd, EPOLLIN, &workers->source)) {
        pthread_mutex_init(&workers->lock, NULL);
        pthread_cond_init(&workers->more, NULL);
        return workers;
    }
    if (workers->fd >= 0)
        close(workers->fd);
    free(workers);
    return NULL;
}

static void drop_all(struct os_job *job)
{
    while (job) {
        struct os_job *next = job->next;
        job->drop(job);
        job = next;
    }
}

void os_workers_destroy(struct os_workers *workers)
{
    pthread_mutex_lock(&workers->lock);
    workers->stop = true;
    pthread_cond_broadcast(&workers->more);
    pthread_mutex_unlock(&workers->lock);
    for (unsigned i = 0; i < workers->thread_count; i++)
        pthread_join(workers->threads[i], NULL);
    os_unwatch(workers->f, workers->fd);
    close(workers->fd);
    drop_all(workers->finished);
    drop_all(workers->queue);
    workers_free(workers);
}

void os_workers_leave(struct os_workers *workers)
{
    struct fabric *f = workers->f;
    int fd = workers->fd;
    if (PLANTED(os_workers_waited_for)) {
        os_workers_destroy(workers);
        return;
    }
    for (unsigned i = 0; i < workers->thread_count; i++)
        pthread_detach(workers->threads[i]);
    pthread_mutex_lock(&workers->lock);
    workers->stop = workers->left = true;
    struct os_job *queue = workers->queue, *finished = workers->finished;
    bool last = workers->alive == 0;
    pthread_cond_broadcast(&workers->more);
    pthread_mutex_unlock(&workers->lock);
    if (last)
        workers_free(workers);
    os_unwatch(f, fd); /* `workers` is its threads' now */
    close(fd);
    drop_all(finished);
    drop_all(queue);
}

static void start_thread(struct os_workers *workers)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_mutex_lock(&workers->lock);
    if (pthread_create(&workers->threads[workers->thread_count], NULL, work, workers) == 0) {
        workers->thread_count++;
        workers->alive++;
    }
    pthread_mutex_unlock(&workers->lock);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

bool os_workers_submit(struct os_workers *workers, struct os_job *job)
{
    assert(job->work && job->done && job->drop);
    pthread_mutex_lock(&workers->lock);
    bool wanted = workers->idle == 0 || workers->queue;
    pthread_mutex_unlock(&workers->lock);
    if (wanted && workers->thread_count < workers->most)
        start_thread(workers);
    if (workers->thread_count == 0)
        return false;
    job->next = NULL;
    pthread_mutex_lock(&workers->lock);
    *workers->queue_end = job;
    workers->queue_end = &job->next;
    pthread_cond_signal(&workers->more);
    pthread_mutex_unlock(&workers->lock);
    return true;
}
