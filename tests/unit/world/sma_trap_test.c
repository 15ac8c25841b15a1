/* SPDX-License-Identifier: Apache-2.0 */
/* HA-2.2, HA-2.3: trap 128, 144, 257 and 259. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "tests/support/sma_asker.h"

#define MS UINT64_C(1000000)

/* As after a sweep: everyone knows the manager at h0, LID 1, and the way to it. */
static void open_managed(struct asker *a)
{
    open_asker(a);
    subnet_info(&a->s, "h0")->lid = 1;
    subnet_info(&a->s, "h2")->lid = 3;
    subnet_info(&a->s, "h2")->sm_lid = 1;
    net_port_info(subnet_port(&a->s, "l0", 0))->lid = 5;
    net_port_info(subnet_port(&a->s, "l0", 0))->sm_lid = 1;
    net_lft_set(net_find(a->s.net, "l0"), 1, 1);
    net_lft_set_top(net_find(a->s.net, "l0"), 9);
    net_lft_set(net_find(a->s.net, "l0"), 3, 3);
}

static struct mad_notice heard(const struct asker *a)
{
    struct mad_notice notice;

    assert_true(a->received > 0);
    assert_int_equal(mad_method(&a->last), MAD_TRAP);
    mad_notice_decode(mad_data_const(&a->last), &notice);
    return notice;
}

static void repress(struct asker *a)
{
    struct mad *mad = mad_new();

    *mad = a->last;
    mad_set_method(mad, MAD_TRAP_REPRESS);
    sma_send(a->s.sma, subnet_port(&a->s, "h0", 1), mad, a->slid);
}

static void a_switch_tells_that_a_link_went(void **state)
{
    struct asker a;
    struct mad_notice notice;

    (void)state;
    open_managed(&a);
    net_link_set_up(subnet_port(&a.s, "h3", 1), false);
    sim_run_until(a.s.sim, sim_now(a.s.sim) + MS);
    assert_int_equal(a.received, 1);
    notice = heard(&a);
    assert_int_equal(notice.trap_number, MAD_TRAP_LINK_STATE);
    assert_int_equal(notice.producer_type, MAD_NODE_SWITCH);
    assert_int_equal(notice.issuer_lid, 5);
    assert_int_equal(notice.lid1, 5);
    assert_int_equal(a.slid, 5);
    subnet_close(&a.s);
}

static void a_trap_is_repeated_until_it_is_repressed(void **state)
{
    struct asker a;
    struct sma_stats stats;

    (void)state;
    open_managed(&a);
    net_link_set_up(subnet_port(&a.s, "h3", 1), false);
    sim_run_until(a.s.sim, sim_now(a.s.sim) + 3500 * MS); /* one each 4.096 us * 2^18 */
    assert_int_equal(a.received, 4);
    assert_int_equal(heard(&a).count, 3);
    repress(&a);
    sim_run_until(a.s.sim, sim_now(a.s.sim) + 10000 * MS);
    assert_int_equal(a.received, 4);
    sma_stats(a.s.sma, &stats);
    assert_int_equal(stats.traps_sent, 4);
    assert_int_equal(stats.traps_repressed, 1);
    repress(&a); /* once more is nothing */
    sim_run_until(a.s.sim, sim_now(a.s.sim) + MS);
    sma_stats(a.s.sma, &stats);
    assert_int_equal(stats.traps_repressed, 1);
    subnet_close(&a.s);
}

static void what_happens_before_the_repress_is_told_after_it(void **state)
{
    struct asker a;

    (void)state;
    open_managed(&a);
    net_link_set_up(subnet_port(&a.s, "h3", 1), false);
    net_link_set_up(subnet_port(&a.s, "h3", 1), true);
    sim_run_until(a.s.sim, sim_now(a.s.sim) + MS);
    assert_int_equal(a.received, 1);
    repress(&a);
    sim_run_until(a.s.sim, sim_now(a.s.sim) + MS);
    assert_int_equal(a.received, 2);
    assert_true(heard(&a).toggle);
    subnet_close(&a.s);
}

static void without_a_manager_nobody_is_told(void **state)
{
    struct asker a;
    struct sma_stats stats;

    (void)state;
    open_asker(&a);
    net_link_set_up(subnet_port(&a.s, "h3", 1), false);
    sim_run_until(a.s.sim, sim_now(a.s.sim) + 5000 * MS);
    sma_stats(a.s.sma, &stats);
    assert_int_equal(stats.traps_sent, 0);
    subnet_close(&a.s);
}

static void a_wrong_key_is_reported_by_the_receiver(void **state)
{
    const struct sma_violation violation = {.trap = MAD_TRAP_BAD_PKEY,
                                            .slid = 2,
                                            .dlid = 3,
                                            .key = 0x8005,
                                            .sl = 1,
                                            .src_qp = 0x111,
                                            .dest_qp = 0x222};
    struct asker a;
    struct mad_notice notice;

    (void)state;
    open_managed(&a);
    sma_key_violation(a.s.sma, subnet_port(&a.s, "h2", 1), &violation);
    sim_run_until(a.s.sim, sim_now(a.s.sim) + MS);
    notice = heard(&a);
    assert_int_equal(notice.trap_number, 257);
    assert_int_equal(notice.type, MAD_NOTICE_SECURITY);
    assert_int_equal(notice.producer_type, MAD_NODE_CA);
    assert_int_equal(notice.issuer_lid, 3);
    assert_int_equal(notice.lid1, 2);
    assert_int_equal(notice.lid2, 3);
    assert_int_equal(notice.key, 0x8005);
    assert_int_equal(notice.qp1, 0x111);
    assert_int_equal(notice.qp2, 0x222);
    assert_int_equal(notice.gid2[0], 0xFE);
    subnet_close(&a.s);
}

static void an_enforcing_switch_reports_what_it_discards(void **state)
{
    struct asker a;
    struct port_info *port;
    struct packet *packet;
    struct mad_notice notice;

    (void)state;
    open_managed(&a);
    port = net_port_info(subnet_port(&a.s, "l0", 3));
    port->partition_enforce_in = 1;
    for (unsigned i = 0; i < 2; i++) {
        struct port_info *end = i ? port : subnet_info(&a.s, "h2"), before = *end;

        end->state = FABRIC_PORT_ACTIVE;
        net_port_changed(subnet_port(&a.s, i ? "l0" : "h2", i ? 3 : 1), &before);
    }
    packet = net_alloc(a.s.net);
    packet->slid = 3;
    packet->dlid = 1;
    packet->pkey = 0x8099;
    packet->wire_bytes = 100;
    assert_true(net_send(subnet_port(&a.s, "h2", 1), packet));
    sim_run_until(a.s.sim, sim_now(a.s.sim) + MS);
    notice = heard(&a);
    assert_int_equal(notice.trap_number, 259);
    assert_int_equal(notice.key, 0x8099);
    assert_int_equal(notice.switch_lid, 5);
    assert_int_equal(notice.gid2[0], 0); /* the packet had none */
    subnet_close(&a.s);
}

static void a_manager_that_comes_is_told_to_the_master(void **state)
{
    struct asker a;

    (void)state;
    open_managed(&a);
    subnet_info(&a.s, "h2")->is_sm = 1;
    sma_capability_changed(a.s.sma, subnet_port(&a.s, "h2", 1));
    sim_run_until(a.s.sim, sim_now(a.s.sim) + MS);
    assert_int_equal(heard(&a).trap_number, MAD_TRAP_CAPABILITY);
    assert_int_equal(heard(&a).lid1, 3);
    assert_int_equal(heard(&a).capability_mask, MAD_CAP_IS_SM | MAD_CAP_TRAP | MAD_CAP_SL_MAPPING |
                                                    MAD_CAP_EXTENDED_SPEEDS |
                                                    MAD_CAP_CLIENT_REREGISTER);
    subnet_close(&a.s);
}

static void the_master_represses_and_counts_violations(void **state)
{
    const struct sma_violation violation = {.trap = MAD_TRAP_BAD_PKEY, .slid = 2, .dlid = 3};
    struct subnet s;
    struct sm_stats stats;
    struct sma_stats agents;

    (void)state;
    subnet_open_tree(&s, 8, 4, NULL);
    subnet_bring_up(&s);
    sma_key_violation(s.sma, subnet_port(&s, "h5", 1), &violation);
    sim_run_until(s.sim, sim_now(s.sim) + 5000 * MS);
    sm_stats(s.sm[0], &stats);
    sma_stats(s.sma, &agents);
    assert_int_equal(stats.pkey_violations, 1);
    assert_int_equal(stats.heavy_sweeps, 1); /* no reason to look */
    assert_int_equal(agents.traps_sent, 1);
    assert_int_equal(agents.traps_repressed, 1);
    subnet_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_switch_tells_that_a_link_went),
        cmocka_unit_test(a_trap_is_repeated_until_it_is_repressed),
        cmocka_unit_test(what_happens_before_the_repress_is_told_after_it),
        cmocka_unit_test(without_a_manager_nobody_is_told),
        cmocka_unit_test(a_wrong_key_is_reported_by_the_receiver),
        cmocka_unit_test(an_enforcing_switch_reports_what_it_discards),
        cmocka_unit_test(a_manager_that_comes_is_told_to_the_master),
        cmocka_unit_test(the_master_represses_and_counts_violations),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
