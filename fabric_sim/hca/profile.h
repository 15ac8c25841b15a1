/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What kinds of device there are: one row of limits and bits each. The engine asks the bits, never
 * the name.
 */
#ifndef FABRIC_SIM_HCA_PROFILE_H
#define FABRIC_SIM_HCA_PROFILE_H

#include "src/fabric/fabric.h"

struct hca_profile {
    const char *name;   /* how a topology calls it: "mlx5" */
    const char *driver; /* "mlx5" */
    const char *fw_ver;
    uint32_t vendor_id, vendor_part_id, hw_ver;
    enum fabric_link_layer link_layer; /* UNSPECIFIED: either, as the network says */
    fabric_caps caps;                  /* those that depend on the device */

    /* Asynchronous events, where devices differ. */
    bool port_err_on_init; /* PORT_ERR also on reaching INIT, not only on leaving ACTIVE */

    bool qpn_counts; /* queue pair numbers count up and are the same on every such device */

    uint16_t pkey_count, gid_count;
    uint32_t max_qp, max_qp_wr, max_sge, max_cq, max_cqe, max_mr, max_mw, max_srq, max_ah, max_pd;
    uint32_t max_inline, max_mcast_attach;
    uint64_t max_mr_size;
    uint8_t max_rd_atomic, max_init_rd_atomic;
    uint8_t local_ca_ack_delay;  /* 4.096 us * 2^n */
    uint8_t ack_timeout_floor;   /* smaller time-out codes (but 0) act as this one; 0 = none */
    uint8_t ack_timeout_stretch; /* detection lies in [T, stretch * T]; the spec allows 4 */
    uint32_t write_tear_unit;    /* bytes; 0: any subset of the bytes may have landed */
    uint32_t iova_align;
    uint64_t revoke_min, revoke_max; /* ns between asking for a window back and its end */
};

/* Null when no profile has that name. */
const struct hca_profile *hca_profile_find(const char *name);
size_t hca_profile_count(void);
const struct hca_profile *hca_profile_at(size_t index);

#endif
