/* SPDX-License-Identifier: Apache-2.0 */
/* HA-2.2: handover between two managers, and who takes over from a dead one. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "tests/support/subnet.h"

#define MS UINT64_C(1000000)

/* Two managers, at h0 (the lower GUID) and h3, of a subnet of four hosts. */
static void open_two(struct subnet *s, uint8_t first_priority, uint8_t second_priority)
{
    subnet_open_tree(s, 4, 4, &(struct sm_config){.priority = first_priority});
    subnet_add_manager(s, 1, "h3", &(struct sm_config){.priority = second_priority});
}

static void the_higher_priority_becomes_master(void **state)
{
    struct subnet s;

    (void)state;
    open_two(&s, 3, 5);
    sm_start(s.sm[0]);
    sm_start(s.sm[1]);
    assert_true(subnet_wait_up(&s, 1));
    assert_int_equal(sm_state(s.sm[1]), SM_MASTER);
    assert_true(subnet_wait_state(&s, 0, SM_STANDBY));
    assert_int_equal(subnet_info(&s, "h1")->sm_lid, subnet_info(&s, "h3")->lid);
    subnet_close(&s);
}

static void with_equal_priorities_the_lower_guid_becomes_master(void **state)
{
    struct subnet s;

    (void)state;
    open_two(&s, 3, 3);
    sm_start(s.sm[1]);
    sm_start(s.sm[0]);
    assert_true(subnet_wait_up(&s, 0));
    assert_int_equal(sm_state(s.sm[1]), SM_STANDBY);
    subnet_close(&s);
}

static void a_worse_one_that_comes_late_stands_by_and_changes_nothing(void **state)
{
    struct subnet s;

    (void)state;
    open_two(&s, 5, 3);
    subnet_bring_up(&s);
    subnet_watch(&s, "h1");
    sm_start(s.sm[1]);
    sim_run_until(s.sim, sim_now(s.sim) + 30000 * MS);
    assert_int_equal(sm_state(s.sm[0]), SM_MASTER);
    assert_int_equal(sm_state(s.sm[1]), SM_STANDBY);
    assert_string_equal(s.log, "");
    subnet_close(&s);
}

static void a_better_one_that_comes_late_is_given_the_subnet(void **state)
{
    struct subnet s;
    struct sm_stats stats;
    uint16_t lid;

    (void)state;
    open_two(&s, 3, 5);
    subnet_bring_up(&s);
    lid = subnet_info(&s, "h1")->lid;
    subnet_watch(&s, "h1");
    sm_start(s.sm[1]);
    assert_true(subnet_wait_up(&s, 1));
    assert_int_equal(sm_state(s.sm[0]), SM_STANDBY);
    sm_stats(s.sm[1], &stats);
    assert_int_equal(stats.handovers, 1);
    assert_string_equal(s.log, "SMLID+REREG");
    assert_int_equal(subnet_info(&s, "h1")->lid, lid);
    assert_true(subnet_walk_clean(s.net));
    subnet_close(&s);
}

static void a_standby_takes_over_when_the_master_dies(void **state)
{
    struct subnet s;
    uint64_t died;

    (void)state;
    open_two(&s, 5, 3);
    subnet_bring_up(&s);
    sm_start(s.sm[1]);
    assert_true(subnet_wait_state(&s, 1, SM_STANDBY));
    sim_run_until(s.sim, sim_now(s.sim) + 5000 * MS);
    died = sim_now(s.sim);
    sm_stop(s.sm[0]);
    assert_true(subnet_wait_up(&s, 1));
    /* four polls of a second each go unanswered first */
    assert_in_range(sim_now(s.sim) - died, 3000 * MS, 6000 * MS);
    assert_int_equal(subnet_info(&s, "h1")->sm_lid, subnet_info(&s, "h3")->lid);
    subnet_close(&s);
}

static void the_old_master_that_returns_gets_it_back(void **state)
{
    struct subnet s;

    (void)state;
    open_two(&s, 5, 3);
    subnet_bring_up(&s);
    sm_start(s.sm[1]);
    sm_stop(s.sm[0]);
    assert_true(subnet_wait_up(&s, 1));
    sm_start(s.sm[0]);
    assert_true(subnet_wait_up(&s, 0));
    assert_int_equal(sm_state(s.sm[1]), SM_STANDBY);
    assert_true(subnet_walk_clean(s.net));
    subnet_close(&s);
}

static void hand_over_and_back(struct subnet *s)
{
    sm_start(s->sm[1]);
    assert_true(subnet_wait_up(s, 0));
    assert_true(subnet_wait_state(s, 1, SM_STANDBY));
    assert_false(sm_handover(s->sm[1], s->sm[0]));
    assert_true(sm_handover(s->sm[0], s->sm[1]));
    assert_true(subnet_wait_up(s, 1));
    sim_run_until(s->sim, sim_now(s->sim) + 60000 * MS);
    assert_int_equal(sm_state(s->sm[0]), SM_STANDBY);
    assert_int_equal(sm_state(s->sm[1]), SM_MASTER);
    assert_true(sm_handover(s->sm[1], s->sm[0]));
    assert_true(subnet_wait_up(s, 0));
    assert_int_equal(sm_state(s->sm[1]), SM_STANDBY);
}

static void a_handover_on_demand_lasts(void **state)
{
    struct subnet s;

    (void)state;
    open_two(&s, 5, 3);
    subnet_bring_up(&s);
    hand_over_and_back(&s);
    subnet_close(&s);
    open_two(&s, 15, 15);
    subnet_bring_up(&s);
    hand_over_and_back(&s);
    subnet_close(&s);
}

static void a_changed_priority_counts_at_the_next_sweep(void **state)
{
    struct subnet s;

    (void)state;
    open_two(&s, 5, 3);
    subnet_bring_up(&s);
    sm_start(s.sm[1]);
    assert_true(subnet_wait_state(&s, 1, SM_STANDBY));
    assert_true(subnet_wait_up(&s, 0));
    sm_set_priority(s.sm[1], 9);
    sm_sweep(s.sm[1]); /* a standby sweeps nothing */
    sim_run_until(s.sim, sim_now(s.sim) + 1000 * MS);
    assert_int_equal(sm_state(s.sm[0]), SM_MASTER);
    assert_true(subnet_wait_up(&s, 1)); /* the master's light sweep asks the others too */
    assert_int_equal(sm_state(s.sm[0]), SM_STANDBY);
    subnet_close(&s);
}

static void when_two_subnets_join_one_master_remains(void **state)
{
    struct subnet s;

    (void)state;
    subnet_open(&s);
    subnet_add_switch(&s, "left", 0x1000, 4);
    subnet_add_switch(&s, "right", 0x2000, 4);
    subnet_add_host(&s, "a", 0x100);
    subnet_add_host(&s, "b", 0x200);
    subnet_cable(&s, "a", 1, "left", 1);
    subnet_cable(&s, "b", 1, "right", 1);
    subnet_manage(&s, "a", &(struct sm_config){.priority = 1});
    subnet_add_manager(&s, 1, "b", &(struct sm_config){.priority = 2});
    sm_start(s.sm[0]);
    sm_start(s.sm[1]);
    assert_true(subnet_wait_up(&s, 0) && subnet_wait_up(&s, 1));
    assert_int_equal(subnet_info(&s, "a")->lid, subnet_info(&s, "b")->lid);
    subnet_cable(&s, "left", 4, "right", 4);
    assert_true(subnet_wait_state(&s, 0, SM_STANDBY));
    assert_true(subnet_wait_up(&s, 1));
    assert_int_equal(sm_state(s.sm[1]), SM_MASTER);
    assert_true(subnet_walk_clean(s.net)); /* the clash of LIDs is gone */
    subnet_close(&s);
}

static void a_master_whose_successor_dies_goes_on(void **state)
{
    struct subnet s;

    (void)state;
    open_two(&s, 3, 5);
    subnet_bring_up(&s);
    sm_start(s.sm[1]);
    assert_true(subnet_wait_state(&s, 1, SM_STANDBY));
    sm_stop(s.sm[1]);
    assert_true(subnet_wait_up(&s, 0));
    assert_int_equal(sm_state(s.sm[0]), SM_MASTER);
    subnet_close(&s);
}

/* Two switches with two hosts each; managers at h0 and, less important, at h3. The link between
 * was cut so long that each half has a master, and the second one moved LIDs of its half. */
static void open_parted(struct subnet *s)
{
    subnet_open(s);
    for (unsigned i = 0; i < 4; i++) {
        subnet_add_host(s, (const char *[]){"h0", "h1", "h2", "h3"}[i], 0x100 + 0x10 * i);
        if (i < 2)
            subnet_add_switch(s, i ? "l1" : "l0", 0x1000 + 0x100 * i, 3);
    }
    subnet_cable(s, "h0", 1, "l0", 1);
    subnet_cable(s, "h1", 1, "l0", 2);
    subnet_cable(s, "h2", 1, "l1", 1);
    subnet_cable(s, "h3", 1, "l1", 2);
    subnet_cable(s, "l0", 3, "l1", 3);
    subnet_manage(s, "h0", &(struct sm_config){.priority = 5});
    subnet_add_manager(s, 1, "h3", &(struct sm_config){.priority = 3});
    subnet_bring_up(s);
    sm_start(s->sm[1]);
    assert_true(subnet_wait_state(s, 1, SM_STANDBY));
    net_link_set_up(subnet_port(s, "l0", 3), false);
    assert_true(subnet_wait_up(s, 1));
    assert_true(subnet_wait_up(s, 0));
    assert_true(sm_lid_set(s->sm[1], subnet_guid(s, "h2"), subnet_info(s, "h1")->lid));
    assert_true(subnet_wait_up(s, 1));
    assert_int_equal(subnet_info(s, "h1")->lid, subnet_info(s, "h2")->lid);
}

static void joined_again_one_of_two_masters_is_left(void **state)
{
    struct subnet s;

    (void)state;
    open_parted(&s);
    net_link_set_up(subnet_port(&s, "l0", 3), true);
    assert_true(subnet_wait_state(&s, 1, SM_STANDBY));
    assert_true(subnet_wait_up(&s, 0));
    assert_true(subnet_walk_clean(s.net));
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(subnet_info(&s, (const char *[]){"h0", "h1", "h2", "h3"}[i])->sm_lid,
                         subnet_info(&s, "h0")->lid);
    subnet_close(&s);
}

static void what_another_master_set_is_not_trusted(void **state)
{
    struct subnet s;

    (void)state;
    open_parted(&s);
    sm_stop(s.sm[1]);
    net_link_set_up(subnet_port(&s, "l0", 3), true);
    while (sm_subnet_up(s.sm[0]))
        assert_true(sim_step(s.sim));
    assert_true(subnet_wait_up(&s, 0));
    assert_true(subnet_walk_clean(s.net));
    subnet_close(&s);
}

struct told {
    unsigned answers;
    uint16_t status;
    struct mad_sm_info info;
};

static void hear_answer(void *context, const struct mad *mad, uint16_t slid)
{
    struct told *told = context;

    (void)slid;
    told->answers++;
    told->status = mad_status(mad);
    mad_sm_info_decode(mad_data_const(mad), &told->info);
}

/* A control of the master's, sent by h1 in its name; the status of the answer. */
static uint16_t control(struct subnet *s, struct told *told, const char *to, uint32_t what)
{
    struct mad_sm_info from = {.guid = subnet_guid(s, "h0"), .priority = 5, .state = SM_MASTER};
    struct mad *mad = mad_new();
    unsigned before = told->answers;

    mad_begin(mad, MAD_CLASS_SUBN_LID, what ? MAD_SET : MAD_GET, 9, MAD_SM_INFO, what);
    mad_sm_info_encode(mad_data(mad), &from);
    sma_send(s->sma, subnet_port(s, "h1", 1), mad, subnet_info(s, to)->lid);
    while (told->answers == before)
        assert_true(sim_step(s->sim));
    return told->status;
}

static void a_disabled_standby_stays_out_until_it_is_told_to_stand_by(void **state)
{
    struct told told = {0};
    struct subnet s;

    (void)state;
    open_two(&s, 5, 3);
    subnet_bring_up(&s);
    sm_start(s.sm[1]);
    assert_true(subnet_wait_state(&s, 1, SM_STANDBY) && subnet_wait_up(&s, 0));
    sma_set_manager(s.sma, subnet_port(&s, "h1", 1), hear_answer, &told);
    assert_int_equal(control(&s, &told, "h3", MAD_SM_DISABLE), MAD_STATUS_OK);
    assert_int_equal(control(&s, &told, "h3", 0), MAD_STATUS_OK); /* it answers still */
    assert_int_equal(told.info.state, SM_NOT_ACTIVE);
    assert_int_equal(control(&s, &told, "h3", MAD_SM_DISCOVER), MAD_STATUS_BAD_FIELD);
    sm_start(s.sm[1]); /* runs already */
    sm_stop(s.sm[0]);
    sim_run_until(s.sim, sim_now(s.sim) + 30000 * MS);
    assert_int_equal(sm_state(s.sm[1]), SM_NOT_ACTIVE); /* nobody takes over */
    assert_int_equal(control(&s, &told, "h3", MAD_SM_STANDBY), MAD_STATUS_OK);
    assert_int_equal(sm_state(s.sm[1]), SM_STANDBY);
    assert_true(subnet_wait_up(&s, 1)); /* and finds the master dead */
    subnet_close(&s);
}

static void a_control_for_another_state_is_refused(void **state)
{
    struct told told = {0};
    struct subnet s;

    (void)state;
    open_two(&s, 5, 3);
    subnet_bring_up(&s);
    sm_start(s.sm[1]);
    assert_true(subnet_wait_state(&s, 1, SM_STANDBY) && subnet_wait_up(&s, 0));
    sma_set_manager(s.sma, subnet_port(&s, "h1", 1), hear_answer, &told);
    assert_int_equal(control(&s, &told, "h0", MAD_SM_DISABLE), MAD_STATUS_BAD_FIELD);
    assert_int_equal(control(&s, &told, "h0", MAD_SM_STANDBY), MAD_STATUS_BAD_FIELD);
    assert_int_equal(control(&s, &told, "h0", 6), MAD_STATUS_BAD_FIELD);
    assert_int_equal(control(&s, &told, "h3", MAD_SM_ACKNOWLEDGE), MAD_STATUS_BAD_FIELD);
    assert_int_equal(sm_state(s.sm[0]), SM_MASTER);
    assert_int_equal(control(&s, &told, "h3", MAD_SM_DISABLE), MAD_STATUS_OK);
    sm_restart(s.sm[1], true); /* an operator is not bound by it */
    assert_true(subnet_wait_state(&s, 1, SM_STANDBY));
    assert_int_equal(control(&s, &told, "h3", MAD_SM_DISABLE), MAD_STATUS_OK);
    sm_stop(s.sm[1]);
    assert_int_equal(sm_state(s.sm[1]), SM_NOT_ACTIVE);
    subnet_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(joined_again_one_of_two_masters_is_left),
        cmocka_unit_test(what_another_master_set_is_not_trusted),
        cmocka_unit_test(the_higher_priority_becomes_master),
        cmocka_unit_test(with_equal_priorities_the_lower_guid_becomes_master),
        cmocka_unit_test(a_worse_one_that_comes_late_stands_by_and_changes_nothing),
        cmocka_unit_test(a_better_one_that_comes_late_is_given_the_subnet),
        cmocka_unit_test(a_standby_takes_over_when_the_master_dies),
        cmocka_unit_test(the_old_master_that_returns_gets_it_back),
        cmocka_unit_test(a_handover_on_demand_lasts),
        cmocka_unit_test(a_changed_priority_counts_at_the_next_sweep),
        cmocka_unit_test(when_two_subnets_join_one_master_remains),
        cmocka_unit_test(a_master_whose_successor_dies_goes_on),
        cmocka_unit_test(a_disabled_standby_stays_out_until_it_is_told_to_stand_by),
        cmocka_unit_test(a_control_for_another_state_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
