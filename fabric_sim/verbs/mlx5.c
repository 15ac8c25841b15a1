/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plug-in is libmlx5.so.1 as well, as the provider and the library of the real device are one
 * file: what programs call of mlx5dv to get DC is served here on devices that have it (mlx5dv(7),
 * mlx5dv_create_qp(3), mlx5dv_wr_post(3)). The rest is refused (mlx5_refused.c).
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fabric_sim/verbs/plugin.h"
#include "src/fabric/planted.h"

#define SHOWN __attribute__((visibility("default")))
#define MELLANOX 0x15b3 /* as a PCI vendor, where libmlx5 looks for it */

/* ------------------------------------------------------------------ devices */

/* Of the vendor, by its tree: a device need not be open to be asked. */
SHOWN bool mlx5dv_is_supported(struct ibv_device *device)
{
    char path[IBV_SYSFS_PATH_MAX + 16], text[16];
    if (!device || !plugin_is_ours(device))
        return false;
    snprintf(path, sizeof(path), "%s/device/vendor", device->ibdev_path);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
    if (fd >= 0)
        close(fd);
    if (length <= 0)
        return false;
    text[length] = '\0';
    return strtoul(text, NULL, 16) == MELLANOX || PLANTED(verbs_vendor_ignored);
}

static bool is_mlx5(const struct ibv_context *context)
{
    return context && mlx5dv_is_supported(context->device);
}

/* DevX, which the flags ask for, is work for firmware that is not there. */
SHOWN struct ibv_context *mlx5dv_open_device(struct ibv_device *device,
                                             struct mlx5dv_context_attr *attr)
{
    if (mlx5dv_is_supported(device) && !(attr && (attr->flags || attr->comp_mask)))
        return ibv_open_device(device);
    errno = EOPNOTSUPP;
    return NULL;
}

/* comp_mask says what the caller wants to know, and then what it was told. */
SHOWN int mlx5dv_query_device(struct ibv_context *context, struct mlx5dv_context *attr)
{
    if (!is_mlx5(context))
        return EOPNOTSUPP;
    assert(attr);
    uint64_t told =
        attr->comp_mask & (MLX5DV_CONTEXT_MASK_DC_ODP_CAPS | MLX5DV_CONTEXT_MASK_NUM_LAG_PORTS |
                           MLX5DV_CONTEXT_MASK_DCI_STREAMS);
    attr->version = 0;
    attr->flags = 0;
    if (told & MLX5DV_CONTEXT_MASK_DC_ODP_CAPS)
        attr->dc_odp_caps = 0;
    if (told & MLX5DV_CONTEXT_MASK_NUM_LAG_PORTS)
        attr->num_lag_ports = 1;
    if (told & MLX5DV_CONTEXT_MASK_DCI_STREAMS)
        memset(&attr->dci_streams_caps, 0, sizeof(attr->dci_streams_caps));
    attr->comp_mask = told;
    return 0;
}

/* ------------------------------------------------------------------ DC */

static struct plugin_qp *of(struct mlx5dv_qp_ex *qp)
{
    return (struct plugin_qp *)(void *)((char *)qp - offsetof(struct plugin_qp, mlx5));
}

static void wr_set_dc_addr(struct mlx5dv_qp_ex *qp, struct ibv_ah *ah, uint32_t target,
                           uint64_t key)
{
    assert(qp && ah);
    batch_set_dc_addr(of(qp), (const struct plugin_ah *)ah, target, key);
}

/* An initiator has one stream, whichever is named. */
static void wr_set_dc_addr_stream(struct mlx5dv_qp_ex *qp, struct ibv_ah *ah, uint32_t target,
                                  uint64_t key, uint16_t stream)
{
    (void)stream;
    wr_set_dc_addr(qp, ah, target, key);
}

static bool is_plain(const struct mlx5dv_qp_init_attr *attr)
{
    const uint64_t known = MLX5DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS | MLX5DV_QP_INIT_ATTR_MASK_DC |
                           MLX5DV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS;
    uint64_t mask = attr->comp_mask;
    /* How the device is to lay out completions makes no difference here. */
    const uint32_t layout =
        MLX5DV_QP_CREATE_DISABLE_SCATTER_TO_CQE | MLX5DV_QP_CREATE_ALLOW_SCATTER_TO_CQE;
    if ((mask & MLX5DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS) && (attr->create_flags & ~layout))
        return false;
    if ((mask & MLX5DV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS) && attr->send_ops_flags)
        return false;
    return (mask & ~known) == 0;
}

static struct ibv_qp *create_dc(struct ibv_context *context, struct ibv_qp_init_attr_ex *init,
                                const struct mlx5dv_qp_init_attr *attr)
{
    const struct mlx5dv_dc_init_attr *dc = &attr->dc_init_attr;
    bool target = dc->dc_type == MLX5DV_DCTYPE_DCT;
    if (init->qp_type != IBV_QPT_DRIVER || (!target && dc->dc_type != MLX5DV_DCTYPE_DCI) ||
        (target && (init->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS))) {
        errno = EINVAL;
        return NULL;
    }
    const struct plugin_kind kind = {.type = target ? HCA_QP_DCT : HCA_QP_DCI,
                                     .dc_access_key = target ? dc->dct_access_key : 0};
    struct ibv_qp *qp = plugin_create_qp_of(context, init, &kind);
    struct plugin_qp *made = (struct plugin_qp *)qp;
    if (!made || !made->batch)
        return qp;
    made->mlx5.wr_set_dc_addr = wr_set_dc_addr;
    made->mlx5.wr_set_dc_addr_stream = wr_set_dc_addr_stream;
    return qp;
}

SHOWN struct ibv_qp *mlx5dv_create_qp(struct ibv_context *context, struct ibv_qp_init_attr_ex *init,
                                      struct mlx5dv_qp_init_attr *attr)
{
    assert(init);
    if (!is_mlx5(context) || (attr && !is_plain(attr))) {
        errno = EOPNOTSUPP;
        return NULL;
    }
    if (attr && (attr->comp_mask & MLX5DV_QP_INIT_ATTR_MASK_DC))
        return create_dc(context, init, attr);
    return plugin_create_qp_ex(context, init);
}

SHOWN struct mlx5dv_qp_ex *mlx5dv_qp_ex_from_ibv_qp_ex(struct ibv_qp_ex *qp)
{
    return qp ? &((struct plugin_qp *)(void *)qp)->mlx5 : NULL; /* perftest asks for a target's */
}
