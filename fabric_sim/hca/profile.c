/* SPDX-License-Identifier: Apache-2.0 */
#include "fabric_sim/hca/profile.h"

#include <assert.h>
#include <string.h>

#define CAPS_COMMON                                                                                \
    (FABRIC_CAP_RC | FABRIC_CAP_DEVICE_REMOVE | FABRIC_CAP_SLID_CHECK | FABRIC_CAP_RD_ATOMIC)
#define CAPS_MLX5                                                                                  \
    (CAPS_COMMON | FABRIC_CAP_ACK_TIMEOUT_FLOOR | FABRIC_CAP_GID_CACHE_STALE | FABRIC_CAP_PKEY)

/* Limits that no rule depends on are those of common hardware, scaled down where a world of
 * thousands of hosts would notice. */
#define LIMITS                                                                                     \
    .max_qp = 1u << 16, .max_qp_wr = 16384, .max_sge = FABRIC_MAX_SGE, .max_cq = 1u << 16,         \
    .max_cqe = 1u << 20, .max_mr = 1u << 19, .max_mw = 1u << 19, .max_srq = 1u << 14,              \
    .max_ah = 1u << 18, .max_pd = 1u << 14, .max_inline = 512, .max_mcast_attach = 64,             \
    .max_mr_size = 1ull << 46, .ack_timeout_stretch = 4

/* What all devices of one kind have in common. */
#define MLX5                                                                                       \
    .driver = "mlx5", .vendor_id = 0x02c9, .hw_ver = 0,                                            \
    .link_layer = FABRIC_LINK_LAYER_UNSPECIFIED, .port_err_on_init = true, .pkey_count = 128,      \
    .gid_count = 32, LIMITS, .max_rd_atomic = 16, .max_init_rd_atomic = 16,                        \
    .local_ca_ack_delay = 16, .ack_timeout_floor = 8, .write_tear_unit = 64, .iova_align = 4096,   \
    .revoke_min = 500, .revoke_max = 20000
#define STRICT(reads)                                                                              \
    .driver = "strict", .fw_ver = "1.0.0", .vendor_id = 0x00a0, .hw_ver = 1,                       \
    .link_layer = FABRIC_LINK_LAYER_UNSPECIFIED,                                                   \
    .caps =                                                                                        \
        CAPS_COMMON | FABRIC_CAP_PKEY | FABRIC_CAP_SM_CHANGE_EVENT | FABRIC_CAP_RTR_MTU_CHECKED,   \
    .port_err_on_init = false, .pkey_count = 32, .gid_count = 16, LIMITS,                          \
    .max_rd_atomic = (reads), .max_init_rd_atomic = (reads), .local_ca_ack_delay = 15,             \
    .ack_timeout_floor = 0, .write_tear_unit = 1, .iova_align = 1, .revoke_min = 100,              \
    .revoke_max = 1000000

static const struct hca_profile profiles[] = {
    {.name = "mlx5",
     .fw_ver = "22.41.1000",
     .vendor_part_id = 4129,
     .caps = CAPS_MLX5 | FABRIC_CAP_DC,
     MLX5},
    {.name = "mlx5-nodc", .fw_ver = "12.28.2006", .vendor_part_id = 4115, .caps = CAPS_MLX5, MLX5},
    {.name = "strict", .vendor_part_id = 1, STRICT(4)},
    {.name =
         "lax", /* a stranger's packet passes for a friend's as far as the specification lets it */
     .driver = "lax",
     .fw_ver = "1.0.0",
     .vendor_id = 0x00a0,
     .vendor_part_id = 2,
     .hw_ver = 1,
     .link_layer = FABRIC_LINK_LAYER_UNSPECIFIED,
     .caps = (CAPS_COMMON & ~FABRIC_CAP_SLID_CHECK) | FABRIC_CAP_PKEY,
     .port_err_on_init = false,
     .qpn_counts = true,
     .pkey_count = 32,
     .gid_count = 16,
     LIMITS,
     .max_rd_atomic = 4,
     .max_init_rd_atomic = 4,
     .local_ca_ack_delay = 15,
     .ack_timeout_floor = 0,
     .write_tear_unit = 1,
     .iova_align = 1,
     .revoke_min = 100,
     .revoke_max = 1000000},
    {.name = "rxe",
     .driver = "rxe",
     .fw_ver = "",
     .vendor_id = 0xffffff,
     .vendor_part_id = 0,
     .hw_ver = 0,
     .link_layer = FABRIC_LINK_LAYER_ETHERNET,
     .caps =
         FABRIC_CAP_RC | FABRIC_CAP_DEVICE_REMOVE | FABRIC_CAP_RD_ATOMIC | FABRIC_CAP_WRITE_ORDER,
     .port_err_on_init = false,
     .pkey_count = 1,
     .gid_count = 32,
     LIMITS,
     .max_rd_atomic = 16,
     .max_init_rd_atomic = 16,
     .local_ca_ack_delay = 15,
     .ack_timeout_floor = 0,
     .write_tear_unit = 1,
     .iova_align = 4096,
     .revoke_min = 100,
     .revoke_max = 10000},
    {.name = "one-read", .vendor_part_id = 3, STRICT(1)},
    {.name = "no-reads", .vendor_part_id = 4, STRICT(0)},
};

size_t hca_profile_count(void)
{
    return sizeof(profiles) / sizeof(profiles[0]);
}

const struct hca_profile *hca_profile_at(size_t index)
{
    assert(index < hca_profile_count());
    return &profiles[index];
}

const struct hca_profile *hca_profile_find(const char *name)
{
    assert(name);
    for (size_t i = 0; i < hca_profile_count(); i++)
        if (strcmp(profiles[i].name, name) == 0)
            return &profiles[i];
    return NULL;
}
