/* SPDX-License-Identifier: Apache-2.0 */
/* Memory windows through libibverbs, on a node of a fabric. */
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

static struct pair_end writer, lender;

static bool open_both(void)
{
    return pair_open(&writer, "n1") && pair_open(&lender, "n2") && pair_connect(&writer, &lender);
}

static enum ibv_wc_status bind_first(struct ibv_mw *mw, size_t length)
{
    struct ibv_mw_bind bind = {.send_flags = IBV_SEND_SIGNALED,
                               .bind_info = {.mr = length ? lender.mr : NULL,
                                             .addr = length ? (uintptr_t)lender.bytes : 0,
                                             .length = length,
                                             .mw_access_flags = IBV_ACCESS_REMOTE_WRITE}};
    if (ibv_bind_mw(lender.qp, mw, &bind) != 0)
        return IBV_WC_GENERAL_ERR;
    struct ibv_wc wc = pair_completion(&lender);
    return wc.status == IBV_WC_SUCCESS && wc.opcode != IBV_WC_BIND_MW ? IBV_WC_GENERAL_ERR
                                                                      : wc.status;
}

static int lend_first(void)
{
    if (!open_both())
        return node_wrong("no connection");
    struct ibv_mw *mw = ibv_alloc_mw(lender.pd, IBV_MW_TYPE_1);
    if (!mw)
        return node_wrong("no window");
    uint32_t before = mw->rkey;
    if (bind_first(mw, 4096) != IBV_WC_SUCCESS || mw->rkey != ibv_inc_rkey(before))
        return node_wrong("a window is not bound under its next key");
    memset(writer.bytes, 0x5a, 64);
    if (pair_write(&writer, &lender, mw->rkey) != IBV_WC_SUCCESS || lender.bytes[63] != 0x5a)
        return node_wrong("nothing is written through a window");
    if (ibv_dereg_mr(lender.mr) == 0)
        return node_wrong("a region ends under a window");
    if (bind_first(mw, 0) != IBV_WC_SUCCESS)
        return node_wrong("a window is not taken back");
    memset(writer.bytes, 0x11, 64);
    if (pair_write(&writer, &lender, mw->rkey) != IBV_WC_REM_ACCESS_ERR || lender.bytes[0] != 0x5a)
        return node_wrong("a window that was taken back lends on");
    return ibv_dealloc_mw(mw) || ibv_dereg_mr(lender.mr) ? node_wrong("they do not end") : 0;
}

static int lend_second(void)
{
    if (!open_both())
        return node_wrong("no connection");
    struct ibv_mw *mw = ibv_alloc_mw(lender.pd, IBV_MW_TYPE_2);
    if (!mw)
        return node_wrong("no window");
    struct ibv_send_wr bind = {.opcode = IBV_WR_BIND_MW};
    bind.bind_mw.mw = mw;
    bind.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
    bind.bind_mw.bind_info = (struct ibv_mw_bind_info){.mr = lender.mr,
                                                       .addr = (uintptr_t)lender.bytes,
                                                       .length = 4096,
                                                       .mw_access_flags = IBV_ACCESS_REMOTE_WRITE};
    if (!pair_post(&lender, &bind, 0) || pair_completion(&lender).status != IBV_WC_SUCCESS)
        return node_wrong("a window of type 2 is not bound");
    uint32_t rkey = bind.bind_mw.rkey;
    if (pair_write(&writer, &lender, rkey) != IBV_WC_SUCCESS)
        return node_wrong("nothing is written through a window");
    struct ibv_send_wr send = {.opcode = IBV_WR_SEND_WITH_INV, .invalidate_rkey = rkey};
    if (!pair_receive(&lender, 64) || !pair_post(&writer, &send, 64) ||
        pair_completion(&writer).status != IBV_WC_SUCCESS)
        return node_wrong("a send does not invalidate");
    struct ibv_wc told = pair_completion(&lender);
    if (!(told.wc_flags & IBV_WC_WITH_INV) || told.invalidated_rkey != rkey)
        return node_wrong("the receiver is not told of the key");
    return pair_write(&writer, &lender, rkey) == IBV_WC_REM_ACCESS_ERR
               ? 0
               : node_wrong("an invalidated window lends on");
}

static int refuse(void)
{
    struct ibv_mw_bind bind = {.bind_info = {.mw_access_flags = IBV_ACCESS_REMOTE_WRITE}};
    if (!open_both())
        return node_wrong("no connection");
    struct ibv_mw *second = ibv_alloc_mw(lender.pd, IBV_MW_TYPE_2);
    if (ibv_alloc_mw(lender.pd, 3) || errno != EINVAL)
        return node_wrong("there is a third type");
    if (!second || ibv_bind_mw(lender.qp, second, &bind) != EINVAL)
        return node_wrong("type 2 is bound by the call for type 1");
    bind.bind_info.length = 10;
    struct ibv_mw *first = ibv_alloc_mw(lender.pd, IBV_MW_TYPE_1);
    if (!first || ibv_bind_mw(lender.qp, first, &bind) != EINVAL)
        return node_wrong("a range of no region is bound");
    return ibv_dealloc_pd(lender.pd) == EBUSY ? 0 : node_wrong("a domain ends under a window");
}

/* ------------------------------------------------------------------ the tests */

static void a_window_of_type_1_lends_until_it_is_bound_to_nothing(void **state)
{
    node_run(*state, "n1", "--first");
}

static void a_window_of_type_2_lends_until_a_peer_invalidates_it(void **state)
{
    node_run(*state, "n1", "--second");
}

static void what_is_no_binding_is_refused_at_once(void **state)
{
    node_run(*state, "n1", "--refuse");
}

static int setup(void **state)
{
    return node_setup(state, "{n1: {}, n2: {}}");
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, node_teardown)
    const struct CMUnitTest tests[] = {TEST(a_window_of_type_1_lends_until_it_is_bound_to_nothing),
                                       TEST(a_window_of_type_2_lends_until_a_peer_invalidates_it),
                                       TEST(what_is_no_binding_is_refused_at_once)};
    if (argc == 2 && strcmp(argv[1], "--first") == 0)
        return lend_first();
    if (argc == 2 && strcmp(argv[1], "--second") == 0)
        return lend_second();
    if (argc == 2 && strcmp(argv[1], "--refuse") == 0)
        return refuse();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
