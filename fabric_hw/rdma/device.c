/* SPDX-License-Identifier: Apache-2.0 */
/* Devices: found, opened, described, lost, closed. */
#define _GNU_SOURCE
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabric_hw/rdma/state.h"
#include "src/fabric/planted.h"

/* ------------------------------------------------------------------ finding */

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

enum fabric_error rdma_device_list(struct fabric *f, char (*names)[FABRIC_NAME_MAX],
                                   size_t capacity, size_t *count)
{
    struct rdma *r = rdma_of(f);
    int found = 0;
    struct ibv_device **list = r->calls->get_device_list(&found);
    *count = list && found > 0 ? (size_t)found : 0; /* null: a kernel without RDMA */
    char(*all)[FABRIC_NAME_MAX] = calloc(*count ? *count : 1, sizeof(*all));
    for (size_t i = 0; all && i < *count; i++)
        snprintf(all[i], FABRIC_NAME_MAX, "%s", list[i]->name);
    if (list)
        r->calls->free_device_list(list);
    if (!all)
        return ERR_RESOURCES_EXHAUSTED;
    qsort(all, *count, sizeof(*all), by_name);
    for (size_t i = 0; i < *count && i < capacity; i++)
        memcpy(names[i], all[i], sizeof(*all));
    free(all);
    return FABRIC_OK;
}

/* The driver by the link of the function; rxe has no function, but alone names its interface. */
static void find_driver(struct rdma_device *device)
{
    struct fabric *f = device->rdma->f;
    char path[FABRIC_PATH_MAX], text[FABRIC_PATH_MAX];
    char *driver = device->attr.driver;
    size_t length;
    snprintf(path, sizeof(path), "/sys/class/infiniband/%s/device/driver", device->name);
    if (!f->ops->sysfile_link(f, path, text, sizeof(text))) {
        const char *name = strrchr(text, '/');
        snprintf(driver, sizeof(device->attr.driver), "%.31s", name ? name + 1 : text);
        driver[strcspn(driver, "_")] = '\0'; /* mlx5_core */
        return;
    }
    snprintf(path, sizeof(path), "/sys/class/infiniband/%s/parent", device->name);
    if (!f->ops->sysfile_read(f, path, text, sizeof(text), &length))
        snprintf(driver, sizeof(device->attr.driver), "rxe");
}

/* ------------------------------------------------------------------ what it can do */

static uint32_t at_most(int value)
{
    return value > 0 ? (uint32_t)value : 0;
}

static uint8_t at_most_255(int value)
{
    return value > UINT8_MAX ? UINT8_MAX : value > 0 ? (uint8_t)value : 0;
}

static void describe(struct rdma_device *device)
{
    const struct ibv_device_attr *from = &device->limits;
    struct fabric_device_attr *to = &device->attr;
    snprintf(to->name, sizeof(to->name), "%s", device->name);
    snprintf(to->fw_ver, sizeof(to->fw_ver), "%.31s", from->fw_ver);
    to->node_guid = be64toh(from->node_guid);
    to->sys_image_guid = be64toh(from->sys_image_guid);
    to->vendor_id = from->vendor_id;
    to->vendor_part_id = from->vendor_part_id;
    to->hw_ver = from->hw_ver;
    to->num_ports = from->phys_port_cnt;
    to->max_rd_atomic = at_most_255(from->max_qp_rd_atom);
    to->max_init_rd_atomic = at_most_255(from->max_qp_init_rd_atom);
    to->local_ca_ack_delay = from->local_ca_ack_delay;
    to->max_qp = at_most(from->max_qp);
    to->max_qp_wr = at_most(from->max_qp_wr);
    to->max_sge = at_most(from->max_sge);
    to->max_cq = at_most(from->max_cq);
    to->max_cqe = at_most(from->max_cqe);
    to->max_mr = at_most(from->max_mr);
    to->max_srq = at_most(from->max_srq);
    to->max_ah = at_most(from->max_ah);
    to->max_mr_size = from->max_mr_size;
    to->max_window_size = from->max_mr_size; /* also where regions stand in: see lend.c */
    enum ibv_node_type node = device->context->device->node_type;
    to->iwarp =
        node == IBV_NODE_RNIC || device->context->device->transport_type == IBV_TRANSPORT_IWARP;
    to->caps = FABRIC_CAP_RC | FABRIC_CAP_RD_ATOMIC;
}

/* Verbs tell how much a queue pair takes inline only by refusing to make one. */
static void probe(struct rdma_device *device)
{
    static const uint32_t sizes[] = {512, 256, 128, 64, 32};
    const struct verbs_calls *calls = device->rdma->calls;
    struct ibv_cq *cq = calls->create_cq(device->context, 1, NULL, NULL, 0);
    for (size_t i = 0; cq && i < sizeof(sizes) / sizeof(*sizes); i++) {
        struct ibv_qp_init_attr init = {
            .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC, .cap = {1, 1, 1, 1, sizes[i]}};
        struct ibv_qp *qp = calls->create_qp(device->pd, &init);
        if (!qp)
            continue;
        calls->destroy_qp(qp);
        device->attr.max_inline = sizes[i];
        break;
    }
    device->dc =
        cq && calls->mlx5dv_is_supported(device->context->device) && rdma_dc_probe(device, cq);
    device->attr.caps |= device->dc ? FABRIC_CAP_DC : 0;
    if (cq)
        calls->destroy_cq(cq);
}

/* Devices say that they have windows and mean those of type 2, which only queue pairs can bind. */
static void probe_windows(struct rdma_device *device)
{
    const struct verbs_calls *calls = device->rdma->calls;
    bool said = (device->limits.device_cap_flags & IBV_DEVICE_MEM_WINDOW) &&
                device->limits.max_mw > 0 && !device->rdma->options.regions_only;
    struct ibv_mw *mw = said ? calls->alloc_mw(device->pd, IBV_MW_TYPE_1) : NULL;
    device->windows = mw != NULL;
    if (mw)
        calls->dealloc_mw(mw);
}

/* ------------------------------------------------------------------ open */

static enum fabric_error open_named(struct rdma_device *device)
{
    const struct verbs_calls *calls = device->rdma->calls;
    int count = 0;
    enum fabric_error error = ERR_NOT_FOUND;
    struct ibv_device **list = calls->get_device_list(&count);
    for (int i = 0; list && i < count && !device->context; i++) {
        if (strcmp(list[i]->name, device->name) != 0)
            continue;
        errno = 0;
        device->context = calls->open_device(list[i]);
        error = device->context ? FABRIC_OK : rdma_failed(device, "ibv_open_device", errno);
    }
    if (list)
        calls->free_device_list(list);
    return error;
}

static enum fabric_error prepare(struct rdma_device *device)
{
    const struct verbs_calls *calls = device->rdma->calls;
    enum fabric_error error = open_named(device);
    if (error)
        return error;
    int number = calls->query_device(device->context, &device->limits);
    if (number)
        return rdma_failed(device, "ibv_query_device", number);
    describe(device);
    find_driver(device);
    device->is_rxe = strcmp(device->attr.driver, "rxe") == 0;
    errno = 0;
    device->pd = calls->alloc_pd(device->context);
    if (!device->pd)
        return rdma_failed(device, "ibv_alloc_pd", errno);
    device->channel = calls->create_comp_channel(device->context);
    if (!device->channel)
        return rdma_failed(device, "ibv_create_comp_channel", errno);
    if (!rdma_async_watch(device) || !rdma_channel_watch(device))
        return ERR_RESOURCES_EXHAUSTED;
    probe(device);
    probe_windows(device);
    return FABRIC_OK;
}

enum fabric_error rdma_device_open(struct fabric *f, const char *name, fabric_device *out)
{
    struct rdma *r = rdma_of(f);
    struct rdma_device *device = calloc(1, sizeof(*device));
    if (!device)
        return ERR_RESOURCES_EXHAUSTED;
    device->rdma = r;
    device->all.previous = device->all.next = &device->all;
    device->next = r->devices;
    r->devices = device;
    snprintf(device->name, sizeof(device->name), "%s", name);
    enum fabric_error error = prepare(device);
    device->id = error ? 0 : rdma_handles_new(&r->handles, RDMA_DEVICE, device);
    if (!error && !device->id)
        error = ERR_RESOURCES_EXHAUSTED;
    if (error) {
        rdma_device_end(device);
        return error;
    }
    out->id = device->id;
    return FABRIC_OK;
}

enum fabric_error rdma_device_query(struct fabric *f, fabric_device handle,
                                    struct fabric_device_attr *out)
{
    struct rdma_device *device = rdma_device_get(rdma_of(f), handle.id);
    if (device->removed)
        return ERR_DEVICE_REMOVED;
    *out = device->attr;
    return FABRIC_OK;
}

/* ------------------------------------------------------------------ the end */

static void end_object(struct rdma_object *object, bool forget)
{
    void *of = object;
    switch (object->kind) {
    case RDMA_MR:
        forget ? rdma_mr_forget(of) : rdma_mr_end(of);
        break;
    case RDMA_WINDOW:
        forget ? rdma_window_forget(of) : rdma_window_end(of);
        break;
    case RDMA_CQ:
        forget ? rdma_cq_close(of) : rdma_cq_end(of);
        break;
    case RDMA_SRQ:
        forget ? rdma_srq_forget(of) : rdma_srq_end(of);
        break;
    case RDMA_QP:
        forget ? rdma_qp_forget(of) : rdma_qp_end(of);
        break;
    default:
        assert(object->kind == RDMA_AH);
        forget ? rdma_ah_forget(of) : rdma_ah_end(of);
    }
}

void rdma_device_clear(struct rdma_device *device, bool forget)
{
    static const enum rdma_kind order[] = {RDMA_QP, RDMA_WINDOW, RDMA_FREE, RDMA_MR,
                                           RDMA_AH, RDMA_SRQ,    RDMA_CQ};
    for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++) {
        if (order[i] == RDMA_FREE) { /* before the regions that its windows are of */
            rdma_bind_close(device);
            continue;
        }
        struct rdma_object *next;
        for (struct rdma_object *one = device->all.next; one != &device->all; one = next) {
            next = one->next;
            if (one->kind == order[i])
                end_object(one, forget);
        }
    }
}

static void unwatch(struct rdma_device *device)
{
    if (device->watched_async)
        os_unwatch(device->rdma->f, device->context->async_fd);
    if (device->watched_channel)
        os_unwatch(device->rdma->f, device->channel->fd);
    device->watched_async = device->watched_channel = false;
}

static void close_channel(struct rdma_device *device)
{
    unwatch(device);
    if (device->channel)
        device->rdma->calls->destroy_comp_channel(device->channel);
    device->channel = NULL;
}

void rdma_device_lose(struct rdma_device *device)
{
    assert(!device->removed);
    device->removed = true;
    if (!PLANTED(rdma_lost_owes_nothing))
        rdma_device_clear(device, true);
    close_channel(device);
}

void rdma_device_release(struct rdma_device *device)
{
    const struct verbs_calls *calls = device->rdma->calls;
    struct rdma_device **link = &device->rdma->devices;
    assert(!device->id && device->look_ups == 0);
    if (device->pd)
        calls->dealloc_pd(device->pd);
    if (device->context)
        calls->close_device(device->context);
    while (*link != device)
        link = &(*link)->next;
    *link = device->next;
    rdma_rest_free(&device->rest);
    free(device->lkeys.entries);
    free(device->qp_nums.entries);
    free(device);
}

/* Also of one that was opened in part only. */
void rdma_device_end(struct rdma_device *device)
{
    rdma_device_clear(device, false);
    close_channel(device);
    if (device->id)
        rdma_handles_remove(&device->rdma->handles, device->id);
    device->id = 0;
    if (device->look_ups == 0)
        rdma_device_release(device);
}

enum fabric_error rdma_device_close(struct fabric *f, fabric_device handle)
{
    rdma_device_end(rdma_device_get(rdma_of(f), handle.id));
    return FABRIC_OK;
}
