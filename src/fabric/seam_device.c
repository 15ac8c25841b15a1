/* SPDX-License-Identifier: Apache-2.0 */
/* The seam's functions about devices, ports and memory. */
#include <assert.h>

#include "src/fabric/seam.h"
#include "src/fabric/seam_check.h"

#define REMOTE_ACCESS ((uint32_t)(FABRIC_ACCESS_REMOTE_READ | FABRIC_ACCESS_REMOTE_WRITE))
#define ANY_ACCESS (REMOTE_ACCESS | (uint32_t)FABRIC_ACCESS_LOCAL_WRITE)

enum fabric_error fabric_device_list(struct fabric *f, char (*names)[FABRIC_NAME_MAX],
                                     size_t capacity, size_t *count)
{
    const struct fabric_ops *ops = seam_enter(f, FABRIC_OP_DEVICE_LIST);
    assert((names || capacity == 0) && count);
    return seam_leave(f, FABRIC_OP_DEVICE_LIST, ops->device_list(f, names, capacity, count));
}

enum fabric_error fabric_device_open(struct fabric *f, const char *name, fabric_device *out)
{
    const struct fabric_ops *ops = seam_enter(f, FABRIC_OP_DEVICE_OPEN);
    fabric_device made = {0};
    assert(name && out);
    enum fabric_error error = ops->device_open(f, name, &made);
    SEAM_MADE(error, made, out);
    return seam_leave(f, FABRIC_OP_DEVICE_OPEN, error);
}

enum fabric_error fabric_device_close(struct fabric *f, fabric_device device)
{
    const struct fabric_ops *ops = seam_enter(f, FABRIC_OP_DEVICE_CLOSE);
    assert(device.id);
    return seam_leave_sure(f, FABRIC_OP_DEVICE_CLOSE, ops->device_close(f, device));
}

enum fabric_error fabric_device_query(struct fabric *f, fabric_device device,
                                      struct fabric_device_attr *out)
{
    const struct fabric_ops *ops = seam_enter(f, FABRIC_OP_DEVICE_QUERY);
    assert(device.id && out);
    enum fabric_error error = ops->device_query(f, device, out);
    assert(error || out->num_ports > 0);
    return seam_leave(f, FABRIC_OP_DEVICE_QUERY, error);
}

enum fabric_error fabric_port_query(struct fabric *f, fabric_device device, uint8_t port_num,
                                    struct fabric_port_attr *out)
{
    const struct fabric_ops *ops = seam_enter(f, FABRIC_OP_PORT_QUERY);
    assert(device.id && out);
    enum fabric_error error = ops->port_query(f, device, port_num, out);
    assert(error || (out->port_num == port_num && out->state <= FABRIC_PORT_ACTIVE));
    return seam_leave(f, FABRIC_OP_PORT_QUERY, error);
}

enum fabric_error fabric_gid_query(struct fabric *f, fabric_device device, uint8_t port_num,
                                   uint32_t index, struct fabric_gid_entry *out)
{
    const struct fabric_ops *ops = seam_enter(f, FABRIC_OP_GID_QUERY);
    assert(device.id && out);
    enum fabric_error error = ops->gid_query(f, device, port_num, index, out);
    assert(error || out->index == index);
    return seam_leave(f, FABRIC_OP_GID_QUERY, error);
}

enum fabric_error fabric_pkey_query(struct fabric *f, fabric_device device, uint8_t port_num,
                                    uint32_t index, uint16_t *out)
{
    const struct fabric_ops *ops = seam_enter(f, FABRIC_OP_PKEY_QUERY);
    assert(device.id && out);
    enum fabric_error error = ops->pkey_query(f, device, port_num, index, out);
    return seam_leave(f, FABRIC_OP_PKEY_QUERY, error);
}

enum fabric_error fabric_counters_query(struct fabric *f, fabric_device device, uint8_t port_num,
                                        struct fabric_port_counters *out)
{
    const struct fabric_ops *ops = seam_enter(f, FABRIC_OP_COUNTERS_QUERY);
    assert(device.id && out);
    enum fabric_error error = ops->counters_query(f, device, port_num, out);
    return seam_leave(f, FABRIC_OP_COUNTERS_QUERY, error);
}

enum fabric_error fabric_dcb_query(struct fabric *f, const char *netdev, struct fabric_dcb *out)
{
    const struct fabric_ops *ops = seam_enter(f, FABRIC_OP_DCB_QUERY);
    assert(netdev && out);
    return seam_leave(f, FABRIC_OP_DCB_QUERY, ops->dcb_query(f, netdev, out));
}

static void check_mr_init(const struct fabric_mr_init *init)
{
    assert(init->kind <= FABRIC_MEM_DMABUF && (init->addr || init->kind != FABRIC_MEM_HOST));
    assert(init->length > 0 && init->iova <= UINT64_MAX - init->length);
    assert((init->access & ~ANY_ACCESS) == 0);
    assert(!(init->access & FABRIC_ACCESS_REMOTE_WRITE) ||
           (init->access & FABRIC_ACCESS_LOCAL_WRITE) || PLANTED(fabric_seam_remote_write_alone));
}

enum fabric_error fabric_mr_register(struct fabric *f, fabric_device device,
                                     const struct fabric_mr_init *init, fabric_mr *out,
                                     struct fabric_mr_keys *keys)
{
    const struct fabric_ops *ops = seam_enter(f, FABRIC_OP_MR_REGISTER);
    fabric_mr made = {0};
    struct fabric_mr_keys made_keys = {0};
    assert(device.id && init && out && keys);
    check_mr_init(init);
    enum fabric_error error = ops->mr_register(f, device, init, &made, &made_keys);
    SEAM_MADE(error, made, out);
    if (!error)
        *keys = made_keys;
    return seam_leave(f, FABRIC_OP_MR_REGISTER, error);
}

enum fabric_error fabric_mr_deregister(struct fabric *f, fabric_mr mr)
{
    const struct fabric_ops *ops = seam_enter(f, FABRIC_OP_MR_DEREGISTER);
    assert(mr.id);
    return seam_leave_sure(f, FABRIC_OP_MR_DEREGISTER, ops->mr_deregister(f, mr));
}

enum fabric_error fabric_window_open(struct fabric *f, fabric_mr mr, uint64_t iova, uint64_t length,
                                     uint32_t access, uint64_t cookie, fabric_window *out)
{
    const struct fabric_ops *ops = seam_enter(f, FABRIC_OP_WINDOW_OPEN);
    fabric_window made = {0};
    assert(mr.id && length > 0 && out);
    assert(access && (access & ~REMOTE_ACCESS) == 0);
    enum fabric_error error = ops->window_open(f, mr, iova, length, access, cookie, &made);
    SEAM_MADE(error, made, out);
    return seam_leave(f, FABRIC_OP_WINDOW_OPEN, error);
}

enum fabric_error fabric_window_revoke(struct fabric *f, fabric_window window)
{
    const struct fabric_ops *ops = seam_enter(f, FABRIC_OP_WINDOW_REVOKE);
    assert(window.id);
    return seam_leave_sure(f, FABRIC_OP_WINDOW_REVOKE, ops->window_revoke(f, window));
}
