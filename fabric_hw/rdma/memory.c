/* SPDX-License-Identifier: Apache-2.0 */
/* Regions, and what posts make of their keys. */
#define _DEFAULT_SOURCE /* madvise */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "fabric_hw/rdma/state.h"
#include "src/fabric/planted.h"

#define LARGE_PAGE (UINT64_C(2) << 20)
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* linux/mman.h, from 6.1 on */
#endif

/* A device translates page by page: large pages are fewer. Those that are there already cannot be
 * merged any more once they are pinned. A kernel that knows nothing of it, or has none left, says
 * so, and small ones do. */
static void ask_for_large_pages(const struct fabric_mr_init *init)
{
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    const uint64_t addr = (uint64_t)(uintptr_t)init->addr;
    const uint64_t first = (addr + page - 1) & ~(page - 1),
                   end = (addr + init->length) & ~(page - 1);
    if (end <= first || end - first < LARGE_PAGE || PLANTED(rdma_small_pages))
        return;
    (void)madvise((void *)(uintptr_t)first, end - first, MADV_HUGEPAGE);
    (void)madvise((void *)(uintptr_t)first, end - first, MADV_COLLAPSE);
}

static int access_of(const struct rdma_device *device, uint32_t access)
{
    int flags = device->windows ? IBV_ACCESS_MW_BIND : 0;
    flags |= access & FABRIC_ACCESS_LOCAL_WRITE ? IBV_ACCESS_LOCAL_WRITE : 0;
    flags |= access & FABRIC_ACCESS_REMOTE_WRITE ? IBV_ACCESS_REMOTE_WRITE : 0;
    flags |= access & FABRIC_ACCESS_REMOTE_READ ? IBV_ACCESS_REMOTE_READ : 0;
    return flags;
}

/* The kernel says ENOMEM for the limit of locked memory and for memory itself. */
static enum fabric_error refused(struct rdma_device *device, uint64_t length, int number)
{
    struct rlimit limit;
    enum fabric_error error = rdma_failed(device, "ibv_reg_mr_iova", number);
    if (number != ENOMEM && number != EPERM && number != EAGAIN)
        return error == ERR_DEVICE_REMOVED || error == ERR_NOT_SUPPORTED ? error
                                                                         : ERR_REGISTRATION_FAILED;
    bool limited = getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
    (void)length; /* other regions count against the limit too */
    return limited && !PLANTED(rdma_memlock_unnamed) ? ERR_MEMLOCK_LIMIT : ERR_REGISTRATION_FAILED;
}

static enum fabric_error check(struct rdma *r, const struct rdma_device *device,
                               const struct fabric_mr_init *init)
{
    struct fabric_guarantees guarantees;
    (void)r->f->ops->guarantees(r->f, &guarantees);
    if (device->removed)
        return ERR_DEVICE_REMOVED;
    if (init->kind != FABRIC_MEM_HOST)
        return ERR_NOT_SUPPORTED;
    if (((uint64_t)(uintptr_t)init->addr - init->iova) & (guarantees.iova_align - 1u))
        return ERR_INVALID_ARGUMENT;
    return init->length > device->attr.max_mr_size ? ERR_REGISTRATION_FAILED : FABRIC_OK;
}

enum fabric_error rdma_mr_register(struct fabric *f, fabric_device handle,
                                   const struct fabric_mr_init *init, fabric_mr *out,
                                   struct fabric_mr_keys *keys)
{
    struct rdma *r = rdma_of(f);
    struct rdma_device *device = rdma_device_get(r, handle.id);
    enum fabric_error error = check(r, device, init);
    struct rdma_mr *mr = error ? NULL : calloc(1, sizeof(*mr));
    if (!mr)
        return error ? error : ERR_RESOURCES_EXHAUSTED;
    *mr = (struct rdma_mr){
        .addr = init->addr, .length = init->length, .iova = init->iova, .access = init->access};
    ask_for_large_pages(init);
    errno = 0;
    mr->mr = r->calls->reg_mr_iova(device->pd, init->addr, init->length, init->iova,
                                   access_of(device, init->access));
    if (!mr->mr) {
        error = refused(device, init->length, errno);
    } else if (!rdma_numbers_set(&device->lkeys, mr->mr->lkey, mr) ||
               !rdma_object_add(&mr->object, RDMA_MR, device)) {
        rdma_numbers_remove(&device->lkeys, mr->mr->lkey, mr);
        r->calls->dereg_mr(mr->mr);
        error = ERR_RESOURCES_EXHAUSTED;
    }
    if (error) {
        free(mr);
        return error;
    }
    mr->lkey = mr->mr->lkey;
    *keys = (struct fabric_mr_keys){mr->mr->lkey, mr->mr->rkey};
    out->id = mr->object.id;
    return FABRIC_OK;
}

void rdma_mr_forget(struct rdma_mr *mr)
{
    if (!mr->mr)
        return;
    struct rdma_device *device = mr->object.device;
    rdma_numbers_remove(&device->lkeys, mr->lkey, mr);
    int number = device->rdma->calls->dereg_mr(mr->mr);
    if (number)
        (void)rdma_failed(device, "ibv_dereg_mr", number);
    mr->mr = NULL;
}

void rdma_mr_end(struct rdma_mr *mr)
{
    rdma_mr_forget(mr);
    rdma_object_drop(&mr->object);
    free(mr);
}

enum fabric_error rdma_mr_deregister(struct fabric *f, fabric_mr handle)
{
    struct rdma_mr *mr = rdma_handles_get(&rdma_of(f)->handles, handle.id, RDMA_MR);
    assert(mr->windows == 0); /* programmer error */
    rdma_mr_end(mr);
    return FABRIC_OK;
}

/* What its key does not cover keeps an address that no region covers, so that the request fails as
 * it should. */
void rdma_sges(const struct rdma_device *device, const struct fabric_sge *from, struct ibv_sge *to,
               uint32_t count, bool is_inline)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct rdma_mr *mr =
            is_inline ? NULL : rdma_numbers_find(&device->lkeys, from[i].lkey);
        uint64_t addr = is_inline ? (uint64_t)(uintptr_t)from[i].addr : UINT64_MAX;
        uint64_t offset = mr ? (uint64_t)((uintptr_t)from[i].addr - (uintptr_t)mr->addr) : 0;
        if (mr && offset < mr->length && from[i].length <= mr->length - offset)
            addr =
                PLANTED(rdma_host_address) ? (uint64_t)(uintptr_t)from[i].addr : mr->iova + offset;
        to[i] = (struct ibv_sge){addr, from[i].length, from[i].lkey};
    }
}
