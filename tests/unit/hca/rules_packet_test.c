/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "fabric_sim/hca/rules.h"

static void psns_count_in_24_bits(void **state)
{
    (void)state;
    assert_int_equal(rules_psn_add(0xffffff, 1), 0);
    assert_int_equal(rules_psn_diff(0, 0xffffff), 1);
    assert_int_equal(rules_psn_diff(0xffffff, 0), -1);
    assert_int_equal(rules_psn_diff(0x7fffff, 0), 0x7fffff);
    assert_int_equal(rules_psn_diff(0x800000, 0), -0x800000);
}

static void a_message_is_cut_at_the_path_mtu(void **state)
{
    (void)state;
    assert_int_equal(rules_packet_count(0, 1024), 1);
    assert_int_equal(rules_packet_count(1024, 1024), 1);
    assert_int_equal(rules_packet_count(1025, 1024), 2);
    assert_int_equal(rules_packet_count(2u << 20, 4096), 512);
    assert_true(rules_payload_length(RULES_FIRST, 1024, 1024));
    assert_false(rules_payload_length(RULES_FIRST, 1023, 1024));
    assert_false(rules_payload_length(RULES_MIDDLE, 1025, 1024));
    assert_true(rules_payload_length(RULES_LAST, 1, 1024));
    assert_false(rules_payload_length(RULES_LAST, 0, 1024));
    assert_true(rules_payload_length(RULES_ONLY, 0, 1024));
    assert_false(rules_payload_length(RULES_ONLY, 1025, 1024));
}

static void packets_follow_each_other_within_a_message(void **state)
{
    (void)state;
    static const struct {
        uint8_t previous, next;
        bool valid;
    } cases[] = {{255, BTH_SEND_FIRST, true},
                 {255, BTH_SEND_MIDDLE, false},
                 {255, BTH_WRITE_LAST, false},
                 {255, BTH_READ_REQUEST, true},
                 {255, BTH_FETCH_ADD, true},
                 {BTH_SEND_FIRST, BTH_SEND_MIDDLE, true},
                 {BTH_SEND_FIRST, BTH_SEND_LAST_IMM, true},
                 {BTH_SEND_MIDDLE, BTH_WRITE_MIDDLE, false},
                 {BTH_SEND_MIDDLE, BTH_SEND_FIRST, false},
                 {BTH_WRITE_FIRST, BTH_WRITE_LAST, true},
                 {BTH_WRITE_FIRST, BTH_WRITE_ONLY, false},
                 {BTH_WRITE_FIRST, BTH_READ_REQUEST, false}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(rules_sequence(cases[i].previous, cases[i].next), cases[i].valid);
}

static void opcodes_have_names(void **state)
{
    (void)state;
    assert_string_equal(rules_opcode(BTH_RC | BTH_SEND_ONLY)->name, "SEND_ONLY");
    assert_string_equal(rules_opcode(BTH_UD | BTH_SEND_ONLY_IMM)->name, "SEND_ONLY_IMM");
    assert_int_equal(rules_opcode(0x15)->kind, RULES_UNKNOWN);
    static const struct {
        uint8_t opcode;
        const char *name;
    } names[] = {{BTH_RC, "RC"}, {BTH_UC, "UC"},   {BTH_RD, "RD"},  {BTH_UD, "UD"},
                 {BTH_DC, "DC"}, {BTH_XRC, "XRC"}, {BTH_CNP, "CNP"}};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        assert_string_equal(rules_transport_name(names[i].opcode | 4), names[i].name);
}

/* Chapter 9.7.5.2.8, table 45, in nanoseconds. */
static void rnr_timers_are_those_of_the_table(void **state)
{
    (void)state;
    assert_int_equal(rules_rnr_timer(0), 655360000);
    assert_int_equal(rules_rnr_timer(1), 10000);
    assert_int_equal(rules_rnr_timer(5), 60000);
    assert_int_equal(rules_rnr_timer(12), 640000);
    assert_int_equal(rules_rnr_timer(14), 1280000);
    assert_int_equal(rules_rnr_timer(27), 122880000);
    assert_int_equal(rules_rnr_timer(31), 491520000);
    for (uint8_t code = 2; code < 32; code++)
        assert_true(rules_rnr_timer(code) > rules_rnr_timer((uint8_t)(code - 1)));
    assert_true(rules_rnr_endless(7));
    assert_false(rules_rnr_endless(6));
}

static void ack_timeouts_double(void **state)
{
    (void)state;
    assert_int_equal(rules_ack_timeout(0, 8), 0);
    assert_int_equal(rules_ack_timeout(1, 0), 8192);
    assert_int_equal(rules_ack_timeout(1, 8), 4096 << 8);
    assert_int_equal(rules_ack_timeout(14, 8), 4096 << 14);
    assert_true(rules_ack_timeout(31, 0) == UINT64_C(4096) << 31);
}

static void a_key_allows_what_lies_inside_and_was_granted(void **state)
{
    (void)state;
    const struct rules_key key = {
        .iova = 1000, .length = 100, .pd = 3, .access = HCA_ACCESS_REMOTE_READ};
    assert_true(rules_key_allows(&key, 3, 1000, 100, HCA_ACCESS_REMOTE_READ));
    assert_true(rules_key_allows(&key, 3, 1100, 0, HCA_ACCESS_REMOTE_READ));
    assert_false(rules_key_allows(&key, 3, 1000, 101, HCA_ACCESS_REMOTE_READ));
    assert_false(rules_key_allows(&key, 3, 999, 1, HCA_ACCESS_REMOTE_READ));
    assert_false(rules_key_allows(&key, 3, UINT64_MAX, 2, HCA_ACCESS_REMOTE_READ));
    assert_false(rules_key_allows(&key, 3, 1000, UINT64_MAX, HCA_ACCESS_REMOTE_READ));
    assert_false(rules_key_allows(&key, 3, 1000, 1, HCA_ACCESS_REMOTE_WRITE));
    assert_false(rules_key_allows(&key, 4, 1000, 1, HCA_ACCESS_REMOTE_READ));
    assert_int_equal(rules_remote_access(RULES_WRITE), HCA_ACCESS_REMOTE_WRITE);
    assert_int_equal(rules_remote_access(RULES_READ), HCA_ACCESS_REMOTE_READ);
    assert_int_equal(rules_remote_access(RULES_ATOMIC), HCA_ACCESS_REMOTE_ATOMIC);
    assert_int_equal(rules_remote_access(RULES_SEND), 0);
}

static void naks_become_statuses(void **state)
{
    (void)state;
    assert_int_equal(rules_nak_status(RULES_NAK_INVALID_REQUEST), FABRIC_WC_REM_INV_REQ_ERR);
    assert_int_equal(rules_nak_status(RULES_NAK_REMOTE_ACCESS), FABRIC_WC_REM_ACCESS_ERR);
    assert_int_equal(rules_nak_status(RULES_NAK_REMOTE_OPERATION), FABRIC_WC_REM_OP_ERR);
    assert_int_equal(rules_nak_status(9), FABRIC_WC_BAD_RESP_ERR);
    assert_int_equal(rules_error_state(HCA_QP_UD), FABRIC_QPS_SQE);
    assert_int_equal(rules_error_state(HCA_QP_RC), FABRIC_QPS_ERR);
}

static void a_port_answers_to_its_lids(void **state)
{
    (void)state;
    struct port_info port = {.lid = 24, .lmc = 2};
    assert_true(rules_dlid(&port, 24) && rules_dlid(&port, 27));
    assert_false(rules_dlid(&port, 23) || rules_dlid(&port, 28));
    port = (struct port_info){.lid = 0};
    assert_false(rules_dlid(&port, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(psns_count_in_24_bits),
        cmocka_unit_test(a_message_is_cut_at_the_path_mtu),
        cmocka_unit_test(packets_follow_each_other_within_a_message),
        cmocka_unit_test(opcodes_have_names),
        cmocka_unit_test(rnr_timers_are_those_of_the_table),
        cmocka_unit_test(ack_timeouts_double),
        cmocka_unit_test(a_key_allows_what_lies_inside_and_was_granted),
        cmocka_unit_test(naks_become_statuses),
        cmocka_unit_test(a_port_answers_to_its_lids)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
