/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "src/rail/backoff.h"
#include "tests/support/rail_bench.h"

static void an_active_port_is_ready_and_described(void **state)
{
    (void)state;
    struct rail_bench b;
    struct rail *r = rail_bench_open(&b);
    b.port->attr.lmc = 2;
    assert_true(rail_judge(r));
    assert_int_equal(r->state, RAIL_READY);
    assert_int_equal(r->address.lid, 1);
    assert_int_equal(r->address.lmc, 2);
    assert_int_equal(r->address.pkey, 0xffff);
    assert_true(r->address.subnet_prefix == 0xfe80000000000000u);
    assert_int_equal(r->address.max_rd_atomic, 16);
    assert_int_equal(r->address.max_dest_rd_atomic, 0); /* nobody reads from a server */
    assert_int_equal(r->address.generation, 1);
    assert_false(rail_judge(r));
    assert_int_equal(r->address.generation, 1);
    assert_int_equal(rail_transfer_error(r), FABRIC_OK);
    rail_bench_close(&b);
}

/* MK-B3: who READs is limited by its initiator depth (16 here), who is READ by its responder
 * resources. */
static void each_role_tells_the_read_resources_it_uses(void **state)
{
    (void)state;
    static const enum rail_role roles[] = {RAIL_SERVER, RAIL_CLIENT};
    struct rail_bench b;
    struct rail *r = rail_bench_open(&b);
    b.port->max_rd_atomic = 4;
    for (size_t i = 0; i < 2; i++) {
        rail_close(r);
        assert_int_equal(rail_open_all(small_fabric(b.w, 0), roles[i], &b.config, b.rails), 1);
        assert_true(rail_judge(r));
        assert_int_equal(r->address.max_rd_atomic, i ? 0 : 16);
        assert_int_equal(r->address.max_dest_rd_atomic, i ? 4 : 0);
    }
    rail_bench_close(&b);
}

/* MK-C2: outside 1 to 0xBFFF is no LID. */
static void only_unicast_lids_count(void **state)
{
    (void)state;
    static const struct {
        uint16_t lid;
        enum fabric_error reason;
    } cases[] = {{0, ERR_NO_LID},      {1, FABRIC_OK},       {0xbfff, FABRIC_OK},
                 {0xc000, ERR_NO_LID}, {0xffff, ERR_NO_LID}, {0x8120, FABRIC_OK}};
    struct rail_bench b;
    struct rail *r = rail_bench_open(&b);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        b.port->attr.lid = cases[i].lid;
        rail_judge(r);
        assert_int_equal(r->reason, cases[i].reason);
    }
    rail_bench_close(&b);
}

/* Until a port is ACTIVE nothing of it is wrong (MK-D3, CASE-Z6). */
static void nothing_is_judged_before_the_port_is_active(void **state)
{
    (void)state;
    static const struct {
        enum fabric_port_state state;
        enum fabric_error reason;
    } cases[] = {{FABRIC_PORT_DOWN, ERR_PORT_DOWN},
                 {FABRIC_PORT_INIT, ERR_WAITING_FOR_SM},
                 {FABRIC_PORT_ARMED, ERR_WAITING_FOR_SM}};
    struct rail_bench b;
    struct rail *r = rail_bench_open(&b);
    b.config.pkey_index = 1;
    b.config.mtu = 4096;
    b.port->attr.active_mtu = FABRIC_MTU_256;
    for (size_t i = 0; i < 3; i++) {
        b.port->attr.state = cases[i].state;
        rail_judge(r);
        assert_int_equal(r->state, RAIL_WAITING);
        assert_int_equal(r->reason, cases[i].reason);
    }
    assert_int_equal(rail_transfer_error(r), ERR_NO_LID);
    b.port->attr.state = FABRIC_PORT_ACTIVE;
    rail_judge(r);
    assert_int_equal(r->state, RAIL_REFUSED);
    assert_int_equal(r->reason, ERR_PKEY_EMPTY);
    b.port->pkeys[1] = 0x8001;
    rail_judge(r);
    assert_int_equal(r->reason, ERR_MTU_ABOVE_ACTIVE);
    b.port->attr.active_mtu = FABRIC_MTU_4096;
    rail_judge(r);
    assert_int_equal(r->state, RAIL_READY);
    assert_int_equal(r->address.pkey, 0x8001);
    assert_int_equal(r->address.pkey_index, 1);
    rail_bench_close(&b);
}

/* A port on its way up changes more than once; the wait is one thing and said once (MK-C1). */
static void a_port_on_its_way_up_is_waited_for_once(void **state)
{
    (void)state;
    struct rail_bench b;
    struct rail *r = rail_bench_open(&b);
    b.port->attr.state = FABRIC_PORT_INIT;
    b.port->attr.lid = 0;
    assert_true(rail_judge(r));
    assert_int_equal(r->reason, ERR_WAITING_FOR_SM);
    uint32_t generation = r->address.generation;
    b.port->attr.lid = 7;
    assert_false(rail_judge(r));
    assert_non_null(strstr(r->detail, "LID 7")); /* still the latest that is known */
    assert_int_equal(r->address.generation, generation);
    b.port->attr.state = FABRIC_PORT_ACTIVE;
    assert_true(rail_judge(r));
    assert_int_equal(r->state, RAIL_READY);
    rail_bench_close(&b);
}

static void an_index_past_the_table_is_named(void **state)
{
    (void)state;
    struct rail_bench b;
    struct rail *r = rail_bench_open(&b);
    b.config.pkey_index = 200;
    rail_judge(r);
    assert_int_equal(r->reason, ERR_PKEY_INDEX_RANGE);
    assert_non_null(strstr(r->detail, "200"));
    assert_true(rail_is_configuration(r->reason));
    rail_bench_close(&b);
}

/* MK-D5: by value, wherever it is; a full entry before a limited one. */
static void a_partition_is_found_by_value(void **state)
{
    (void)state;
    struct rail_bench b;
    struct rail *r = rail_bench_open(&b);
    b.config.pkey = 0x8001;
    rail_judge(r);
    assert_int_equal(r->reason, ERR_PKEY_NOT_FOUND);
    b.port->pkeys[2] = 0x0001;
    rail_judge(r);
    assert_int_equal(r->address.pkey_index, 2);
    assert_int_equal(small_logged(b.w, 0, "WARN"), 2); /* refused before; limited now */
    b.port->pkeys[5] = 0x8001;
    rail_judge(r);
    assert_int_equal(r->address.pkey_index, 5);
    b.port->pkeys[5] = 0;
    b.port->pkeys[3] = 0x8001; /* moved */
    assert_true(rail_judge(r));
    assert_int_equal(r->address.pkey_index, 3);
    rail_bench_close(&b);
}

static void settings_that_mean_nothing_are_reported_once(void **state)
{
    (void)state;
    struct rail_bench b;
    struct rail *r = rail_bench_open(&b);
    b.config.gid_index = 3;
    b.config.traffic_class = 106;
    b.config.service_level = 5;
    for (unsigned i = 0; i < 2; i++) {
        b.port->attr.lid++;
        rail_judge(r);
    }
    assert_int_equal(small_logged(b.w, 0, "gid_index is ignored"), 1);
    assert_int_equal(small_logged(b.w, 0, "traffic_class is ignored"), 1);
    assert_int_equal(small_logged(b.w, 0, "virtual lane"), 1);
    assert_int_equal(r->address.sl, 5);
    assert_int_equal(r->address.traffic_class, 0);
    rail_bench_close(&b);
}

static void roce_needs_a_gid_and_no_partition(void **state)
{
    (void)state;
    struct rail_bench b;
    struct rail *r = rail_bench_open(&b);
    b.config.pkey_index = 1;
    b.config.pkey_index_set = true;
    b.config.traffic_class = 104;
    b.port->attr.link_layer = FABRIC_LINK_LAYER_ETHERNET;
    b.port->attr.lid = 0;
    b.port->gid_there[0] = false;
    rail_judge(r);
    assert_int_equal(r->reason, ERR_GID_NONE);
    assert_int_equal(r->state, RAIL_WAITING);
    b.port->gid_there[2] = true; /* after a hole */
    b.port->gids[2].type = FABRIC_GID_TYPE_ROCE_V2;
    b.port->gids[2].gid.raw[10] = b.port->gids[2].gid.raw[11] = 0xff;
    b.port->gids[2].gid.raw[12] = 10;
    assert_true(rail_judge(r));
    assert_int_equal(r->state, RAIL_READY);
    assert_int_equal(r->address.link_layer, FABRIC_LINK_LAYER_ETHERNET);
    assert_int_equal(r->address.pkey_index, 0);
    assert_int_equal(r->address.gids[0].index, 2);
    assert_int_equal(r->address.traffic_class, 104);
    assert_int_equal(small_logged(b.w, 0, "pkey_index is ignored on RoCE"), 1);
    b.config.gid_index = 1; /* pinned to a hole */
    rail_judge(r);
    assert_int_equal(r->reason, ERR_GID_NONE);
    rail_bench_close(&b);
}

static void gid(struct rail_bench *b, uint32_t index, uint8_t last)
{
    b->port->gid_there[index] = true;
    b->port->gids[index].type = FABRIC_GID_TYPE_ROCE_V2;
    b->port->gids[index].gid.raw[10] = b->port->gids[index].gid.raw[11] = 0xff;
    b->port->gids[index].gid.raw[12] = 10;
    b->port->gids[index].gid.raw[15] = last;
}

/* MK-C4: as long as its own GID is there, with the same index, and nothing else changed. */
static void a_path_stands_while_only_other_gids_change(void **state)
{
    (void)state;
    struct rail_bench b;
    struct rail *r = rail_bench_open(&b);
    b.port->attr.link_layer = FABRIC_LINK_LAYER_ETHERNET;
    b.port->attr.lid = 0;
    b.port->gid_there[0] = false;
    gid(&b, 2, 1);
    assert_true(rail_judge(r));
    struct fabric_path path = {.av.is_global = true}, local = {.av.is_global = false};
    assert_false(rail_path_stands(r, &path)); /* it was not READY before */
    gid(&b, 1, 2);                            /* comes before it in the list */
    assert_true(rail_judge(r));
    assert_true(rail_path_stands(r, &path));
    assert_int_equal(r->address.gids[path.local_gid].index, 2);
    assert_true(rail_path_stands(r, &local));
    b.port->gid_there[1] = false;
    assert_true(rail_judge(r));
    assert_true(rail_path_stands(r, &path));
    assert_int_equal(r->address.gids[path.local_gid].index, 2);
    b.port->attr.active_mtu = FABRIC_MTU_1024;
    assert_true(rail_judge(r));
    assert_false(rail_path_stands(r, &path) || rail_path_stands(r, &local));
    gid(&b, 3, 1); /* the same value at another index */
    b.port->gid_there[2] = false;
    assert_true(rail_judge(r));
    assert_false(rail_path_stands(r, &path));
    assert_true(rail_path_stands(r, &local));
    rail_bench_close(&b);
}

static struct fabric_async event(const struct rail *r, enum fabric_async_type type, uint8_t port)
{
    return (struct fabric_async){.type = type, .device = r->device, .port_num = port};
}

/* MK-C4: by device and port. */
static void events_are_dispatched_by_device_and_port(void **state)
{
    (void)state;
    static const enum fabric_async_type types[] = {
        FABRIC_ASYNC_PORT_ACTIVE,      FABRIC_ASYNC_PORT_ERR,   FABRIC_ASYNC_LID_CHANGE,
        FABRIC_ASYNC_PKEY_CHANGE,      FABRIC_ASYNC_GID_CHANGE, FABRIC_ASYNC_SM_CHANGE,
        FABRIC_ASYNC_CLIENT_REREGISTER};
    struct rail_bench b;
    struct rail *r = rail_bench_open(&b);
    rail_judge(r);
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        struct fabric_async e = event(r, types[i], 1);
        assert_true(rail_concerned(r, &e));
        e.port_num = 2;
        assert_false(rail_concerned(r, &e));
        e.port_num = 1;
        e.device.id++;
        assert_false(rail_concerned(r, &e));
    }
    struct fabric_async e = event(r, FABRIC_ASYNC_COMM_EST, 1);
    assert_false(rail_concerned(r, &e));
    rail_bench_close(&b);
}

static void a_device_that_returns_is_opened_again(void **state)
{
    (void)state;
    struct rail_bench b;
    struct rail *r = rail_bench_open(&b);
    rail_judge(r);
    uint32_t epoch = r->epoch;
    struct fabric_async e = event(r, FABRIC_ASYNC_DEVICE_FATAL, 0);
    b.port->gone = true;
    assert_true(rail_concerned(r, &e));
    assert_true(rail_judge_event(r, &e));
    assert_int_equal(r->reason, ERR_DEVICE_REMOVED);
    assert_int_equal(r->device.id, 0);
    assert_false(rail_concerned(r, &e));
    b.port->gone = false;
    assert_false(rail_judge(r)); /* too early */
    small_run(b.w, RAIL_BACKOFF_FIRST * 5 / 4);
    assert_true(rail_judge(r));
    assert_int_equal(r->state, RAIL_READY);
    assert_true(r->epoch > epoch);
    b.port->gone = true; /* and once more, without an event */
    assert_true(rail_judge(r));
    assert_int_equal(r->reason, ERR_DEVICE_REMOVED);
    rail_bench_close(&b);
}

/* Whoever looks, and however often: a device that opens and does not answer is opened again ever
 * more seldom, and the owner is told when to look. */
static void opening_a_device_again_backs_off(void **state)
{
    (void)state;
    struct rail_bench b;
    struct rail *r = rail_bench_open(&b);
    uint64_t waits[12];
    r->cookie = 7;
    small_fail(b.w, 0, FABRIC_OP_PORT_QUERY, 1, 1000, ERR_RESOURCES_EXHAUSTED);
    rail_judge(r);
    for (uint32_t i = 0; i < 12; i++) {
        uint64_t now = small_now(b.w);
        uint32_t before = r->epoch;
        for (uint32_t k = 0; k < 3; k++)
            assert_false(rail_judge(r));
        assert_int_equal(r->reason, ERR_DEVICE_REMOVED);
        assert_int_equal(r->epoch, before);
        assert_true(r->reopen_at > now && r->reopen.id);
        waits[i] = r->reopen_at - now;
        small_run(b.w, waits[i]);
        assert_false(rail_judge(r)); /* said once */
        assert_int_equal(r->epoch, before + 1);
    }
    assert_true(waits[0] >= RAIL_BACKOFF_FIRST && waits[0] <= RAIL_BACKOFF_FIRST * 5 / 4);
    assert_true(waits[3] >= 8 * RAIL_BACKOFF_FIRST);
    assert_true(waits[11] >= RAIL_BACKOFF_LAST && waits[11] <= RAIL_BACKOFF_LAST * 5 / 4);
    rail_bench_close(&b);
}

static void a_device_that_answered_long_enough_is_opened_again_at_once(void **state)
{
    (void)state;
    struct rail_bench b;
    struct rail *r = rail_bench_open(&b);
    rail_judge(r);
    for (uint32_t settled = 0; settled < 2; settled++) {
        struct fabric_async e = event(r, FABRIC_ASYNC_CQ_ERR, 0);
        uint32_t epoch = r->epoch;
        small_run(b.w, settled ? RAIL_SETTLED : 1);
        assert_true(rail_concerned(r, &e));
        assert_true(rail_judge_event(r, &e));
        assert_int_equal(r->state, settled ? RAIL_READY : RAIL_WAITING);
        assert_int_equal(r->epoch, epoch + settled);
        small_run(b.w, RAIL_BACKOFF_FIRST * 5 / 4);
        assert_int_equal(rail_judge(r), !settled);
        assert_int_equal(r->state, RAIL_READY);
    }
    rail_bench_close(&b);
}

static void a_port_that_is_not_there_is_refused(void **state)
{
    (void)state;
    struct rail_bench b;
    struct rail *r = rail_bench_open(&b);
    r->wanted_port = 3;
    rail_judge(r);
    assert_int_equal(r->state, RAIL_REFUSED);
    rail_bench_close(&b);
}

static void faults_look_the_other_way_round_from_the_other_end(void **state)
{
    (void)state;
    assert_int_equal(rail_mirror(ERR_NO_LID), ERR_PEER_NO_LID);
    assert_int_equal(rail_mirror(ERR_WAITING_FOR_SM), ERR_PEER_NO_LID);
    assert_int_equal(rail_mirror(ERR_PEER_NO_LID), ERR_NO_LID);
    assert_int_equal(rail_mirror(ERR_PKEY_LIMITED_PAIR), ERR_PKEY_LIMITED_PAIR);
    assert_false(rail_is_configuration(ERR_RETRY_EXCEEDED));
    assert_string_equal(rail_state_name(RAIL_WAITING), "waiting");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_active_port_is_ready_and_described),
        cmocka_unit_test(each_role_tells_the_read_resources_it_uses),
        cmocka_unit_test(only_unicast_lids_count),
        cmocka_unit_test(nothing_is_judged_before_the_port_is_active),
        cmocka_unit_test(a_port_on_its_way_up_is_waited_for_once),
        cmocka_unit_test(an_index_past_the_table_is_named),
        cmocka_unit_test(a_partition_is_found_by_value),
        cmocka_unit_test(settings_that_mean_nothing_are_reported_once),
        cmocka_unit_test(roce_needs_a_gid_and_no_partition),
        cmocka_unit_test(a_path_stands_while_only_other_gids_change),
        cmocka_unit_test(events_are_dispatched_by_device_and_port),
        cmocka_unit_test(a_device_that_returns_is_opened_again),
        cmocka_unit_test(opening_a_device_again_backs_off),
        cmocka_unit_test(a_device_that_answered_long_enough_is_opened_again_at_once),
        cmocka_unit_test(a_port_that_is_not_there_is_refused),
        cmocka_unit_test(faults_look_the_other_way_round_from_the_other_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
