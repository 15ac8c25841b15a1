/* SPDX-License-Identifier: Apache-2.0 */
/*
 * XRC for programs (HA-3.2): domains that are shared by a file, targets that another program opens,
 * receive queues that are reached by number. Every opened device is a program to the daemon, so one
 * process stands for several.
 */
#define _DEFAULT_SOURCE /* mkstemp */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/verbs_node.h"

#define BYTES 5000

/* ------------------------------------------------------------------ on the node */

struct program {
    struct ibv_context *context;
    struct ibv_pd *pd;
    struct ibv_cq *cq;
    struct ibv_mr *mr;
    struct ibv_xrcd *xrcd;
    struct ibv_srq *srq;
    struct ibv_qp *qp;
    struct ibv_port_attr port;
    uint8_t bytes[BYTES];
};

static bool begin(struct program *p, const char *node)
{
    p->context = node_open(node);
    p->pd = p->context ? ibv_alloc_pd(p->context) : NULL;
    p->cq = p->pd ? ibv_create_cq(p->context, 8, NULL, NULL, 0) : NULL;
    p->mr = p->cq ? ibv_reg_mr(p->pd, p->bytes, BYTES, IBV_ACCESS_LOCAL_WRITE) : NULL;
    return p->mr && ibv_query_port(p->context, 1, &p->port) == 0;
}

static struct ibv_xrcd *open_domain(struct program *p, int fd, int flags)
{
    struct ibv_xrcd_init_attr attr = {
        .comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS, .fd = fd, .oflags = flags};
    p->xrcd = ibv_open_xrcd(p->context, &attr);
    return p->xrcd;
}

static struct ibv_srq *create_srq(struct program *p)
{
    struct ibv_srq_init_attr_ex attr = {.attr = {.max_wr = 4, .max_sge = 1},
                                        .comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
                                                     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
                                        .srq_type = IBV_SRQT_XRC,
                                        .pd = p->pd,
                                        .xrcd = p->xrcd,
                                        .cq = p->cq};
    p->srq = ibv_create_srq_ex(p->context, &attr);
    return p->srq;
}

static struct ibv_qp *create_target(struct program *p)
{
    struct ibv_qp_init_attr_ex attr = {
        .qp_type = IBV_QPT_XRC_RECV, .comp_mask = IBV_QP_INIT_ATTR_XRCD, .xrcd = p->xrcd};
    p->qp = ibv_create_qp_ex(p->context, &attr);
    return p->qp;
}

static struct ibv_qp *open_target(struct program *p, uint32_t number)
{
    struct ibv_qp_open_attr attr = {.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD |
                                                 IBV_QP_OPEN_ATTR_TYPE,
                                    .qp_num = number,
                                    .xrcd = p->xrcd,
                                    .qp_type = IBV_QPT_XRC_RECV};
    p->qp = ibv_open_qp(p->context, &attr);
    return p->qp;
}

static struct ibv_qp *create_initiator(struct program *p)
{
    struct ibv_qp_init_attr_ex attr = {.send_cq = p->cq,
                                       .cap = {.max_send_wr = 4, .max_send_sge = 1},
                                       .qp_type = IBV_QPT_XRC_SEND,
                                       .comp_mask =
                                           IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
                                       .pd = p->pd,
                                       .send_ops_flags = IBV_QP_EX_WITH_SEND};
    p->qp = ibv_create_qp_ex(p->context, &attr);
    return p->qp;
}

static bool connect_to(const struct program *p, const struct program *peer, uint32_t number)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT,
                               .port_num = 1,
                               .path_mtu = IBV_MTU_2048,
                               .dest_qp_num = number,
                               .ah_attr = {.dlid = peer->port.lid, .port_num = 1},
                               .timeout = 14,
                               .retry_cnt = 7,
                               .rnr_retry = 7,
                               .min_rnr_timer = 1};
    if (ibv_modify_qp(p->qp, &attr,
                      IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS))
        return false;
    attr.qp_state = IBV_QPS_RTR;
    if (ibv_modify_qp(p->qp, &attr,
                      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                          IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER))
        return false;
    attr.qp_state = IBV_QPS_RTS;
    return ibv_modify_qp(p->qp, &attr,
                         IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                             IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC) == 0;
}

/* Of the next completion. */
static enum ibv_wc_status await(const struct program *p)
{
    struct ibv_wc wc;
    while (ibv_poll_cq(p->cq, 1, &wc) == 0)
        ;
    return wc.status;
}

static bool carries(struct program *from, struct program *to, int value)
{
    struct ibv_sge sge = {(uintptr_t)to->bytes, BYTES, to->mr->lkey};
    struct ibv_recv_wr receive = {.sg_list = &sge, .num_sge = 1}, *bad;
    struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(from->qp);
    uint32_t number;
    memset(from->bytes, value, BYTES);
    memset(to->bytes, 0, BYTES);
    if (ibv_get_srq_num(to->srq, &number) || ibv_post_srq_recv(to->srq, &receive, &bad))
        return false;
    ibv_wr_start(ex);
    ex->wr_flags = IBV_SEND_SIGNALED;
    ibv_wr_send(ex);
    ibv_wr_set_xrc_srqn(ex, number);
    ibv_wr_set_sge(ex, from->mr->lkey, (uintptr_t)from->bytes, BYTES);
    return ibv_wr_complete(ex) == 0 && await(from) == IBV_WC_SUCCESS &&
           await(to) == IBV_WC_SUCCESS && memcmp(from->bytes, to->bytes, BYTES) == 0;
}

/* `maker` makes a domain and a target, `heir` opens both; the target lives on with the latter. */
static int inherit(void)
{
    static struct program maker, heir, from;
    char path[] = "/tmp/simfabric-xrcd-XXXXXX";
    int fd = mkstemp(path);
    (void)unlink(path);
    if (fd < 0 || !begin(&maker, "n1") || !begin(&heir, "n1") || !begin(&from, "n2"))
        return node_wrong("the devices do not open");
    if (!open_domain(&maker, fd, O_CREAT) || !open_domain(&heir, fd, 0) || !create_srq(&heir) ||
        !create_target(&maker) || !open_target(&heir, maker.qp->qp_num) || !create_initiator(&from))
        return node_wrong("a domain is not shared");
    if (!connect_to(&maker, &from, from.qp->qp_num) || !connect_to(&from, &maker, maker.qp->qp_num))
        return node_wrong("they do not connect");
    if (!carries(&from, &heir, 5))
        return node_wrong("the receive queue of another program is not reached");
    if (ibv_close_xrcd(maker.xrcd) != EBUSY || ibv_destroy_qp(maker.qp) ||
        ibv_close_xrcd(maker.xrcd) || ibv_dealloc_pd(maker.pd) != EBUSY)
        return node_wrong("what is in use ends");
    if (!carries(&from, &heir, 6))
        return node_wrong("the target ended with who made it");
    if (ibv_destroy_qp(heir.qp) || ibv_destroy_srq(heir.srq) || ibv_close_xrcd(heir.xrcd))
        return node_wrong("the heir cannot end it");
    return 0;
}

static int flags(void)
{
    static struct program one, other;
    char path[] = "/tmp/simfabric-xrcd-XXXXXX";
    int fd = mkstemp(path);
    (void)unlink(path);
    if (fd < 0 || !begin(&one, "n1") || !begin(&other, "n1"))
        return node_wrong("the devices do not open");
    if (open_domain(&one, fd, 0) || errno != ENOENT)
        return node_wrong("a domain is found that nobody made");
    if (open_domain(&one, -1, 0) || errno != EINVAL)
        return node_wrong("a domain of one program is found");
    if (!open_domain(&one, fd, O_CREAT | O_EXCL) || open_domain(&other, fd, O_CREAT | O_EXCL) ||
        errno != EEXIST)
        return node_wrong("a domain is made twice");
    if (!create_target(&one) || !open_domain(&other, -1, O_CREAT) ||
        open_target(&other, one.qp->qp_num) || errno != EINVAL)
        return node_wrong("a target of another domain is opened");
    return 0;
}

/* ------------------------------------------------------------------ the tests */

static void a_target_lives_as_long_as_a_program_has_it(void **state)
{
    node_run(*state, "n1", "--inherit");
}

static void a_domain_is_opened_as_a_file_is(void **state)
{
    node_run(*state, "n1", "--flags");
}

static int setup(void **state)
{
    return node_setup(state, "{n1: {}, n2: {}}");
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, node_teardown)
    const struct CMUnitTest tests[] = {TEST(a_target_lives_as_long_as_a_program_has_it),
                                       TEST(a_domain_is_opened_as_a_file_is)};
    if (argc == 2 && strcmp(argv[1], "--inherit") == 0)
        return inherit();
    if (argc == 2 && strcmp(argv[1], "--flags") == 0)
        return flags();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
