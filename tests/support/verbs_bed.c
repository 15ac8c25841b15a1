/* SPDX-License-Identifier: Apache-2.0 */
/* An instance on the stand-in for libibverbs, and what the tests of fabric_hw/rdma do with it. */
#include <assert.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/support/verbs_fake.h"

void verbs_fake_open(struct os_bed *bed)
{
    static struct rdma_options chosen;
    chosen = (struct rdma_options){.calls = &verbs_fake_calls};
    const struct os_fabric_options options = {.part = &rdma_part, .part_context = &chosen};
    os_bed_open(bed, &options);
}

fabric_device verbs_fake_device(struct os_bed *bed)
{
    fabric_device device = {0};
    verbs_fake_open(bed);
    enum fabric_error error = fabric_device_open(bed->f, "mlx5_0", &device);
    assert(!error);
    return device;
}

fabric_qp verbs_fake_rc(struct os_bed *bed, fabric_device device, fabric_cq *cq)
{
    fabric_qp qp = {0};
    enum fabric_error error = fabric_cq_create(bed->f, device, 64, cq);
    assert(!error);
    const struct fabric_qp_init init = {.type = FABRIC_QP_RC,
                                        .send_cq = *cq,
                                        .recv_cq = *cq,
                                        .max_send_wr = 8,
                                        .max_recv_wr = 8,
                                        .max_send_sge = 2,
                                        .max_recv_sge = 2,
                                        .max_inline = 64,
                                        .cookie = 77};
    error = fabric_qp_create(bed->f, device, &init, &qp);
    assert(!error);
    for (int state = FABRIC_QPS_INIT; state <= FABRIC_QPS_RTS; state++) {
        error = verbs_fake_move(bed, qp, (enum fabric_qp_state)state);
        assert(!error);
    }
    verbs_fake.said[0] = '\0';
    return qp;
}

enum fabric_error verbs_fake_move(struct os_bed *bed, fabric_qp qp, enum fabric_qp_state state)
{
    const struct fabric_qp_attr attr = {.state = state,
                                        .port_num = 1,
                                        .path_mtu = FABRIC_MTU_2048,
                                        .av = {.port_num = 1, .dlid = 9},
                                        .dest_qp_num = 33,
                                        .access = FABRIC_ACCESS_REMOTE_READ,
                                        .timeout = 14,
                                        .retry_cnt = 7,
                                        .rnr_retry = 6,
                                        .max_rd_atomic = 4};
    return fabric_qp_modify(bed->f, qp, &attr);
}

enum fabric_error verbs_fake_send(struct os_bed *bed, fabric_qp qp, uint64_t wr_id, bool signaled)
{
    const struct fabric_send_wr wr = {.wr_id = wr_id,
                                      .opcode = FABRIC_WR_RDMA_WRITE,
                                      .flags = signaled ? FABRIC_SEND_SIGNALED : 0};
    return fabric_qp_post_send(bed->f, qp, &wr);
}

enum fabric_error verbs_fake_recv(struct os_bed *bed, fabric_qp qp, uint64_t wr_id)
{
    const struct fabric_recv_wr wr = {.wr_id = wr_id};
    return fabric_qp_post_recv(bed->f, qp, &wr);
}

struct fabric_wc verbs_fake_expect(struct os_bed *bed, uint64_t wr_id, enum fabric_wc_status status)
{
    struct fabric_event event;
    assert_true(os_bed_next(bed, os_bed_now(bed) + OS_BED_PATIENCE, &event));
    assert_int_equal(event.type, FABRIC_EVENT_COMPLETION);
    assert_int_equal(event.u.wc.wr_id, wr_id);
    assert_int_equal(event.u.wc.status, status);
    return event.u.wc;
}

bool verbs_fake_idle(struct os_bed *bed)
{
    struct fabric_event event;
    return !os_bed_next(bed, 0, &event);
}
