/* SPDX-License-Identifier: Apache-2.0 */
#include "fabric_sim/simfabric/shared.h"

#include <assert.h>
#include <errno.h>

#include "src/fabric/planted.h"

bool shared_create(struct shared_page *page)
{
    pthread_mutexattr_t attr;
    assert(page && page->layout == 0);
    if (pthread_mutexattr_init(&attr) != 0)
        return false;
    bool made = pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED) == 0 &&
                pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST) == 0 &&
                pthread_mutex_init(&page->lock, &attr) == 0;
    pthread_mutexattr_destroy(&attr);
    if (made)
        page->layout = SHARED_LAYOUT;
    return made;
}

bool shared_is_page(const struct shared_page *page, size_t size)
{
    return page && size >= sizeof(*page) && page->layout == SHARED_LAYOUT;
}

bool shared_lock(struct shared_page *page)
{
    assert(page->layout == SHARED_LAYOUT);
    int error = pthread_mutex_lock(&page->lock);
    if (error == EOWNERDEAD) {
        page->look_at_all = !PLANTED(simfabric_dead_owner_forgotten);
        error = pthread_mutex_consistent(&page->lock);
    }
    return error == 0;
}

void shared_unlock(struct shared_page *page)
{
    int error = pthread_mutex_unlock(&page->lock);
    assert(error == 0);
    (void)error;
}

static bool ring(struct shared_page *page, struct shared_doorbell bell)
{
    if (page->head - page->tail >= SHARED_DOORBELLS) {
        page->look_at_all = !PLANTED(simfabric_doorbell_dropped);
    } else {
        page->ring[page->head % SHARED_DOORBELLS] = bell;
        __atomic_store_n(&page->head, page->head + 1, __ATOMIC_RELEASE);
    }
    bool wakes = page->asleep;
    page->asleep = false;
    return wakes;
}

bool shared_ring(struct shared_page *page, uint32_t device, uint32_t qp)
{
    return ring(page, (struct shared_doorbell){.device = device, .qp = qp});
}

bool shared_ring_cq(struct shared_page *page, uint32_t device, uint32_t cq)
{
    return ring(page, (struct shared_doorbell){.device = device, .cq = cq});
}

bool shared_hear(struct shared_page *page, struct shared_doorbell *out)
{
    assert(page->head - page->tail <= SHARED_DOORBELLS);
    if (page->head == page->tail)
        return false;
    *out = page->ring[page->tail % SHARED_DOORBELLS];
    page->tail++;
    return true;
}

bool shared_take_all(struct shared_page *page)
{
    bool all = page->look_at_all;
    page->look_at_all = false;
    return all;
}
