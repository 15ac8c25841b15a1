/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of a port: verbs have none, the driver's files have. */
#include <stdio.h>
#include <stdlib.h>

#include "fabric_hw/rdma/state.h"
#include "src/fabric/planted.h"

struct counter {
    const char *file;
    size_t offset;      /* of the member */
    uint64_t in_memory; /* of one unit, in the member's */
};

/* Files of one member: the first that is there. Data counters count words of 4 bytes (vol. 1,
 * chapter 16.1.3.5). */
static const struct counter counters[] = {
#define MEMBER(name) offsetof(struct fabric_port_counters, name)
    {"counters/port_xmit_data", MEMBER(xmit_data), 4},
    {"counters/port_rcv_data", MEMBER(rcv_data), 4},
    {"counters/port_xmit_packets", MEMBER(xmit_packets), 1},
    {"hw_counters/sent_pkts", MEMBER(xmit_packets), 1},
    {"counters/port_rcv_packets", MEMBER(rcv_packets), 1},
    {"hw_counters/rcvd_pkts", MEMBER(rcv_packets), 1},
    {"counters/port_xmit_discards", MEMBER(xmit_discards), 1},
    {"hw_counters/send_err", MEMBER(xmit_discards), 1},
    {"counters/port_rcv_errors", MEMBER(rcv_errors), 1},
    {"counters/port_rcv_switch_relay_errors", MEMBER(rcv_switch_relay_errors), 1},
    {"counters/port_xmit_wait", MEMBER(xmit_wait), 1},
    {"counters/symbol_error", MEMBER(symbol_errors), 1},
    {"counters/link_downed", MEMBER(link_downed), 1},
    {"hw_counters/link_downed", MEMBER(link_downed), 1},
    {"counters/VL15_dropped", MEMBER(vl15_dropped), 1},
    {"counters/port_rcv_constraint_errors", MEMBER(rcv_constraint_errors), 1},
    {"counters/port_xmit_constraint_errors", MEMBER(xmit_constraint_errors), 1},
    {"hw_counters/local_ack_timeout_err", MEMBER(ack_timeouts), 1},
    {"hw_counters/completer_retry_err", MEMBER(ack_timeouts), 1},
    {"hw_counters/packet_seq_err", MEMBER(seq_errors), 1},
    {"hw_counters/rcvd_seq_err", MEMBER(seq_errors), 1},
    {"hw_counters/rnr_nak_retry_err", MEMBER(rnr_retries), 1},
    {"hw_counters/rcvd_rnr_err", MEMBER(rnr_retries), 1},
#undef MEMBER
};

static uint64_t *member(struct fabric_port_counters *out, size_t offset)
{
    return (uint64_t *)((char *)out + offset);
}

static bool read_one(struct rdma_device *device, uint8_t port_num, const char *file, uint64_t *out)
{
    struct fabric *f = device->rdma->f;
    char path[FABRIC_PATH_MAX], text[64], *end;
    size_t length = 0;
    snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/%u/%s", device->name, port_num,
             file);
    if (f->ops->sysfile_read(f, path, text, sizeof(text) - 1, &length) || length == 0)
        return false;
    text[length] = '\0';
    *out = strtoull(text, &end, 10);
    return end != text;
}

static void present(struct fabric_port_counters *out, size_t offset, uint64_t value)
{
    out->present |= UINT64_C(1) << (offset / sizeof(uint64_t));
    *member(out, offset) = value;
}

enum fabric_error rdma_counters_query(struct fabric *f, fabric_device handle, uint8_t port_num,
                                      struct fabric_port_counters *out)
{
    struct rdma_device *device = rdma_device_get(rdma_of(f), handle.id);
    struct fabric_port_attr port;
    enum fabric_error error = rdma_port_query(f, handle, port_num, &port);
    if (error)
        return error;
    *out = (struct fabric_port_counters){0};
    for (size_t i = 0; i < sizeof(counters) / sizeof(*counters); i++) {
        const struct counter *one = &counters[i];
        uint64_t value;
        if (!(out->present >> (one->offset / sizeof(uint64_t)) & 1) &&
            read_one(device, port_num, one->file, &value))
            present(out, one->offset, value * (PLANTED(rdma_data_in_words) ? 1 : one->in_memory));
    }
    if (!out->present)
        return ERR_NOT_SUPPORTED;
    present(out, offsetof(struct fabric_port_counters, bad_pkey), port.bad_pkey_cntr);
    present(out, offsetof(struct fabric_port_counters, bad_qkey), port.qkey_viol_cntr);
    return FABRIC_OK;
}
