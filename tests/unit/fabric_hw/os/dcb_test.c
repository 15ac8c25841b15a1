/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of the kernel's DCB interface. MK-G3. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <libmnl/libmnl.h>
#include <linux/dcbnl.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>

#include "fabric_hw/os/dcb.h"
#include "fabric_hw/os/os.h"

#define TRUST_TABLE 11 /* of the kernel; older headers have no name for it */

static char buf[4096] __attribute__((aligned(8)));
static struct nlmsghdr *message;
static struct nlattr *ieee;

/* A message that has begun: the DCB header and the nest of the IEEE attributes. */
static void begin(void)
{
    memset(buf, 0, sizeof(buf));
    message = mnl_nlmsg_put_header(buf);
    message->nlmsg_type = RTM_GETDCB;
    struct dcbmsg *head = mnl_nlmsg_put_extra_header(message, sizeof(*head));
    head->cmd = DCB_CMD_IEEE_GET;
    mnl_attr_put_strz(message, DCB_ATTR_IFNAME, "eth0");
    ieee = mnl_attr_nest_start(message, DCB_ATTR_IEEE);
}

static void put_app(uint8_t selector, uint16_t protocol, uint8_t priority)
{
    const struct dcb_app app = {.selector = selector, .protocol = protocol, .priority = priority};
    mnl_attr_put(message, DCB_ATTR_IEEE_APP, sizeof(app), &app);
}

static struct fabric_dcb finish(void)
{
    struct fabric_dcb dcb = {.known = false};
    mnl_attr_nest_end(message, ieee);
    assert_true(os_dcb_read(buf, message->nlmsg_len, &dcb));
    return dcb;
}

static void put_everything(void)
{
    const struct ieee_pfc pfc = {.pfc_en = 1 << 3};
    struct ieee_ets ets = {.ets_cap = 8};
    for (uint8_t i = 0; i < 8; i++)
        ets.prio_tc[i] = (uint8_t)(7 - i);
    begin();
    mnl_attr_put(message, DCB_ATTR_IEEE_ETS, sizeof(ets), &ets);
    mnl_attr_put(message, DCB_ATTR_IEEE_PFC, sizeof(pfc), &pfc);
    struct nlattr *apps = mnl_attr_nest_start(message, DCB_ATTR_IEEE_APP_TABLE);
    put_app(5, 26, 3);
    put_app(5, 26, 2); /* of two the higher counts */
    put_app(5, 46, 6);
    put_app(1, 0x8906, 4); /* an EtherType */
    put_app(5, 64, 1);     /* no DSCP */
    mnl_attr_nest_end(message, apps);
}

static void priorities_classes_and_dscp_entries_are_read(void **state)
{
    (void)state;
    put_everything();
    struct fabric_dcb dcb = finish();
    assert_true(dcb.known && dcb.present && dcb.trusts_dscp);
    assert_int_equal(dcb.pfc_enabled, 1 << 3);
    for (uint8_t i = 0; i < 8; i++)
        assert_int_equal(dcb.ets_tc[i], 7 - i);
    for (uint8_t i = 0; i < 64; i++)
        assert_int_equal(dcb.dscp_prio[i], i == 26 ? 3 : i == 46 ? 6 : 0);
}

static void trust_is_what_the_kernel_says_where_it_says(void **state)
{
    (void)state;
    put_everything();
    struct nlattr *trust = mnl_attr_nest_start(message, TRUST_TABLE);
    mnl_attr_put_u8(message, 3, 24); /* PCP before DSCP */
    mnl_attr_put_u8(message, 1, 5);
    mnl_attr_nest_end(message, trust);
    assert_false(finish().trusts_dscp);
}

static void without_entries_the_vlan_priority_is_trusted(void **state)
{
    (void)state;
    begin();
    struct fabric_dcb dcb = finish();
    assert_true(dcb.known && dcb.present);
    assert_false(dcb.trusts_dscp);
}

static void an_answer_without_ieee_attributes_has_no_dcb(void **state)
{
    struct fabric_dcb dcb = {.present = true};
    (void)state;
    begin();
    mnl_attr_nest_cancel(message, ieee);
    assert_true(os_dcb_read(buf, message->nlmsg_len, &dcb));
    assert_true(dcb.known);
    assert_false(dcb.present);
}

static void what_is_no_answer_is_refused(void **state)
{
    struct fabric_dcb dcb = {.pfc_enabled = 77};
    (void)state;
    put_everything();
    finish();
    assert_false(os_dcb_read(buf, 10, &dcb));
    message->nlmsg_len -= 2; /* its last attribute would end beyond it */
    assert_false(os_dcb_read(buf, message->nlmsg_len, &dcb));
    message->nlmsg_len += 2;
    const uint32_t length = message->nlmsg_len;
    message->nlmsg_len = 0x80000000u + length; /* negative as an int */
    assert_false(os_dcb_read(buf, length, &dcb));
    message->nlmsg_len = length;
    message->nlmsg_type = RTM_NEWLINK;
    assert_false(os_dcb_read(buf, message->nlmsg_len, &dcb));
    assert_int_equal(dcb.pfc_enabled, 77);
}

/* Every length and every changed byte: nothing is read past the end (the sanitizers look). */
static void broken_answers_do_no_harm(void **state)
{
    struct fabric_dcb dcb;
    (void)state;
    put_everything();
    finish();
    uint32_t length = message->nlmsg_len;
    for (uint32_t i = 0; i < length * 8; i++) {
        char *copy = malloc(length);
        assert_non_null(copy);
        memcpy(copy, buf, length);
        copy[i / 8] = (char)(copy[i / 8] ^ (1 << i % 8));
        (void)os_dcb_read(copy, length, &dcb);
        (void)os_dcb_read(buf, i / 8, &dcb);
        free(copy);
    }
    for (uint8_t i = 0; i < 64; i++)
        assert_true(dcb.dscp_prio[i] < 8);
}

static void an_interface_without_dcb_is_known_to_have_none(void **state)
{
    const struct os_fabric_options options = {.log_fd = -1}, tree = {.log_fd = -1, .sysroot = "/x"};
    struct fabric *f;
    struct fabric_dcb dcb;
    (void)state;
    assert_int_equal(os_fabric_create(&options, &f), FABRIC_OK);
    assert_int_equal(fabric_dcb_query(f, "no-such-interface", &dcb), FABRIC_OK);
    assert_false(dcb.present);
    assert_int_equal(fabric_dcb_query(f, "lo", &dcb), FABRIC_OK);
    assert_false(dcb.present);
    assert_int_equal(fabric_destroy(f), FABRIC_OK);
    assert_int_equal(os_fabric_create(&tree, &f), FABRIC_OK);
    assert_int_equal(fabric_dcb_query(f, "lo", &dcb), FABRIC_OK);
    assert_false(dcb.known); /* a tree of files has no kernel to ask */
    assert_int_equal(fabric_destroy(f), FABRIC_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(priorities_classes_and_dscp_entries_are_read),
        cmocka_unit_test(trust_is_what_the_kernel_says_where_it_says),
        cmocka_unit_test(without_entries_the_vlan_priority_is_trusted),
        cmocka_unit_test(an_answer_without_ieee_attributes_has_no_dcb),
        cmocka_unit_test(what_is_no_answer_is_refused),
        cmocka_unit_test(broken_answers_do_no_harm),
        cmocka_unit_test(an_interface_without_dcb_is_known_to_have_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
