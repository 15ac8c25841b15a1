/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DC through the libmlx5 that programs on a node find (HA-3.4). The test runs itself on a node;
 * there one process opens the devices of both nodes, because the plug-in asks its environment when
 * a device is opened.
 */
#define _DEFAULT_SOURCE /* setenv, usleep */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <infiniband/mlx5dv.h>

#include "tests/support/verbs_node.h"

#define KEY 0x1122334455667788
#define BYTES 10000 /* three packets */

/* ------------------------------------------------------------------ on the node */

struct end { /* of one device */
    struct ibv_context *context;
    struct ibv_pd *pd;
    struct ibv_cq *cq;
    struct ibv_srq *srq;
    struct ibv_mr *mr;
    struct ibv_qp *qp;
    struct ibv_port_attr port;
    uint8_t bytes[BYTES];
};

static bool begin(struct end *end, const char *node)
{
    struct ibv_srq_init_attr shared = {.attr = {.max_wr = 4, .max_sge = 1}};
    end->context = node_open(node);
    end->pd = end->context ? ibv_alloc_pd(end->context) : NULL;
    end->cq = end->pd ? ibv_create_cq(end->context, 8, NULL, NULL, 0) : NULL;
    end->srq = end->cq ? ibv_create_srq(end->pd, &shared) : NULL;
    end->mr = end->srq ? ibv_reg_mr(end->pd, end->bytes, BYTES,
                                    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE)
                       : NULL;
    return end->mr && ibv_query_port(end->context, 1, &end->port) == 0;
}

static struct ibv_qp *create(struct end *end, bool target)
{
    struct ibv_qp_init_attr_ex init = {.send_cq = end->cq,
                                       .recv_cq = end->cq,
                                       .qp_type = IBV_QPT_DRIVER,
                                       .pd = end->pd,
                                       .comp_mask = IBV_QP_INIT_ATTR_PD};
    struct mlx5dv_qp_init_attr dv = {.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_DC};
    dv.dc_init_attr.dc_type = target ? MLX5DV_DCTYPE_DCT : MLX5DV_DCTYPE_DCI;
    if (target) {
        init.srq = end->srq;
        dv.dc_init_attr.dct_access_key = KEY;
    } else {
        init.cap.max_send_wr = init.cap.max_send_sge = 4;
        init.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
        init.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_SEND;
    }
    end->qp = mlx5dv_create_qp(end->context, &init, &dv);
    return end->qp;
}

static bool move(const struct end *end, enum ibv_qp_state state, int mask)
{
    struct ibv_qp_attr attr = {.qp_state = state,
                               .port_num = 1,
                               .path_mtu = IBV_MTU_4096,
                               .qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
                               .ah_attr = {.port_num = 1},
                               .min_rnr_timer = 1,
                               .timeout = 8,
                               .retry_cnt = 1,
                               .max_rd_atomic = 1};
    return ibv_modify_qp(end->qp, &attr, IBV_QP_STATE | mask) == 0;
}

static bool ready_target(const struct end *end)
{
    bool numberless = end->qp->qp_num == 0;
    return move(end, IBV_QPS_INIT, IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS) &&
           move(end, IBV_QPS_RTR, IBV_QP_PATH_MTU | IBV_QP_AV | IBV_QP_MIN_RNR_TIMER) &&
           numberless && end->qp->qp_num != 0;
}

static bool ready_initiator(const struct end *end)
{
    return move(end, IBV_QPS_INIT, IBV_QP_PORT | IBV_QP_PKEY_INDEX) &&
           move(end, IBV_QPS_RTR, IBV_QP_PATH_MTU) &&
           move(end, IBV_QPS_RTS,
                IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                    IBV_QP_MAX_QP_RD_ATOMIC);
}

/* The status of its completion. */
static enum ibv_wc_status write_to(struct end *from, const struct end *to, struct ibv_ah *ah,
                                   uint64_t key)
{
    struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(from->qp);
    struct ibv_wc wc = {.status = IBV_WC_GENERAL_ERR};
    ibv_wr_start(ex);
    ex->wr_id = 5;
    ex->wr_flags = IBV_SEND_SIGNALED;
    ibv_wr_rdma_write(ex, to->mr->rkey, (uintptr_t)to->bytes);
    mlx5dv_wr_set_dc_addr(mlx5dv_qp_ex_from_ibv_qp_ex(ex), ah, to->qp->qp_num, key);
    ibv_wr_set_sge(ex, from->mr->lkey, (uintptr_t)from->bytes, BYTES);
    if (ibv_wr_complete(ex) != 0)
        return IBV_WC_GENERAL_ERR;
    while (ibv_poll_cq(from->cq, 1, &wc) == 0)
        ;
    return wc.status;
}

static bool landed(const struct end *end, int value)
{
    for (size_t i = 0; i < BYTES; i++) {
        if (end->bytes[i] != value)
            return false;
    }
    return true;
}

/* A program on a node; what it says is what failed. */
static int carry(void)
{
    static struct end from, to;
    if (!begin(&from, "n1") || !begin(&to, "n2"))
        return node_wrong("the devices do not open");
    if (!mlx5dv_is_supported(from.context->device) || !create(&from, false) || !create(&to, true))
        return node_wrong("no DC");
    if (!ready_target(&to))
        return node_wrong("a target has its number at another time than with RTR");
    if (!ready_initiator(&from))
        return node_wrong("an initiator gets not ready");
    struct ibv_ah_attr path = {.dlid = to.port.lid, .port_num = 1};
    struct ibv_ah *ah = ibv_create_ah(from.pd, &path);
    memset(from.bytes, 7, BYTES);
    if (!ah || write_to(&from, &to, ah, KEY) != IBV_WC_SUCCESS || !landed(&to, 7))
        return node_wrong("the bytes do not arrive");
    memset(from.bytes, 9, BYTES);
    if (write_to(&from, &to, ah, KEY + 1) == IBV_WC_SUCCESS || !landed(&to, 7))
        return node_wrong("a wrong key opens the target");
    return ibv_destroy_qp(from.qp) || ibv_destroy_qp(to.qp) ? node_wrong("they do not end") : 0;
}

static int stranger(void)
{
    static struct end end;
    if (!begin(&end, "n4"))
        return node_wrong("the device does not open");
    bool made = mlx5dv_is_supported(end.context->device) || create(&end, false);
    return made || errno != EOPNOTSUPP ? node_wrong("another vendor's device passes for mlx5") : 0;
}

static int refuse(void)
{
    static struct end without;
    if (!begin(&without, "n3"))
        return node_wrong("the device does not open");
    if (!mlx5dv_is_supported(without.context->device) || create(&without, false) ||
        errno != EOPNOTSUPP)
        return node_wrong("a device without DC does not refuse it");
    struct mlx5dv_context_attr devx = {.flags = MLX5DV_CONTEXT_FLAGS_DEVX};
    if (mlx5dv_open_device(without.context->device, &devx) || errno != EOPNOTSUPP)
        return node_wrong("DevX is promised");
    if (mlx5dv_init_obj(NULL, 0) != EOPNOTSUPP)
        return node_wrong("work queues are shown");
    errno = 0;
    if (mlx5dv_dr_action_create_drop() || errno != EOPNOTSUPP)
        return node_wrong("steering is promised");
    struct mlx5dv_context attr = {.comp_mask = UINT64_MAX};
    if (mlx5dv_query_device(without.context, &attr) != 0 ||
        !(attr.comp_mask & MLX5DV_CONTEXT_MASK_DCI_STREAMS) ||
        (attr.comp_mask & MLX5DV_CONTEXT_MASK_STRIDING_RQ))
        return node_wrong("a query tells more than is known");
    return 0;
}

/* ------------------------------------------------------------------ the tests */

static void an_initiator_writes_to_a_target_that_knows_its_key(void **state)
{
    node_run(*state, "n1", "--carry");
}

static void what_a_device_has_not_is_refused(void **state)
{
    node_run(*state, "n3", "--refuse");
    node_run(*state, "n4", "--stranger");
}

/* Every name and version that programs may be bound to. */
static void the_plug_in_has_all_names_of_libmlx5(void **state)
{
    const char *const names = "names() { readelf --dyn-syms -W \"$1\" | awk '$7 != \"UND\" && "
                              "$8 ~ /mlx5dv/ {print $8}' | sort; }";
    struct node_bed *bed = *state;
    if (node_shell(bed, "test -r %s-rdmav34.so && command -v readelf ldconfig", bed->program) != 0)
        skip(); /* no plug-in in this build, or nothing to compare with */
    int status =
        node_shell(bed,
                   "%s; names $(ldconfig -p | awk '/libmlx5.so.1 / {print $NF; exit}') >%s/theirs; "
                   "names %s-rdmav34.so >%s/ours; test $(wc -l <%s/theirs) -gt 100 && "
                   "comm -23 %s/theirs %s/ours | tee %s/missing && test ! -s %s/missing",
                   names, bed->folder, bed->program, bed->folder, bed->folder, bed->folder,
                   bed->folder, bed->folder, bed->folder);
    if (status != 0)
        print_message("%s", bed->output);
    assert_int_equal(status, 0);
}

static int setup(void **state)
{
    return node_setup(state, "{n1: {}, n2: {}, n3: {devices: {mlx5_0: {profile: mlx5-nodc}}}, "
                             "n4: {devices: {mlx5_0: {profile: strict}}}}");
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, node_teardown)
    const struct CMUnitTest tests[] = {TEST(an_initiator_writes_to_a_target_that_knows_its_key),
                                       TEST(what_a_device_has_not_is_refused),
                                       TEST(the_plug_in_has_all_names_of_libmlx5)};
    if (argc == 2 && strcmp(argv[1], "--carry") == 0)
        return carry();
    if (argc == 2 && strcmp(argv[1], "--refuse") == 0)
        return refuse();
    if (argc == 2 && strcmp(argv[1], "--stranger") == 0)
        return stranger();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
