/* SPDX-License-Identifier: Apache-2.0 */
/* MK-J1, MK-J4: a server whose store is kept in a file, on the simulator's disk. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "src/client/program.h"
#include "src/server/program.h"
#include "tests/support/one_bed.h"

#define KEY "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
#define PATH "/var/lib/memkv/lane-0.memkv"

static void start_server(const char *storage)
{
    char config[512];
    snprintf(config, sizeof config,
             "network: {address: \"0.0.0.0:9900\", auth_key: " KEY "}\n"
             "memory: {max_size: 1 MiB}\n"
             "storage: {%s%s}\n",
             strstr(storage, "mode: ") ? "" : "mode: file, ", storage);
    assert_int_equal(sim_bed_start(&bed, "a", &memkv_server_program, config), TESTBED_DONE);
}

static void start_client(void)
{
    assert_int_equal(sim_bed_start(&bed, "b", &memkv_client_program,
                                   "servers: [\"10.0.0.1:9900\"]\nauth_key: " KEY
                                   "\ntransport: tcp\n"),
                     TESTBED_DONE);
    assert_true(sim_bed_until(&bed, "10.0.0.1:9900: connected"));
}

static void tell(const char *node, const char *json, const char *answer)
{
    sim_bed_forget(&bed);
    assert_int_equal(sim_testbed.tell(bed.tb, node, json, bed.detail), TESTBED_DONE);
    assert_true(sim_bed_until(&bed, answer));
}

static void it_is_ready_when_its_store_is_open(void **state)
{
    (void)state;
    start_server("path: /var/lib/memkv, max_size: 2 MiB");
    assert_int_equal(sim_bed_count(&bed, "\"event\":\"ready\""), 0);
    assert_true(sim_bed_until(&bed, "\"event\":\"ready\""));
    assert_int_equal(sim_bed_count(&bed, "lane 0: 0 blocks, 0 torn ones dropped"), 1);
    start_client();
    tell("b", "{\"id\":1,\"op\":\"put\",\"key\":\"k\",\"size\":70000,\"seed\":1}", "\"ok\":true");
    tell("b", "{\"id\":2,\"op\":\"get\",\"key\":\"k\",\"size\":70000,\"seed\":1}",
         "\"equal\":true");
    tell("a", "{\"id\":3,\"op\":\"status\"}", "\"drives_online\":1");
    assert_int_equal(sim_bed_count(&bed, "\"blocks\":1,\"used\":73728"), 2); /* sum and lane */
    tell("b", "{\"id\":4,\"op\":\"delete\",\"key\":\"k\"}", "\"ok\":true");
    tell("b", "{\"id\":5,\"op\":\"exists\",\"key\":\"k\"}", "\"found\":false");
}

static void what_is_deleted_is_answered_before_the_server_ends(void **state)
{
    (void)state;
    start_server("path: /var/lib/memkv, max_size: 2 MiB");
    assert_true(sim_bed_until(&bed, "\"event\":\"ready\""));
    start_client();
    tell("b", "{\"id\":1,\"op\":\"put\",\"key\":\"k\",\"size\":7,\"seed\":1}", "\"ok\":true");
    DO(FAULT(.word = TESTBED_DISK_SLOW, .node = "a", .duration = BED_SECOND));
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(
            sim_testbed.tell(bed.tb, "b", "{\"id\":2,\"op\":\"delete\",\"key\":\"k\"}", bed.detail),
            TESTBED_DONE);
    sim_bed_run(&bed, BED_SECOND / 10);
    sim_bed_forget(&bed);
    tell("a", "{\"id\":3,\"op\":\"drain\"}", "\"event\":\"drained\",\"whole\":true");
    sim_bed_run(&bed, BED_SECOND / 10);
    assert_int_equal(sim_bed_count(&bed, "\"op\":\"delete\",\"ok\":true"), 3);
}

static void a_store_that_is_none_is_said_and_it_is_never_ready(void **state)
{
    (void)state;
    static const char text[8192] = "something else";
    assert_int_equal(sim_testbed.place_file(bed.tb, "a", PATH, text, sizeof text, bed.detail),
                     TESTBED_DONE);
    start_server("path: /var/lib/memkv, max_size: 2 MiB");
    assert_true(sim_bed_until(&bed, "{\"event\":\"failed\",\"error\":\"media_failed\"}"));
    assert_int_equal(sim_bed_count(&bed, "media_failed: " PATH ": holds no store"), 1);
    sim_bed_run(&bed, 3 * BED_SECOND);
    assert_int_equal(sim_bed_count(&bed, "\"event\":\"ready\""), 0);
}

/* Two lanes with a device each; nothing is made where nothing is. */
static void blocks_on_devices_survive_a_power_cut(void **state)
{
    (void)state;
    static const char blank[2u << 20];
    static const char plan[] =
        "mode: direct, devices: [/dev/one, /dev/two], lanes: 2, max_size: 4 MiB";
    assert_int_equal(
        sim_testbed.place_file(bed.tb, "a", "/dev/one", blank, sizeof blank, bed.detail),
        TESTBED_DONE);
    start_server(plan);
    assert_true(sim_bed_until(&bed, "\"event\":\"failed\""));
    assert_int_equal(
        sim_bed_count(&bed, "/dev/two: it cannot be opened past the page cache: not_found"), 1);
    assert_int_equal(sim_testbed.node_stop(bed.tb, "a", bed.detail), TESTBED_DONE);
    assert_int_equal(
        sim_testbed.place_file(bed.tb, "a", "/dev/two", blank, sizeof blank, bed.detail),
        TESTBED_DONE);
    start_server(plan);
    assert_true(sim_bed_until(&bed, "\"event\":\"ready\""));
    start_client();
    tell("b",
         "{\"id\":1,\"op\":\"put_many\",\"key\":\"k\",\"count\":8,\"size\":30000,"
         "\"seed\":1}",
         "\"ok\":true");
    DO(FAULT(.word = TESTBED_POWER_LOSS, .node = "a"));
    DO(FAULT(.word = TESTBED_POWER_RETURN, .node = "a"));
    start_server(plan);
    sim_bed_forget(&bed);
    assert_true(sim_bed_until(&bed, "\"event\":\"ready\""));
    tell("b",
         "{\"id\":2,\"op\":\"get_many\",\"key\":\"k\",\"count\":8,\"size\":30000,"
         "\"seed\":1,\"timeout_ms\":60000}",
         "\"ok\":true");
    tell("a", "{\"id\":3,\"op\":\"status\"}",
         "\"checksums\":0,\"drives_online\":2,\"drives_offline\":0}");
}

static void what_cannot_be_planned_is_refused_at_the_start(void **state)
{
    (void)state;
    static const char *const plans[][2] = {
        {"path: relative, max_size: 2 MiB", "an absolute path"},
        {"path: /p, max_size: 1 MiB, lanes: 2", "less than 1 MiB"},
        {"mode: direct, devices: [/a, /b, /c], lanes: 2, max_size: 8 MiB", "no multiple of lanes"},
    };
    for (size_t i = 0; i < sizeof plans / sizeof plans[0]; i++) {
        sim_bed_forget(&bed);
        start_server(plans[i][0]);
        assert_true(sim_bed_until(&bed, "a exited config_invalid"));
        assert_int_equal(sim_bed_count(&bed, plans[i][1]), 1);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, bed_setup, bed_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(it_is_ready_when_its_store_is_open),
        TEST(what_is_deleted_is_answered_before_the_server_ends),
        TEST(a_store_that_is_none_is_said_and_it_is_never_ready),
        TEST(blocks_on_devices_survive_a_power_cut),
        TEST(what_cannot_be_planned_is_refused_at_the_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
