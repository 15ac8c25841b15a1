/* SPDX-License-Identifier: Apache-2.0 */
/* What is typed to simfabric without running a program on a node (HA-3.1). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>

#include "tests/support/simfabric_place.h"

static void what_is_typed_wrong_is_told(void **state)
{
    struct place *place = *state;
    assert_int_equal(shell(place, "$S"), 2);
    assert_int_equal(shell(place, "$S upp"), 2);
    assert_true(said(place, "did you mean up"));
    assert_int_equal(shell(place, "$S up --sed 3 x"), 2);
    assert_true(said(place, "did you mean --seed"));
    assert_int_equal(shell(place, "$S up --seed 18446744073709551616 x"), 2);
    assert_int_equal(shell(place, "$S down other"), 2);
    assert_true(said(place, "too many: other"));
    assert_int_equal(shell(place, "$S status -- true"), 2);
    assert_int_equal(shell(place, "$S exec --node n1 x -- true"), 2);
    assert_int_equal(shell(place, "$S status --name a/b"), 2);
    assert_int_equal(shell(place, "$S exec --node n1"), 2);
    assert_int_equal(shell(place, "$S exec -- true"), 2);
    assert_int_equal(shell(place, "$S up %s/none.yaml", place->folder), 3);
    assert_int_equal(shell(place, "mkdir %s/empty; $S up %s/empty", place->folder, place->folder),
                     3);
    assert_true(said(place, "/empty: no topology.yaml, and 0 other *.yaml files: name one"));
    assert_int_equal(shell(place,
                           "echo 'nodes: {n1: {devices: {mlx5_0: {profile: nix}}}}' >%s/x; "
                           "$S up %s/x",
                           place->folder, place->folder),
                     3);
    assert_true(said(place, "profile"));
    assert_int_equal(
        shell(place, "echo 'nods: {}' >%s/x; $S up %s/x", place->folder, place->folder), 3);
    assert_true(said(place, "/x:1:1:"));
    assert_int_equal(shell(place, "$S help"), 0);
    assert_int_equal(shell(place, "$S help >/dev/full"), 1);
    assert_true(said(place, "cannot write to standard output"));
}

static void fault_words_are_typed_and_taken_back(void **state)
{
    struct place *place = *state;
    assert_int_equal(shell(place, "$S ctl port_down n1"), 4);
    bring_up(place, "default");
    assert_int_equal(shell(place, "$S ctl port_down n1"), 0);
    assert_int_equal(shell(place, "$S status"), 0);
    assert_true(said(place, "n1           mlx5_0/1 DOWN"));
    assert_int_equal(shell(place, "$S ctl undo"), 0);
    assert_int_equal(shell(place, "until $S status | grep -q 'n1 .*ACTIVE'; do :; done"), 0);
    assert_int_equal(shell(place,
                           "$S ctl lid_set n1 77 && until grep -qx 0x4d %s/simfabric/"
                           "default/nodes/n1/sys/class/infiniband/mlx5_0/ports/1/lid; "
                           "do :; done",
                           place->folder),
                     0);
    assert_int_equal(shell(place, "$S ctl"), 2);
    assert_int_equal(shell(place, "$S ctl undo n1"), 2);
    assert_int_equal(shell(place, "$S ctl port_dwn n1"), 2);
    assert_true(said(place, "word 1, column 1: there is no fault word 'port_dwn'; did you mean "
                            "port_down\n  port_dwn n1\n  ^\n"));
    assert_int_equal(shell(place, "$S ctl loss n1 ppm=x"), 2);
    assert_true(said(place, "  loss n1 ppm=x\n              ^\n"));
    assert_int_equal(shell(place, "$S ctl disk_full n1"), 5);
    assert_true(said(place, "not_supported"));
    assert_int_equal(shell(place, "$S ctl process_kill n1"), 5);
    assert_int_equal(shell(place, "$S ctl --help"), 0);
    assert_true(said(place, "  pkey_set NODE INDEX PKEY [device=...] [port=...]\n"));
    assert_false(said(place, "disk_full"));
}

static void a_fabric_is_looked_into_and_drawn(void **state)
{
    struct place *place = *state;
    assert_int_equal(shell(place, "$S inspect"), 4);
    assert_int_equal(shell(place, "$S status --json 2>/dev/null"), 4);
    assert_true(said(place, "{\"ok\":false,\"error\":{\"name\":\"unreachable\","));
    bring_up(place, "default");
    assert_int_equal(shell(place, "$S inspect"), 0);
    assert_true(said(place, "n2 mlx5_0: node_guid 0x"));
    assert_true(said(place, "  port 1: ACTIVE, InfiniBand, lid 1,"));
    assert_true(said(place, "P_Keys 0:0xffff\n"));
    assert_int_equal(shell(place, "$S inspect n1"), 0);
    assert_false(said(place, "n2 mlx5_0"));
    assert_int_equal(shell(place, "$S inspect n11"), 2);
    assert_true(said(place, "did you mean n1"));
    assert_int_equal(shell(place, "$S inspect --json"), 0);
    assert_true(said(place, "{\"version\":1,"));
    assert_int_equal(shell(place, "$S status -j"), 0);
    assert_true(said(place, "{\"node\":\"n1\",\"device\":\"mlx5_0\",\"port\":1,"
                            "\"state\":\"ACTIVE\",\"lid\":1,"));
    assert_int_equal(shell(place, "$S inspect --json >/dev/full"), 1);
    assert_int_equal(shell(place, "$S ctl port_down n2 && $S graph --format dot"), 0);
    assert_true(said(place, "\"ib/switch\" -- \"n1/mlx5_0\" [label=\"4X 100.0 Gb/s\""));
    assert_true(said(place, "-- \"n2/mlx5_0\" [label=\"4X 100.0 Gb/s, DOWN\""));
    assert_int_equal(shell(place, "$S graph --format mermaid"), 0);
    assert_true(said(place, "n0 ---|\"4X 100.0 Gb/s\"| n1"));
    assert_int_equal(shell(place, "$S graph --format html"), 0);
    assert_true(said(place, "stroke-dasharray"));
    assert_true(said(place, "</svg>\n</body>"));
    assert_int_equal(shell(place, "$S graph --format png"), 2);
}

static void topologies_are_generated_and_validated(void **state)
{
    struct place *place = *state;
    assert_int_equal(shell(place, "$S generate fat-tree --nodes 6 | $S up -"), 0);
    assert_true(said(place, "nodes=6 ports=6 active=6"));
    assert_int_equal(shell(place, "$S generate dragonfly --nodes 20 | $S validate -"), 0);
    assert_string_equal(place->output, "simfabric: valid file=- nodes=20 switches=12 links=21\n");
    assert_int_equal(shell(place, "$S generate fat-tre"), 2);
    assert_true(said(place, "did you mean fat-tree"));
    assert_int_equal(shell(place, "$S generate pair --nodes 0"), 2);
    assert_int_equal(shell(place, "$S generate"), 2);
    char one[80];
    snprintf(one, sizeof(one), "%s/one", place->folder);
    assert_int_equal(shell(place, "mkdir %s && cp %s/pair.yaml %s && $S validate %s", one,
                           place->folder, one, one),
                     0); /* the only one there */
    assert_int_equal(shell(place, "cd %s && mv pair.yaml topology.yaml && $S validate", one), 0);
    assert_string_equal(place->output, "simfabric: valid file=. nodes=2 switches=0 links=0\n");
    assert_int_equal(shell(place,
                           "cd %s && cp topology.yaml a.yaml && mv topology.yaml b.yaml && "
                           "$S validate",
                           one),
                     3);
    assert_true(said(place, "no topology.yaml, and 2 other *.yaml files"));
    assert_int_equal(shell(place, "echo 'nodes: {n1: {switch: s1}}' | $S validate -"), 3);
    assert_true(said(place, "-:1:13: switch: found 's1'"));
    assert_int_equal(
        shell(place, "echo '{switches: {s: {ports: 1}}, nodes: {a: {}, b: {}}}' | $S validate -"),
        3);
    assert_true(said(place, "no free port"));
}

static void every_command_has_help_with_an_example(void **state)
{
    static const char *const commands[] = {"up",       "exec",     "shell",   "completion",
                                           "ctl",      "status",   "inspect", "graph",
                                           "generate", "validate", "down",    "help"};
    struct place *place = *state;
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        assert_int_equal(shell(place, "$S %s --help", commands[i]), 0);
        assert_true(said(place, "usage: simfabric "));
        assert_true(said(place, "examples:\n  "));
        assert_int_equal(shell(place, "$S help | grep -q '^  %s'", commands[i]), 0);
    }
    assert_int_equal(shell(place, "$S help hlp"), 2);
    assert_true(said(place, "did you mean help"));
}

static void what_is_typed_is_completed(void **state)
{
    struct place *place = *state;
    need_program(place, "bash");
    bring_up(place, "default");
    assert_int_equal(shell(place, "$S completion"), 2);
    assert_int_equal(shell(place, "$S completion bash >%s/complete", place->folder), 0);
    static const struct {
        const char *words, *found;
    } cases[] = {{"ctl port_d", "=port_down="},     {"insp", "=inspect="},
                 {"exec --node \"\"", "=n1 n2="},   {"ctl port_down n", "=n1 n2="},
                 {"generate fat", "=fat-tree="},    {"graph --format m", "=mermaid="},
                 {"exec --no", "=--node --nodes="}, {"ctl disk_f", "=="},
                 {"inspect --name other n", "=="},  {"help ct", "=ctl="}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(shell(place,
                               "bash -c 'source %s/complete; COMP_WORDS=('$S' %s); "
                               "COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _simfabric; "
                               "echo \"=${COMPREPLY[*]}=\"'",
                               place->folder, cases[i].words),
                         0);
        if (!said(place, cases[i].found))
            fail_msg("%s: %s", cases[i].words, place->output);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, place_setup, place_teardown)
    const struct CMUnitTest tests[] = {TEST(what_is_typed_wrong_is_told),
                                       TEST(fault_words_are_typed_and_taken_back),
                                       TEST(a_fabric_is_looked_into_and_drawn),
                                       TEST(topologies_are_generated_and_validated),
                                       TEST(every_command_has_help_with_an_example),
                                       TEST(what_is_typed_is_completed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
