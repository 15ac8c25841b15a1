/* SPDX-License-Identifier: Apache-2.0 */
/* The program on machines: this one plays all of them, its actuators are commands that write down
 * what they did (HA-4.4, HA-4.5). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fabric_hw/os/children.h"

#define SECOND UINT64_C(1000000000)

/* 127.0.1.x is nobody's, and the ports of one run are no other's: a run has its own addresses. */
static char folder[64], program[256], address[16];
static struct remote_host host;

static void put(const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_true(host.write(host.context, path, text, strlen(text), 0));
}

static const char *content(const char *name)
{
    static char text[65536];
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return host.read(host.context, path, text, sizeof text) ? text : "(none)";
}

#define ACT(word, on)                                                                              \
    "  " word ": {" on "do: [[sh, -c, 'echo do " word " >>%1$s/log']],"                            \
    " undo: [[sh, -c, 'echo undo " word " >>%1$s/log']]}\n"

static void put_inventory(const char *name, const char *top)
{
    char text[4096];
    snprintf(text, sizeof text,
             "%4$s"
             "state: %1$s/state\nslack: 20 s\nagent: [%2$s, agent]\n"
             "nodes: {a: {address: %3$s1}, b: {address: %3$s2}}\n"
             "commands:\n" ACT("port_down", "") ACT("disk_full", "") ACT("sm_stop", "on: runner, "),
             folder, program, address, top);
    put(name, text);
}

static void put_scenario(const char *name, const char *steps)
{
    char text[4096];
    snprintf(text, sizeof text,
             "name: on machines\nproves: [HA-4.5]\n"
             "about: A client stores a block over TCP, and things are done to the machines.\n"
             "topology:\n"
             "  nodes: {store: {address: 10.0.0.1, devices: {}}, host: {address: 10.0.0.2, "
             "devices: {}}}\n"
             "programs:\n"
             "  store: {program: server, config: {memory: {max_size: 16 MiB}}}\n"
             "  host: {program: client, config: {servers: [\"10.0.0.1:9900\"], transport: tcp}}\n"
             "steps:\n%s",
             steps);
    put(name, text);
}

static int setup(void **state)
{
    char self[200] = "";
    (void)state;
    assert_true(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
    char *tests = strstr(self, "/tests/unit/");
    assert_non_null(tests);
    *tests = '\0';
    snprintf(program, sizeof program, "%s/memkv-scenario", self);
    snprintf(folder, sizeof folder, "/tmp/memkv-machines.XXXXXX");
    assert_non_null(mkdtemp(folder));
    assert_true(os_children_create(false, &host));
    snprintf(address, sizeof address, "127.%u.%u.", 1 + (unsigned)getpid() / 250 % 250,
             1 + (unsigned)getpid() % 250);
    put_inventory("lab.yaml", "exclusive: true\nallowed: all\n");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    host.remove(host.context, folder);
    os_children_destroy(&host);
    return 0;
}

/* Runs the program with the words after its name; its lines are in the file `out`. */
static int run(const char *line)
{
    char whole[1024], said[256];
    const char *const words[] = {"sh", "-c", whole, NULL};
    snprintf(whole, sizeof whole, "cd %s && %s %s >out 2>&1", folder, program, line);
    return host.run(host.context, words, 120 * SECOND, said, sizeof said);
}

#define RUN "run x.yaml --fabric lab --inventory lab.yaml "

static void says(const char *what)
{
    if (!strstr(content("out"), what))
        fail_msg("'%s' is not in: %s", what, content("out"));
}

static void blocks_move_and_what_was_done_is_undone(void **state)
{
    (void)state;
    put_scenario("x.yaml",
                 "  - {put: {node: host, key: a, size: 64 KiB, seed: 1}}\n"
                 "  - {port_down: store}\n"
                 "  - {sm_stop: sm}\n"
                 "  - {disk_full: {node: host, on: true}}\n"
                 "  - {get: {node: host, key: a, size: 64 KiB, seed: 1}, expect: {equal: true}}\n"
                 "  - {ask: {node: store, query: address}, expect: {answer: 10.0.0.1}}\n"
                 "  - {ask: {node: store, query: running}, expect: {answer: true}}\n");
    assert_int_equal(run(RUN), 0);
    says("1 passed, 0 failed, 0 skipped");
    /* The latest of a machine first; the machines in reverse order, the runner's own last. */
    assert_string_equal(content("log"), "do port_down\ndo sm_stop\ndo disk_full\nundo disk_full\n"
                                        "undo port_down\nundo sm_stop\n");
    char path[128];
    const char *const left[] = {"a.undo", "b.undo", "runner.undo"};
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/state/%s", folder, left[i]);
        assert_int_not_equal(access(path, F_OK), 0);
    }
}

static void a_program_is_killed_started_anew_and_frozen(void **state)
{
    (void)state;
    put_scenario("x.yaml",
                 "  - {put: {node: host, key: a, size: 1 KiB, seed: 1}}\n"
                 "  - {process_kill: store}\n"
                 "  - {ask: {node: store, query: running}}\n"
                 "  - {put: {node: host, key: b, size: 1 KiB, seed: 1, timeout: 200 ms},\n"
                 "     expect: {outcome: unreachable}}\n"
                 "  - {process_restart: store}\n"
                 "  - {put: {node: host, key: c, size: 1 KiB, seed: 1, timeout: 30 s}}\n"
                 "  - {process_freeze: store}\n"
                 "  - {put: {node: host, key: d, size: 1 KiB, seed: 1, timeout: 200 ms},\n"
                 "     expect: {outcome: 'failed:timeout'}}\n"
                 "  - {process_freeze: {node: store, on: false}}\n"
                 "  - {get: {node: host, key: c, size: 1 KiB, seed: 1, timeout: 30 s},\n"
                 "     expect: {equal: true}}\n"
                 "expect:\n"
                 "  - {node: store, exit: cancelled, count: 1}\n");
    assert_int_equal(run(RUN), 0);
}

static void calls_can_be_made_to_fail(void **state)
{
    (void)state;
    put_scenario("x.yaml",
                 "  - {verb_fails: {node: host, operation: connect, error: unreachable}}\n"
                 "  - {process_restart: host}\n" /* it had connected before */
                 "  - {put: {node: host, key: a, size: 1 KiB, seed: 1, timeout: 300 ms},\n"
                 "     expect: {outcome: unreachable}}\n");
    if (run(RUN) != 0)
        fail_msg("%s", content("out"));
}

static void what_machines_cannot_be_is_skipped_with_the_reason(void **state)
{
    (void)state;
    put("x.yaml", "name: skipped\nproves: [HA-4.5]\nabout: A subnet that is no machine's.\n"
                  "topology: {subnets: {ib: {lmc: 1}}, nodes: [a]}\nsteps: [{sm_stop: sm}]\n");
    assert_int_equal(run(RUN), 4);
    says("subnet ib has settings of its subnet manager");
    put_scenario("x.yaml", "  - {at: 6 s, port_down: store}\n");
    assert_int_equal(run(RUN), 4);
    says("takes 6 s where time is real: only with --slow");
    put_scenario("x.yaml", "  - {power_loss: store}\n");
    assert_int_equal(run(RUN), 4);
    says("lacks: power_loss");
}

/* It is no property of the fabric that an agent does not start. */
static void what_breaks_is_no_skip(void **state)
{
    (void)state;
    put_scenario("x.yaml", "  - {port_down: store}\n");
    char text[512];
    snprintf(text, sizeof text,
             "exclusive: true\nallowed: all\nagent: ['false']\n"
             "nodes: {a: {address: 192.0.2.1}, b: {address: 192.0.2.2}}\n"
             "commands: {port_down: {do: [['true']], undo: []}}\nstate: %s/state\n",
             folder);
    put("broken.yaml", text);
    assert_int_equal(run("run x.yaml --fabric lab --inventory broken.yaml"), 1);
    says("the agent of a ended");
    says("0 passed, 1 failed, 0 skipped");
}

static void a_plan_does_nothing(void **state)
{
    (void)state;
    put_scenario("x.yaml", "  - {port_down: store}\n  - {power_loss: host}\n");
    assert_int_equal(run(RUN "--plan"), 0);
    says("store: do:   sh -c echo do port_down");
    says("store: undo: sh -c echo undo port_down");
    says("cannot be done: power_loss");
    assert_string_equal(content("log"), "(none)");
}

static void only_machines_of_ones_own_are_touched(void **state)
{
    (void)state;
    put_scenario("x.yaml", "  - {port_down: store}\n");
    put_inventory("shared.yaml", "allowed: all\n");
    assert_int_equal(run("run x.yaml --fabric lab --inventory shared.yaml"), 3);
    says("does not say `exclusive: true`");
    put_inventory("careful.yaml", "exclusive: true\nallowed: [disk_full]\n");
    assert_int_equal(run("run x.yaml --fabric lab --inventory careful.yaml"), 4);
    says("port_state");
    assert_int_equal(run("run x.yaml --fabric lab"), 2);
    says("--inventory FILE");
    assert_int_equal(run("run x.yaml --fabric sim --inventory lab.yaml"), 2);
    assert_string_equal(content("log"), "(none)");
}

static void strangers_on_the_fabric_are_a_refusal(void **state)
{
    (void)state;
    char path[64], before[4096];
    put_scenario("x.yaml", "  - {disk_full: {node: host, on: true}}\n");
    put("sminfo", "#!/bin/sh\necho 'sminfo: sm lid 1 sm guid 0x55, activity count 3 priority 1 "
                  "state 3 SMINFO_MASTER'\n");
    /* As many as a rack has: the last one counts too. */
    put("ibhosts", "#!/bin/sh\nfor i in $(seq 60); do echo 'Ca\t: 0x1 ports 1 \"a mlx5_0\"'; done\n"
                   "echo 'Ca\t: 0x2 ports 1 \"b mlx5_0\"'\n");
    snprintf(path, sizeof path, "%.40s/sminfo", folder);
    assert_int_equal(chmod(path, 0755), 0);
    snprintf(path, sizeof path, "%.40s/ibhosts", folder);
    assert_int_equal(chmod(path, 0755), 0);
    snprintf(before, sizeof before, "%s", content("lab.yaml"));
    char *nodes = strstr(before, "}, b:");
    assert_non_null(nodes);
    static const char *const known[][2] = {
        {"managers: ['0x55'], hosts: [a mlx5_0, b mlx5_0]", "1 passed"},
        {"managers: ['0x56'], hosts: [a mlx5_0, b mlx5_0]", "does not know: 0x55"},
        {"managers: ['0x55'], hosts: [a mlx5_0]", "does not know: b mlx5_0"}};
    for (size_t i = 0; i < 3; i++) {
        char text[8192], search[256];
        snprintf(text, sizeof text, "%.*s, devices: {mlx5_0: {}}%sknown: {%s}\n",
                 (int)(nodes - before), before, nodes, known[i][0]);
        put("ib.yaml", text);
        snprintf(search, sizeof search, "%s:/usr/bin:/bin", folder);
        assert_int_equal(setenv("PATH", search, 1), 0);
        assert_int_equal(run("run x.yaml --fabric lab --inventory ib.yaml"), i == 0 ? 0 : 3);
        says(known[i][1]);
    }
}

/* Waits until the scenario has done what is to be taken back. */
static void await_log(const char *what)
{
    while (!strstr(content("log"), what))
        continue;
}

static int begin(const char *line)
{
    char whole[1024], detail[REMOTE_DETAIL];
    const char *const words[] = {"sh", "-c", whole, NULL};
    snprintf(whole, sizeof whole, "cd %s && exec %s %s >out 2>&1", folder, program, line);
    int child = host.spawn(host.context, words, detail);
    assert_true(child > 0);
    return child;
}

static void a_run_that_is_killed_or_ended_leaves_nothing(void **state)
{
    struct remote_input input;
    (void)state;
    put_scenario("x.yaml", "  - {port_down: store}\n  - {put: {node: host, key: a, size: 1 KiB}}\n"
                           "  - {sm_stop: sm}\n  - {nothing: 500 s}\n");
    int child = begin(RUN "--slow");
    await_log("do sm_stop");
    assert_int_equal(run(RUN), 3); /* two at once */
    says("another run holds");
    host.signal(host.context, child, REMOTE_KILL);
    host.wait(host.context, UINT64_MAX, &input);
    assert_int_equal(input.type, REMOTE_ENDED);
    host.end(host.context, child, 0);
    await_log("undo port_down"); /* the agent's standard input ended */
    assert_null(strstr(content("log"), "undo sm_stop"));
    assert_int_equal(run("undo --inventory lab.yaml"), 0);
    says("taken back");
    assert_non_null(strstr(content("log"), "undo sm_stop"));
    assert_int_equal(run("undo --inventory lab.yaml"), 0);
    says("nothing to take back");
}

static void what_a_command_says_need_be_no_utf8(void **state)
{
    char text[1024];
    (void)state;
    snprintf(text, sizeof text,
             "exclusive: true\nallowed: all\nstate: %1$s/state\nagent: [%2$s, agent]\n"
             "nodes: {a: {address: %3$s1}, b: {address: %3$s2}}\n"
             "commands: {disk_full: {do: [[sh, -c, 'printf \"it is \\377\\n\"; exit 3']],"
             " undo: [[sh, -c, 'echo undo >>%1$s/log']]}}\n",
             folder, program, address);
    put("odd.yaml", text);
    put_scenario("x.yaml", "  - {disk_full: {node: host, on: true}}\n");
    assert_int_equal(run("run x.yaml --fabric lab --inventory odd.yaml"), 1);
    says("ended with 3: it is ?");
    assert_string_equal(content("log"), "undo\n");
}

/* Before it does anything, not with what it does itself: the first case must not run over it. */
static void the_next_run_takes_back_what_the_runner_had_left(void **state)
{
    (void)state;
    put_scenario("x.yaml", "  - {port_down: store}\n");
    char path[96], line[256];
    snprintf(path, sizeof path, "%s/state/runner.undo", folder);
    snprintf(line, sizeof line, "[[\"sh\",\"-c\",\"echo undo earlier >>%s/log\"]]", folder);
    assert_true(host.append(host.context, path, line));
    assert_int_equal(run(RUN), 0);
    assert_string_equal(content("log"), "undo earlier\ndo port_down\nundo port_down\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(blocks_move_and_what_was_done_is_undone, setup, teardown),
        cmocka_unit_test_setup_teardown(a_program_is_killed_started_anew_and_frozen, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(calls_can_be_made_to_fail, setup, teardown),
        cmocka_unit_test_setup_teardown(what_machines_cannot_be_is_skipped_with_the_reason, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(what_breaks_is_no_skip, setup, teardown),
        cmocka_unit_test_setup_teardown(the_next_run_takes_back_what_the_runner_had_left, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(what_a_command_says_need_be_no_utf8, setup, teardown),
        cmocka_unit_test_setup_teardown(a_plan_does_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(only_machines_of_ones_own_are_touched, setup, teardown),
        cmocka_unit_test_setup_teardown(strangers_on_the_fabric_are_a_refusal, setup, teardown),
        cmocka_unit_test_setup_teardown(a_run_that_is_killed_or_ended_leaves_nothing, setup,
                                        teardown),
    };
    return cmocka_run_group_tests_name("memkv_scenario_machines", tests, NULL, NULL);
}
