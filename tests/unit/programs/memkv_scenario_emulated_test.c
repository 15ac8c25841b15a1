/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scenarios on simulated adapters in real time (HA-3.7, HA-4.5): each case has a fabric of its own,
 * and nothing of it is left.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/simfabric_place.h"

static void put_scenario(struct place *place, const char *topology, const char *steps)
{
    char path[96];
    snprintf(path, sizeof(path), "%s/x.yaml", place->folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file,
            "name: on simulated adapters\nproves: [HA-3.7]\n"
            "about: A client stores a block, and things are done to the fabric.\n"
            "topology:\n%s"
            "programs:\n"
            "  store: {program: server, config: {memory: {max_size: 16 MiB}}}\n"
            "  host: {program: client, config: {servers: [\"10.0.0.1:9900\"], transport: tcp}}\n"
            "steps:\n%s",
            topology, steps);
    assert_int_equal(fclose(file), 0);
}

#define NODES "  nodes: {store: {address: 10.0.0.1}, host: {address: 10.0.0.2}}\n"
#define PUT "  - {put: {node: host, key: a, size: 64 KiB, seed: 1}}\n"

/* The runner's exit status; what it said is in `output`. */
static int run(struct place *place, const char *before, const char *after)
{
    return shell(place, "cd %s; %s ${S%%simfabric}memkv-scenario run x.yaml --fabric emulated %s",
                 place->folder, before, after);
}

static void need_fabric(struct place *place)
{
    need_node(place);
    assert_int_equal(shell(place, "$S down"), 0);
}

static void nothing_is_left(struct place *place)
{
    assert_int_equal(shell(place, "ls %s/simfabric", place->folder), 0);
    assert_string_equal(place->output, "");
}

static void faults_reach_the_fabric_and_nothing_of_it_is_left(void **state)
{
    struct place *place = *state;
    need_fabric(place);
    put_scenario(place, NODES,
                 PUT "  - {lid_set: {node: store, lid: 77}}\n"
                     "  - {after: 200 ms, ask: {node: store, query: mlx5_0/1 lid}, "
                     "expect: {answer: 77}}\n"
                     "  - {pkey_set: {node: host, index: 5, pkey: 0x0123}}\n"
                     "  - {after: 200 ms, ask: {node: host, query: mlx5_0/1 pkey 5}, "
                     "expect: {answer: 0x0123}}\n"
                     "  - {get: {node: host, key: a, size: 64 KiB, seed: 1}}\n");
    int status = run(place, "", "");
    if (status != 0)
        print_message("%s", place->output);
    assert_int_equal(status, 0);
    assert_true(said(place, "1 passed, 0 failed, 0 skipped"));
    nothing_is_left(place);
}

static void several_cases_at_a_time_do_not_meet(void **state)
{
    struct place *place = *state;
    need_fabric(place);
    put_scenario(place, NODES, PUT);
    assert_int_equal(
        shell(place, "cd %s && sed -i '2i matrix: {case: [a, b, c, d]}' x.yaml", place->folder), 0);
    assert_int_equal(run(place, "", "--jobs 4"), 0);
    assert_true(said(place, "4 passed, 0 failed, 0 skipped"));
    nothing_is_left(place);
}

static void what_is_not_simulated_is_skipped_with_the_reason(void **state)
{
    struct place *place = *state;
    need_fabric(place);
    put_scenario(place, NODES, "  - {disk_full: {node: store, on: true}}\n");
    assert_int_equal(run(place, "", ""), 4);
    assert_true(said(place, "fabric emulated lacks"));
    assert_true(said(place, "disk_f"));
    put_scenario(
        place, "  nodes: {store: {address: 10.0.0.1, control: ib0, netdev: ib0}, host: {}}\n", PUT);
    assert_int_equal(run(place, "", ""), 4);
    assert_true(said(place, "whose packets are not simulated"));
    nothing_is_left(place);
}

/* Its fabric sees standard input end; the agents do too. */
static void a_runner_that_is_killed_leaves_no_fabric(void **state)
{
    struct place *place = *state;
    need_fabric(place);
    put_scenario(place, NODES, PUT "  - {nothing: 1 m}\n");
    assert_int_equal(run(place, "",
                         "--slow & runner=$!; "
                         "until ls simfabric/*/socket 2>/dev/null; do :; done; "
                         "kill -KILL $runner; "
                         "for i in $(seq 600); do ls -d simfabric/* || break; sleep 0.1; "
                         "done"),
                     0);
    nothing_is_left(place);
}

/* Each of the cases that are under way is told once, and has the time to clean up. */
static void a_run_that_is_interrupted_leaves_nothing_of_any_case(void **state)
{
    struct place *place = *state;
    need_fabric(place);
    put_scenario(place, NODES, PUT "  - {nothing: 1 m}\n");
    assert_int_equal(
        shell(place, "cd %s && sed -i '2i matrix: {case: [a, b, c, d]}' x.yaml", place->folder), 0);
    assert_int_equal(run(place, "",
                         "--slow --jobs 4 >said & runner=$!; "
                         "until [ $(ls simfabric/*/socket 2>/dev/null | wc -l) = 4 ]; do :; done; "
                         "names=$(ls simfabric); kill -TERM $runner; wait $runner; "
                         "for name in $names; do ! test -e /tmp/$name || exit 9; done"),
                     0);
    nothing_is_left(place);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, place_setup, place_teardown)
    const struct CMUnitTest tests[] = {TEST(faults_reach_the_fabric_and_nothing_of_it_is_left),
                                       TEST(several_cases_at_a_time_do_not_meet),
                                       TEST(what_is_not_simulated_is_skipped_with_the_reason),
                                       TEST(a_runner_that_is_killed_leaves_no_fabric),
                                       TEST(a_run_that_is_interrupted_leaves_nothing_of_any_case)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
