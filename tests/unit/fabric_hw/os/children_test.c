/* SPDX-License-Identifier: Apache-2.0 */
/* Children of this machine: what they say, how they end, and files and locks (HA-4.5). */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fabric_hw/os/children.h"

#define SECOND UINT64_C(1000000000)

static struct remote_host host;
static char folder[64];

static int setup(void **state)
{
    (void)state;
    snprintf(folder, sizeof(folder), "/tmp/memkv-children.XXXXXX");
    assert_non_null(mkdtemp(folder));
    assert_true(os_children_create(false, &host));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    os_children_destroy(&host);
    struct remote_host last;
    assert_true(os_children_create(false, &last));
    last.remove(last.context, folder);
    assert_int_not_equal(access(folder, F_OK), 0);
    os_children_destroy(&last);
    return 0;
}

static int start(const char *line)
{
    char detail[REMOTE_DETAIL] = "";
    const char *const words[] = {"sh", "-c", line, NULL};
    int child = host.spawn(host.context, words, detail);
    assert_string_equal(detail, "");
    assert_true(child > 0);
    return child;
}

static void expect(enum remote_event type, int child, const char *line)
{
    struct remote_input input;
    host.wait(host.context, host.now(host.context) + 60 * SECOND, &input);
    assert_int_equal(input.type, type);
    assert_int_equal(input.child, child);
    if (line)
        assert_string_equal(input.line, line);
}

static void lines_go_both_ways(void **state)
{
    (void)state;
    int child = start("while read -r line; do echo \"got $line\"; echo oh >&2; done; printf last");
    assert_true(host.send(host.context, child, "one"));
    expect(REMOTE_SAID, child, "got one");
    expect(REMOTE_COMPLAINED, child, "oh");
    assert_true(host.send(host.context, child, "two"));
    expect(REMOTE_SAID, child, "got two");
    expect(REMOTE_COMPLAINED, child, "oh");
    host.hang_up(host.context, child);
    assert_false(host.send(host.context, child, "three"));
    expect(REMOTE_SAID, child, "last");
    expect(REMOTE_ENDED, child, NULL);
    host.end(host.context, child, 0);
}

static void an_exit_tells_its_status(void **state)
{
    struct remote_input input;
    (void)state;
    int child = start("exit 7");
    host.wait(host.context, UINT64_MAX, &input);
    assert_int_equal(input.type, REMOTE_ENDED);
    assert_int_equal(input.status, 7);
    host.end(host.context, child, 0);
    child = start("kill -9 $$");
    host.wait(host.context, UINT64_MAX, &input);
    assert_int_equal(input.status, 137);
    host.end(host.context, child, 0);
}

/* A grandchild that keeps the pipe open does not keep the child alive. */
static void what_a_child_started_ends_with_it(void **state)
{
    char path[128], pid[32];
    (void)state;
    snprintf(path, sizeof(path), "sleep 1000 & echo $! >%s/pid; echo begun", folder);
    int child = start(path);
    expect(REMOTE_SAID, child, "begun");
    expect(REMOTE_ENDED, child, NULL);
    host.end(host.context, child, 0);
    snprintf(path, sizeof(path), "%s/pid", folder);
    assert_true(host.read(host.context, path, pid, sizeof(pid)));
    char proc[64], said[64];
    snprintf(proc, sizeof(proc), "/proc/%d/cmdline", atoi(pid));
    while (host.read(host.context, proc, said, sizeof(said)) && strcmp(said, "sleep") == 0)
        continue;
}

/* One that has left the group keeps the pipe open for as long as it likes. */
static void a_child_has_ended_although_another_holds_its_pipe(void **state)
{
    char line[256], pid[32];
    struct remote_input input;
    (void)state;
    snprintf(
        line, sizeof(line),
        "cd %s; setsid sh -c 'echo $$ >pid; exec sleep 1000' & while [ ! -s pid ]; do :; done; "
        "echo begun",
        folder);
    int child = start(line);
    expect(REMOTE_SAID, child, "begun");
    host.wait(host.context, host.now(host.context) + 5 * SECOND, &input);
    snprintf(line, sizeof(line), "%s/pid", folder);
    assert_true(host.read(host.context, line, pid, sizeof(pid)));
    assert_int_equal(kill(atoi(pid), SIGKILL), 0); /* it was alive */
    assert_int_equal(input.type, REMOTE_ENDED);
    host.end(host.context, child, 0);
}

static void a_stubborn_child_is_killed(void **state)
{
    (void)state;
    int child = start("trap '' TERM; echo here; while :; do sleep 1000; done");
    expect(REMOTE_SAID, child, "here");
    host.end(host.context, child, SECOND / 100);
    child = start("cat"); /* the number is free again */
    host.signal(host.context, child, REMOTE_FREEZE);
    assert_true(host.send(host.context, child, "x"));
    host.signal(host.context, child, REMOTE_THAW);
    expect(REMOTE_SAID, child, "x");
    host.signal(host.context, child, REMOTE_KILL);
    expect(REMOTE_ENDED, child, NULL);
    host.end(host.context, child, 0);
}

static void what_cannot_be_run_says_so(void **state)
{
    char detail[REMOTE_DETAIL] = "", said[64];
    const char *const none[] = {"/no/such/program", NULL};
    const char *const fails[] = {"sh", "-c", "echo first; echo second; exit 3", NULL};
    const char *const long_one[] = {"sleep", "1000", NULL};
    (void)state;
    assert_int_equal(host.spawn(host.context, none, detail), 0);
    assert_non_null(strstr(detail, "/no/such/program cannot be run: No such file"));
    assert_int_equal(host.run(host.context, none, SECOND, said, sizeof(said)), -1);
    assert_int_equal(host.run(host.context, fails, 60 * SECOND, said, sizeof(said)), 3);
    assert_string_equal(said, "first");
    assert_int_equal(host.run(host.context, long_one, SECOND / 50, said, sizeof(said)), -1);
    assert_non_null(strstr(said, "no end within"));
}

static void files_are_appended_written_and_removed(void **state)
{
    char path[128], text[64];
    (void)state;
    snprintf(path, sizeof(path), "%s/a/b/journal", folder);
    assert_false(host.read(host.context, path, text, sizeof(text)));
    assert_true(host.append(host.context, path, "one"));
    assert_true(host.append(host.context, path, "two"));
    assert_true(host.read(host.context, path, text, sizeof(text)));
    assert_string_equal(text, "one\ntwo\n");
    snprintf(path, sizeof(path), "%s/a/c", folder);
    assert_true(host.write(host.context, path, "wxyz", 4, 0));
    assert_true(host.write(host.context, path, "ab", 2, 2));
    assert_true(host.read(host.context, path, text, sizeof(text)));
    assert_string_equal(text, "wxab");
    assert_true(host.folder(host.context, folder));
    snprintf(path, sizeof(path), "%s/a", folder);
    host.remove(host.context, path);
    assert_int_not_equal(access(path, F_OK), 0);
}

/* A link is removed, not what it leads to. */
/* A disk that was full for a while must not cost the next line too. */
static void a_line_after_a_torn_one_is_whole(void **state)
{
    char path[128], text[64];
    (void)state;
    snprintf(path, sizeof(path), "%s/journal", folder);
    assert_true(host.write(host.context, path, "one\nto", 6, 0));
    assert_true(host.append(host.context, path, "two"));
    assert_true(host.append(host.context, path, "three"));
    assert_true(host.read(host.context, path, text, sizeof(text)));
    assert_string_equal(text, "one\nto\ntwo\nthree\n");
    assert_true(host.replace(host.context, path, "four\n"));
    assert_true(host.read(host.context, path, text, sizeof(text)));
    assert_string_equal(text, "four\n");
}

static void nothing_outside_a_folder_is_removed(void **state)
{
    char path[128], outside[128];
    (void)state;
    snprintf(outside, sizeof(outside), "%s/outside", folder);
    assert_true(host.write(host.context, outside, "x", 1, 0));
    snprintf(path, sizeof(path), "%s/inner", folder);
    assert_true(host.folder(host.context, path));
    snprintf(path, sizeof(path), "%s/inner/link", folder);
    assert_int_equal(symlink(outside, path), 0);
    snprintf(path, sizeof(path), "%s/inner", folder);
    host.remove(host.context, path);
    assert_int_not_equal(access(path, F_OK), 0);
    assert_int_equal(access(outside, F_OK), 0);
}

static void a_lock_keeps_others_out_until_it_is_given_back(void **state)
{
    char path[128];
    struct remote_host other;
    (void)state;
    snprintf(path, sizeof(path), "%s/lock", folder);
    assert_true(os_children_create(false, &other));
    assert_true(other.lock(other.context, path));
    assert_false(host.lock(host.context, path));
    os_children_destroy(&other);
    assert_true(host.lock(host.context, path));
}

static void the_parents_lines_come_and_end(void **state)
{
    struct remote_input input;
    int ends[2], before = dup(STDIN_FILENO);
    (void)state;
    assert_int_equal(pipe(ends), 0);
    dup2(ends[0], STDIN_FILENO);
    struct remote_host agent;
    assert_true(os_children_create(true, &agent));
    assert_int_equal(write(ends[1], "one\ntw", 6), 6);
    agent.wait(agent.context, UINT64_MAX, &input);
    assert_int_equal(input.type, REMOTE_PARENT_SAID);
    assert_string_equal(input.line, "one");
    close(ends[1]);
    agent.wait(agent.context, UINT64_MAX, &input);
    assert_string_equal(input.line, "tw");
    agent.wait(agent.context, UINT64_MAX, &input);
    assert_int_equal(input.type, REMOTE_PARENT_ENDED);
    agent.wait(agent.context, 0, &input); /* once */
    assert_int_equal(input.type, REMOTE_DEADLINE);
    os_children_destroy(&agent);
    dup2(before, STDIN_FILENO);
    close(before);
    close(ends[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(lines_go_both_ways, setup, teardown),
        cmocka_unit_test_setup_teardown(an_exit_tells_its_status, setup, teardown),
        cmocka_unit_test_setup_teardown(what_a_child_started_ends_with_it, setup, teardown),
        cmocka_unit_test_setup_teardown(a_child_has_ended_although_another_holds_its_pipe, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_stubborn_child_is_killed, setup, teardown),
        cmocka_unit_test_setup_teardown(what_cannot_be_run_says_so, setup, teardown),
        cmocka_unit_test_setup_teardown(files_are_appended_written_and_removed, setup, teardown),
        cmocka_unit_test_setup_teardown(a_line_after_a_torn_one_is_whole, setup, teardown),
        cmocka_unit_test_setup_teardown(nothing_outside_a_folder_is_removed, setup, teardown),
        cmocka_unit_test_setup_teardown(a_lock_keeps_others_out_until_it_is_given_back, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(the_parents_lines_come_and_end, setup, teardown),
    };
    return cmocka_run_group_tests_name("children", tests, NULL, NULL);
}
