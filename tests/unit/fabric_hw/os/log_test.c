/* SPDX-License-Identifier: Apache-2.0 */
/* Log lines on a descriptor. MK-K3. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <jansson.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fabric_hw/os/os.h"

static int ends[2];
static char text[16384];

static int setup(void **state)
{
    (void)state;
    return pipe2(ends, O_CLOEXEC | O_NONBLOCK);
}

static int teardown(void **state)
{
    (void)state;
    close(ends[0]);
    close(ends[1]);
    return 0;
}

/* Logs one line and returns what came out of `from`. */
static const char *logged(int to, int from, enum os_log_form form, enum fabric_log_level least,
                          enum fabric_log_level level, const char *line)
{
    const struct os_fabric_options options = {.log_fd = to, .log_form = form, .log_level = least};
    struct fabric *f;
    assert_int_equal(os_fabric_create(&options, &f), FABRIC_OK);
    assert_int_equal(fabric_log(f, level, line), FABRIC_OK);
    assert_int_equal(fabric_destroy(f), FABRIC_OK);
    ssize_t length = read(from, text, sizeof(text) - 1);
    text[length > 0 ? length : 0] = '\0';
    return text;
}

static void a_pipe_gets_one_json_object_a_line(void **state)
{
    (void)state;
    logged(ends[1], ends[0], OS_LOG_AUTO, FABRIC_LOG_INFO, FABRIC_LOG_WARN, "a \"b\"\tc");
    size_t length = strlen(text);
    assert_true(length > 0 && text[length - 1] == '\n');
    assert_ptr_equal(strchr(text, '\n'), text + length - 1);
    json_t *object = json_loads(text, 0, NULL);
    assert_non_null(object);
    assert_string_equal(json_string_value(json_object_get(object, "message")), "a \"b\"\tc");
    assert_string_equal(json_string_value(json_object_get(object, "level")), "WARN");
    const char *stamp = json_string_value(json_object_get(object, "timestamp"));
    assert_int_equal(strlen(stamp), 24);
    assert_int_equal(stamp[10], 'T');
    assert_int_equal(stamp[23], 'Z');
    json_decref(object);
}

static void bytes_that_are_no_text_do_no_harm(void **state)
{
    (void)state;
    logged(ends[1], ends[0], OS_LOG_JSON, FABRIC_LOG_INFO, FABRIC_LOG_WARN, "x\xff\x1b[2Jy");
    json_t *object = json_loads(text, 0, NULL);
    assert_non_null(object);
    assert_string_equal(json_string_value(json_object_get(object, "message")), "x??[2Jy");
    json_decref(object);
    logged(ends[1], ends[0], OS_LOG_TEXT, FABRIC_LOG_INFO, FABRIC_LOG_WARN, "x\x1b[2J\x7fy");
    assert_non_null(strstr(text, " WARN  x?[2J?y\n"));
}

static void a_terminal_gets_text(void **state)
{
    int master, slave;
    (void)state;
    assert_int_equal(openpty(&master, &slave, NULL, NULL, NULL), 0);
    logged(slave, master, OS_LOG_AUTO, FABRIC_LOG_INFO, FABRIC_LOG_ERROR, "no_lid: mlx5_0");
    assert_non_null(strstr(text, "Z ERROR no_lid: mlx5_0\r\n"));
    close(master);
    close(slave);
}

static void lines_below_the_level_are_dropped(void **state)
{
    (void)state;
    assert_string_equal(
        logged(ends[1], ends[0], OS_LOG_TEXT, FABRIC_LOG_WARN, FABRIC_LOG_INFO, "not this"), "");
    assert_string_not_equal(
        logged(ends[1], ends[0], OS_LOG_TEXT, FABRIC_LOG_WARN, FABRIC_LOG_WARN, "this"), "");
}

static void a_level_can_be_changed_while_it_runs(void **state)
{
    const struct os_fabric_options options = {.log_fd = ends[1], .log_level = FABRIC_LOG_ERROR};
    struct fabric *f;
    (void)state;
    assert_int_equal(os_fabric_create(&options, &f), FABRIC_OK);
    os_fabric_set_log_level(f, FABRIC_LOG_DEBUG);
    assert_int_equal(fabric_log(f, FABRIC_LOG_DEBUG, "now"), FABRIC_OK);
    assert_int_equal(fabric_destroy(f), FABRIC_OK);
    assert_true(read(ends[0], text, sizeof(text)) > 0);
}

static void a_reader_that_is_gone_costs_a_line_only(void **state)
{
    int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    (void)state;
    assert_true(full >= 0);
    assert_string_equal(
        logged(full, ends[0], OS_LOG_TEXT, FABRIC_LOG_INFO, FABRIC_LOG_ERROR, "lost"), "");
    close(full);
}

/* The descriptor is one that blocks, as standard error is, and its reader sleeps. */
static void a_reader_that_is_slow_costs_lines_that_are_counted(void **state)
{
    int slow[2];
    struct fabric *f;
    (void)state;
    assert_int_equal(pipe2(slow, O_CLOEXEC), 0);
    const struct os_fabric_options options = {.log_fd = slow[1], .log_form = OS_LOG_TEXT};
    assert_int_equal(os_fabric_create(&options, &f), FABRIC_OK);
    assert_int_equal(fcntl(slow[1], F_SETPIPE_SZ, 8192), 8192);
    alarm(60); /* a log that waits would do so for ever */
    for (int i = 0; i < 400; i++)
        assert_int_equal(fabric_log(f, FABRIC_LOG_WARN, "with its time 64 bytes make this"),
                         FABRIC_OK);
    alarm(0);
    ssize_t got = read(slow[0], text, sizeof(text) - 1);
    assert_int_equal(got % 64, 0);
    text[got] = '\0';
    assert_null(strstr(text, "log lines were lost"));
    assert_int_equal(fabric_log(f, FABRIC_LOG_WARN, "the next"), FABRIC_OK);
    text[read(slow[0], text, sizeof(text) - 1)] = '\0';
    char lost[64];
    snprintf(lost, sizeof(lost), " WARN  %d log lines were lost", (int)(400 - got / 64));
    assert_non_null(strstr(text, lost));
    assert_non_null(strstr(text, "the next\n"));
    fabric_destroy(f);
    close(slow[0]);
    close(slow[1]);
}

/* The library writes on its caller's thread; a signal that the caller held off stays with it. */
static void no_signal_is_raised_and_none_is_taken_away(void **state)
{
    int gone[2];
    sigset_t pipe, pending;
    const struct timespec at_once = {0};
    struct fabric *f;
    (void)state;
    assert_int_equal(pipe2(gone, O_CLOEXEC), 0);
    close(gone[0]);
    const struct os_fabric_options options = {.log_fd = gone[1], .log_form = OS_LOG_TEXT};
    assert_int_equal(os_fabric_create(&options, &f), FABRIC_OK);
    signal(SIGPIPE, SIG_DFL);
    assert_int_equal(fabric_log(f, FABRIC_LOG_WARN, "nobody reads"), FABRIC_OK);
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    assert_int_equal(sigprocmask(SIG_BLOCK, &pipe, NULL), 0);
    assert_int_equal(raise(SIGPIPE), 0);
    assert_int_equal(fabric_log(f, FABRIC_LOG_WARN, "nobody reads"), FABRIC_OK);
    assert_int_equal(sigpending(&pending), 0);
    assert_int_equal(sigismember(&pending, SIGPIPE), 1);
    assert_int_equal(sigtimedwait(&pipe, NULL, &at_once), SIGPIPE);
    assert_int_equal(sigprocmask(SIG_UNBLOCK, &pipe, NULL), 0);
    fabric_destroy(f);
    close(gone[1]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_pipe_gets_one_json_object_a_line),
        TEST(bytes_that_are_no_text_do_no_harm),
        TEST(a_terminal_gets_text),
        TEST(lines_below_the_level_are_dropped),
        TEST(a_level_can_be_changed_while_it_runs),
        TEST(a_reader_that_is_gone_costs_a_line_only),
        TEST(a_reader_that_is_slow_costs_lines_that_are_counted),
        TEST(no_signal_is_raised_and_none_is_taken_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
