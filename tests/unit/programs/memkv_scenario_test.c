/* SPDX-License-Identifier: Apache-2.0 */
/* The program itself: what a signal does to it and to the processes that it made. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/scenario/text.h"

/* Virtual centuries with something to do all the time: nothing but a signal ends it soon. */
static const char endless[] =
    "name: without an end\n"
    "proves: [HA-4.2]\n"
    "about: A world in which there is always something to do, for as long as anybody waits.\n"
    "topology: {nodes: [a, b]}\n"
    "programs:\n"
    "  a: {program: server, config: {}}\n"
    "  b: {program: client, config: {servers: [\"10.0.0.1:9900\"], transport: tcp}}\n"
    "steps: [{at: 1 ms, ask: {node: a, query: mlx5_0/1 mtu}}, {at: 2000000 h, sm_stop: sm}]\n";

static const char quick[] =
    "name: soon over\n"
    "proves: [HA-4.2]\n"
    "about: A world in which hardly anything happens, and that is over at once.\n"
    "topology: {nodes: [a]}\n"
    "steps: [{at: 1 s, ask: {node: a, query: mlx5_0/1 mtu}, expect: {answer: 4096}}]\n";

struct place {
    char folder[64], program[256];
};

static void put_file(const struct place *place, const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", place->folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* The program of this variant lies beside its tests. */
static int setup(void **state)
{
    static struct place place;
    char self[200] = "";
    assert_true(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
    char *tests = strstr(self, "/tests/unit/");
    assert_non_null(tests);
    *tests = '\0';
    snprintf(place.program, sizeof place.program, "%s/memkv-scenario", self);
    snprintf(place.folder, sizeof place.folder, "/tmp/memkv-signal-XXXXXX");
    assert_non_null(mkdtemp(place.folder));
    put_file(&place, "1.yaml", quick);
    put_file(&place, "2.yaml", endless);
    *state = &place;
    return 0;
}

static int teardown(void **state)
{
    const struct place *place = *state;
    static const char *const names[] = {"1.yaml", "2.yaml", "3.yaml", "4.yaml", "junit.xml"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[128];
        snprintf(path, sizeof path, "%s/%s", place->folder, names[i]);
        unlink(path);
    }
    return rmdir(place->folder);
}

/* Its own process group, so that a signal to the one process reaches no other. */
static pid_t launch(const struct place *place, const char *jobs, int *out)
{
    int ends[2];
    char junit[128];
    snprintf(junit, sizeof junit, "%s/junit.xml", place->folder);
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        setpgid(0, 0);
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        execl(place->program, "memkv-scenario", "run", place->folder, "--jobs", jobs, "--junit",
              junit, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    *out = ends[0];
    return pid;
}

static void read_all(int fd, struct text *out)
{
    char buffer[4096];
    ssize_t got;
    while ((got = read(fd, buffer, sizeof buffer)) > 0)
        text_add_bytes(out, buffer, (size_t)got);
    close(fd);
}

/* Until it has made a process, which is returned: results of several come in the end only. */
static pid_t wait_for_worker(pid_t pid)
{
    char path[64], line[64];
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)pid);
    for (bool made = false; !made;) {
        FILE *file = fopen(path, "r");
        assert_non_null(file);
        made = fgets(line, sizeof line, file) != NULL;
        fclose(file);
        assert_int_equal(kill(pid, 0), 0);
    }
    return (pid_t)strtol(line, NULL, 10);
}

static void end_by(const struct place *place, const char *jobs, int number)
{
    int fd, status;
    char first = 0;
    struct text out = {0};
    pid_t pid = launch(place, jobs, &fd);
    if (*jobs == '1') { /* the first result is there before the endless world begins */
        assert_int_equal(read(fd, &first, 1), 1);
        text_add_bytes(&out, &first, 1);
    } else {
        wait_for_worker(pid);
    }
    assert_int_equal(kill(pid, number), 0);
    read_all(fd, &out); /* ends when nobody has the pipe any more: no process is left */
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(kill(-pid, 0), -1);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 130);
    assert_non_null(strstr(text_data(&out), "passed, 0 failed, 0 skipped\n"));
    text_free(&out);
}

static void a_signal_ends_a_run_with_what_was_done(void **state)
{
    end_by(*state, "1", SIGINT);
    end_by(*state, "1", SIGTERM);
}

/* The signal reaches one process, which must end those that it made. */
static void a_signal_ends_the_workers_too(void **state)
{
    end_by(*state, "2", SIGTERM);
    end_by(*state, "2", SIGINT);
}

static void a_worker_that_is_killed_costs_its_own_case_only(void **state)
{
    const struct place *place = *state;
    int fd, status;
    struct text out = {0};
    put_file(place, "1.yaml", endless);
    put_file(place, "3.yaml", quick);
    put_file(place, "4.yaml", quick);
    pid_t pid = launch(place, "2", &fd), first = wait_for_worker(pid), second;
    assert_int_equal(kill(first, SIGKILL), 0);
    do {
        second = wait_for_worker(pid);
    } while (second == first);
    assert_int_equal(kill(second, SIGKILL), 0);
    read_all(fd, &out);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 1);
    assert_non_null(strstr(text_data(&out), "/2.yaml  \n  its worker died"));
    assert_non_null(strstr(text_data(&out), "2 passed, 2 failed, 0 skipped\n"));
    text_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_signal_ends_a_run_with_what_was_done, setup, teardown),
        cmocka_unit_test_setup_teardown(a_signal_ends_the_workers_too, setup, teardown),
        cmocka_unit_test_setup_teardown(a_worker_that_is_killed_costs_its_own_case_only, setup,
                                        teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
