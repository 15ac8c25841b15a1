/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "fabric_sim/hca/hca.h"
#include "fabric_sim/simfabric/client.h"
#include "fabric_sim/simfabric/protocol.h"

static int check(const struct protocol_request *request)
{
    struct protocol_request out;
    return protocol_check(request, sizeof(*request), &out);
}

static void a_request_of_another_size_or_version_is_none(void **state)
{
    (void)state;
    struct protocol_request request = client_request(PROTOCOL_ALLOC_PD), out;
    assert_int_equal(check(&request), 0);
    assert_int_equal(protocol_check(&request, sizeof(request) - 1, &out), EPROTO);
    assert_int_equal(protocol_check(NULL, 0, &out), EPROTO);
    request.magic++;
    assert_int_equal(check(&request), EPROTO);
}

static void an_operation_that_there_is_not_is_refused(void **state)
{
    (void)state;
    struct protocol_request request = client_request(PROTOCOL_ALLOC_PD);
    request.op = PROTOCOL_OP_COUNT;
    assert_int_equal(check(&request), EINVAL);
    assert_string_equal(protocol_op_name(PROTOCOL_OP_COUNT), "unknown");
    assert_string_equal(protocol_op_name(PROTOCOL_REG_MR), "REG_MR");
}

static void names_have_an_end(void **state)
{
    (void)state;
    struct protocol_request request = client_request(PROTOCOL_OPEN);
    assert_int_equal(check(&request), EINVAL); /* empty ones name nothing */
    strcpy(request.u.open.node, "n1");
    memset(request.u.open.device, 'x', PROTOCOL_NAME);
    assert_int_equal(check(&request), EINVAL);
    request.u.open.device[PROTOCOL_NAME - 1] = '\0';
    assert_int_equal(check(&request), 0);
}

static void a_fault_has_a_word_names_with_an_end_and_no_endless_time(void **state)
{
    (void)state;
    struct protocol_request good = client_request(PROTOCOL_FAULT), bad = good;
    assert_int_equal(check(&good), 0);
    uint32_t *const members[] = {&bad.u.fault.word, &bad.u.fault.port, &bad.u.fault.on,
                                 &bad.u.fault.gid_type};
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        bad = good;
        *members[i] = UINT32_MAX;
        assert_int_equal(check(&bad), EINVAL);
    }
    bad = good;
    bad.u.fault.duration = UINT64_MAX;
    assert_int_equal(check(&bad), EINVAL);
    bad = good;
    memset(bad.u.fault.text, 'x', sizeof(bad.u.fault.text));
    assert_int_equal(check(&bad), EINVAL);
    bad = client_request(PROTOCOL_ASK);
    strcpy(bad.u.ask.node, "n1");
    assert_int_equal(check(&bad), 0);
    memset(bad.u.ask.query, 'x', sizeof(bad.u.ask.query));
    assert_int_equal(check(&bad), EINVAL);
}

static void attributes_are_values_that_exist(void **state)
{
    (void)state;
    struct protocol_request good = client_request(PROTOCOL_MODIFY_QP), bad;
    good.u.modify.mask = HCA_QP_STATE | HCA_QP_PATH_MTU | HCA_QP_AV;
    good.u.modify.attr.state = FABRIC_QPS_RTR;
    good.u.modify.attr.path_mtu = FABRIC_MTU_4096;
    assert_int_equal(check(&good), 0);
    uint32_t *const members[] = {
        &bad.u.modify.attr.state,         &bad.u.modify.attr.cur_state,
        &bad.u.modify.attr.port_num,      &bad.u.modify.attr.pkey_index,
        &bad.u.modify.attr.path_mtu,      &bad.u.modify.attr.dest_qp_num,
        &bad.u.modify.attr.rq_psn,        &bad.u.modify.attr.sq_psn,
        &bad.u.modify.attr.max_rd_atomic, &bad.u.modify.attr.max_dest_rd_atomic,
        &bad.u.modify.attr.min_rnr_timer, &bad.u.modify.attr.timeout,
        &bad.u.modify.attr.retry_cnt,     &bad.u.modify.attr.rnr_retry,
        &bad.u.modify.attr.av.flow_label, &bad.u.modify.attr.en_sqd_async_notify};
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        bad = good;
        *members[i] = UINT32_MAX;
        assert_int_equal(check(&bad), EINVAL);
    }
    bad = good;
    bad.u.modify.attr.path_mtu = 0;
    assert_int_equal(check(&bad), EINVAL);
    bad.u.modify.mask = HCA_QP_STATE; /* then the MTU means nothing */
    assert_int_equal(check(&bad), 0);
}

static void a_window_has_a_type_and_a_region_registered_anew_a_change(void **state)
{
    (void)state;
    struct protocol_request request = client_request(PROTOCOL_ALLOC_MW);
    assert_int_equal(check(&request), EINVAL);
    request.u.mw.type = HCA_MW_TYPE_2;
    assert_int_equal(check(&request), 0);
    request.u.mw.type++;
    assert_int_equal(check(&request), EINVAL);
    request = client_request(PROTOCOL_REREG_MR);
    assert_int_equal(check(&request), EINVAL);
    request.u.mr.changes = HCA_MR_PD;
    assert_int_equal(check(&request), 0);
    request.u.mr.changes = HCA_MR_TRANSLATION; /* but no address */
    assert_int_equal(check(&request), EINVAL);
    request.u.mr.addr = 4096;
    assert_int_equal(check(&request), 0);
    request.u.mr.changes = 8;
    assert_int_equal(check(&request), EINVAL);
}

static void other_members_are_values_that_exist(void **state)
{
    (void)state;
    struct protocol_request request = client_request(PROTOCOL_CREATE_QP);
    request.u.qp.type = HCA_QP_DCT + 1;
    assert_int_equal(check(&request), EINVAL);
    request = client_request(PROTOCOL_REG_MR);
    assert_int_equal(check(&request), EINVAL); /* no address */
    request.u.mr.addr = 4096;
    assert_int_equal(check(&request), 0);
    request.u.mr.access = 32;
    assert_int_equal(check(&request), EINVAL);
    request = client_request(PROTOCOL_CREATE_AH);
    request.u.ah.av.sl = 16;
    assert_int_equal(check(&request), EINVAL);
    request = client_request(PROTOCOL_CREATE_SRQ);
    request.u.srq.max_sge = FABRIC_MAX_SGE + 1;
    assert_int_equal(check(&request), EINVAL);
    request = client_request(PROTOCOL_ATTACH_MCAST);
    request.u.mcast.mlid = 65536;
    assert_int_equal(check(&request), EINVAL);
    request = client_request(PROTOCOL_ROUTE);
    request.u.route.sl = 16;
    assert_int_equal(check(&request), EINVAL);
    request = client_request(PROTOCOL_QUERY_PORT);
    request.u.port = 256;
    assert_int_equal(check(&request), EINVAL);
    request = client_request(PROTOCOL_CREATE_CHANNEL);
    request.u.channel.async = 2;
    assert_int_equal(check(&request), EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_of_another_size_or_version_is_none),
        cmocka_unit_test(an_operation_that_there_is_not_is_refused),
        cmocka_unit_test(names_have_an_end),
        cmocka_unit_test(a_fault_has_a_word_names_with_an_end_and_no_endless_time),
        cmocka_unit_test(attributes_are_values_that_exist),
        cmocka_unit_test(a_window_has_a_type_and_a_region_registered_anew_a_change),
        cmocka_unit_test(other_members_are_values_that_exist)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
