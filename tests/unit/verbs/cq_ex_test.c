/* SPDX-License-Identifier: Apache-2.0 */
/* Extended completion queues and parent domains through libibverbs, on a node of a fabric. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "tests/support/verbs_node.h"
#include "tests/support/verbs_pair.h"

/* ------------------------------------------------------------------ on the node */

static struct pair_end from, to;

static struct ibv_cq_ex *create(uint64_t flags, uint32_t cqe)
{
    struct ibv_cq_init_attr_ex init = {.cqe = cqe, .wc_flags = flags};
    return ibv_create_cq_ex(to.context, &init);
}

static uint64_t clock_now(void)
{
    struct ibv_values_ex values = {.comp_mask = IBV_VALUES_MASK_RAW_CLOCK};
    if (ibv_query_rt_values_ex(to.context, &values) != 0)
        return 0;
    return (uint64_t)values.raw_clock.tv_nsec;
}

static bool next(struct ibv_cq_ex *cq)
{
    struct ibv_poll_cq_attr attr = {.comp_mask = 0};
    int error;
    while ((error = ibv_start_poll(cq, &attr)) == ENOENT)
        continue;
    return error == 0;
}

static int read_members(void)
{
    struct ibv_send_wr send = {.opcode = IBV_WR_SEND_WITH_IMM, .imm_data = 0x01020304};
    to.context = node_open("n2");
    struct ibv_cq_ex *cq =
        to.context ? create(IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP, 8) : NULL;
    if (!cq)
        return node_wrong("no extended CQ");
    to.cq = ibv_cq_ex_to_cq(cq);
    if (!pair_open(&from, "n1") || !pair_open(&to, "n2") || !pair_connect(&from, &to))
        return node_wrong("no connection");
    uint64_t before = clock_now();
    if (!pair_receive(&to, 1000) || !pair_receive(&to, 1000) || !pair_post(&from, &send, 500) ||
        !pair_post(&from, &send, 600) || !next(cq))
        return node_wrong("nothing is received");
    if (cq->status != IBV_WC_SUCCESS || ibv_wc_read_opcode(cq) != IBV_WC_RECV ||
        ibv_wc_read_byte_len(cq) != 500 || ibv_wc_read_imm_data(cq) != 0x01020304 ||
        ibv_wc_read_wc_flags(cq) != IBV_WC_WITH_IMM || ibv_wc_read_qp_num(cq) != to.qp->qp_num ||
        ibv_wc_read_slid(cq) != from.port.lid)
        return node_wrong("a member is wrong");
    uint64_t first = ibv_wc_read_completion_ts(cq);
    ibv_end_poll(cq);
    if (!next(cq) || ibv_wc_read_byte_len(cq) != 600)
        return node_wrong("the second is not the second");
    uint64_t second = ibv_wc_read_completion_ts(cq);
    if (ibv_next_poll(cq) != ENOENT)
        return node_wrong("there is a third");
    ibv_end_poll(cq);
    if (before == 0 || first < before || second < first || clock_now() < second)
        return node_wrong("the times are not in order");
    return 0;
}

static int refuse(void)
{
    to.context = node_open("n2");
    if (!to.context)
        return node_wrong("the device does not open");
    if (create(IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK, 8) || errno != EOPNOTSUPP)
        return node_wrong("the wall clock is promised");
    if (create(IBV_WC_EX_WITH_FLOW_TAG, 8) || errno != EOPNOTSUPP)
        return node_wrong("flow tags are promised");
    struct ibv_cq_ex *cq = create(0, 8);
    if (!cq || cq->read_byte_len || cq->read_completion_ts)
        return node_wrong("what was not asked for is there");
    return 0;
}

static int stand_for(void)
{
    if (!pair_open(&from, "n1") || !pair_open(&to, "n2"))
        return node_wrong("the devices do not open");
    struct ibv_td_init_attr none = {.comp_mask = 0};
    struct ibv_td *td = ibv_alloc_td(to.context, &none);
    struct ibv_pd *domain = to.pd;
    struct ibv_parent_domain_init_attr attr = {.pd = domain, .td = td};
    struct ibv_pd *parent = td ? ibv_alloc_parent_domain(to.context, &attr) : NULL;
    if (!parent)
        return node_wrong("no parent domain");
    to.pd = parent;
    if (!pair_connect(&from, &to) || pair_write(&from, &to, to.mr->rkey) != IBV_WC_SUCCESS)
        return node_wrong("a parent domain is not the domain that it stands for");
    if (ibv_destroy_qp(to.qp) || ibv_dereg_mr(to.mr))
        return node_wrong("what was made in it does not end");
    if (ibv_dealloc_pd(domain) != EBUSY || ibv_dealloc_td(td) != EBUSY)
        return node_wrong("they end under their parent domain");
    if (ibv_dealloc_pd(parent) || ibv_dealloc_td(td) || ibv_dealloc_pd(domain))
        return node_wrong("they do not end");
    return 0;
}

/* ------------------------------------------------------------------ the tests */

static void a_completion_is_read_member_by_member_with_its_time(void **state)
{
    node_run(*state, "n1", "--read");
}

static void what_the_device_has_no_value_for_is_refused(void **state)
{
    node_run(*state, "n1", "--refuse");
}

static void a_parent_domain_stands_for_its_domain(void **state)
{
    node_run(*state, "n1", "--parent");
}

static int setup(void **state)
{
    return node_setup(state, "{n1: {}, n2: {}}");
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, node_teardown)
    const struct CMUnitTest tests[] = {TEST(a_completion_is_read_member_by_member_with_its_time),
                                       TEST(what_the_device_has_no_value_for_is_refused),
                                       TEST(a_parent_domain_stands_for_its_domain)};
    if (argc == 2 && strcmp(argv[1], "--read") == 0)
        return read_members();
    if (argc == 2 && strcmp(argv[1], "--refuse") == 0)
        return refuse();
    if (argc == 2 && strcmp(argv[1], "--parent") == 0)
        return stand_for();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
