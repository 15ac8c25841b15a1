/* SPDX-License-Identifier: Apache-2.0 */
/* A program in a process: events, commands of any thread, signals. HA-0.1. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fabric_hw/os/os.h"
#include "fabric_hw/os/run.h"

#define PATIENCE UINT64_C(20000000000) /* ns */

static struct fabric *f;
static struct os_run *run;
static char said[1024];
static size_t wanted; /* done after so many bytes were said */
static bool stops;    /* the signals' answer: no command */
static bool quiet;    /* their answer: there is nothing to tell */
static bool asked;    /* a signal came */

static void say(const char *text)
{
    strncat(said, text, sizeof(said) - strlen(said) - 1);
}

static void on_report(void *context, const char *json)
{
    assert_ptr_equal(context, said);
    say(json);
}

static bool done(void *context)
{
    (void)context;
    return strlen(said) >= wanted;
}

static const char *on_signal(void *context, enum os_run_signal number)
{
    static char text[16];
    (void)context;
    asked = true;
    snprintf(text, sizeof(text), "signal%d", (int)number);
    return stops ? NULL : quiet ? "" : text;
}

/* ---- a program that says what happens to it */

static enum fabric_error start(struct fabric *fabric, const char *config, size_t config_length,
                               const struct fabric_report_sink *sink, void **state)
{
    fabric_timer timer;
    assert_ptr_equal(fabric, f);
    if (strncmp(config, "fail", config_length) == 0)
        return ERR_CONFIG_INVALID;
    sink->report(sink->context, "start ");
    *state = (void *)(uintptr_t)sink;
    return fabric_timer_set(f, 0, 7, &timer);
}

static void event(void *state, const struct fabric_event *e)
{
    const struct fabric_report_sink *sink = state;
    if (e->type == FABRIC_EVENT_TIMER)
        sink->report(sink->context, "timer ");
}

static void command(void *state, const char *json)
{
    const struct fabric_report_sink *sink = state;
    sink->report(sink->context, json);
    sink->report(sink->context, " ");
}

static void stop(void *state)
{
    const struct fabric_report_sink *sink = state;
    sink->report(sink->context, "stop");
}

static const struct fabric_program program = {"sayer", start, event, command, stop};

static uint64_t soon(void)
{
    uint64_t now;
    assert_int_equal(fabric_now(f, &now), FABRIC_OK);
    return now + PATIENCE;
}

static enum fabric_error start_run(const char *config)
{
    const struct os_run_init init = {.program = &program,
                                     .config = config,
                                     .config_length = strlen(config),
                                     .sink = {said, on_report},
                                     .done = done,
                                     .signal = on_signal};
    return os_run_start(f, &init, &run);
}

static enum os_run_end run_until_said(const char *text)
{
    wanted = strlen(text);
    enum os_run_end end = os_run_until(run, soon());
    assert_string_equal(said, text);
    return end;
}

static int setup(void **state)
{
    const struct os_fabric_options options = {.log_fd = -1};
    (void)state;
    said[0] = '\0';
    wanted = sizeof(said);
    stops = quiet = asked = false;
    return (int)os_fabric_create(&options, &f);
}

static int teardown(void **state)
{
    (void)state;
    return (int)fabric_destroy(f);
}

static void events_and_commands_reach_the_program_in_order(void **state)
{
    (void)state;
    assert_int_equal(start_run("ok"), FABRIC_OK);
    assert_int_equal(run_until_said("start timer "), OS_RUN_DONE);
    assert_true(os_run_tell(run, "one"));
    assert_true(os_run_tell(run, "two"));
    assert_int_equal(run_until_said("start timer one two "), OS_RUN_DONE);
    os_run_stop(run);
    assert_string_equal(said, "start timer one two stop");
}

static void a_start_that_fails_leaves_nothing_behind(void **state)
{
    sigset_t mask;
    (void)state;
    assert_int_equal(start_run("fail"), ERR_CONFIG_INVALID);
    assert_string_equal(said, "");
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    assert_false(sigismember(&mask, SIGTERM));
}

static void a_command_wakes_the_fabric(void **state)
{
    struct fabric_event woken;
    size_t count = 0;
    (void)state;
    assert_int_equal(start_run("ok"), FABRIC_OK);
    run_until_said("start timer ");
    assert_true(os_run_tell(run, "x"));
    assert_int_equal(fabric_poll(f, &woken, 1, 0, &count), FABRIC_OK);
    assert_int_equal(count, 1);
    assert_int_equal(woken.type, FABRIC_EVENT_WOKEN);
    os_run_stop(run);
}

static void *tell_later(void *context)
{
    (void)context;
    os_run_tell(run, "far");
    return NULL;
}

static void a_command_of_another_thread_wakes_the_loop(void **state)
{
    pthread_t thread;
    (void)state;
    assert_int_equal(start_run("ok"), FABRIC_OK);
    run_until_said("start timer ");
    assert_int_equal(pthread_create(&thread, NULL, tell_later, NULL), 0);
    assert_int_equal(run_until_said("start timer far "), OS_RUN_DONE);
    pthread_join(thread, NULL);
    os_run_stop(run);
}

static void signals_become_commands(void **state)
{
    (void)state;
    assert_int_equal(start_run("ok"), FABRIC_OK);
    run_until_said("start timer ");
    kill(getpid(), SIGHUP);
    assert_int_equal(run_until_said("start timer signal2 "), OS_RUN_DONE);
    kill(getpid(), SIGTERM);
    assert_int_equal(run_until_said("start timer signal2 signal1 "), OS_RUN_DONE);
    kill(getpid(), SIGINT);
    assert_int_equal(run_until_said("start timer signal2 signal1 signal0 "), OS_RUN_DONE);
    os_run_stop(run);
}

/* Nothing is told, and the run goes on. */
static void a_signal_with_an_empty_command_is_no_command(void **state)
{
    (void)state;
    assert_int_equal(start_run("ok"), FABRIC_OK);
    run_until_said("start timer ");
    wanted = sizeof(said);
    quiet = true;
    kill(getpid(), SIGHUP);
    while (!asked)
        assert_int_equal(os_run_until(run, soon() - PATIENCE), OS_RUN_DEADLINE);
    assert_string_equal(said, "start timer ");
    quiet = false;
    assert_true(os_run_tell(run, "x"));
    assert_int_equal(run_until_said("start timer x "), OS_RUN_DONE);
    os_run_stop(run);
}

static void a_signal_without_a_command_ends_the_run(void **state)
{
    (void)state;
    assert_int_equal(start_run("ok"), FABRIC_OK);
    run_until_said("start timer ");
    stops = true;
    wanted = sizeof(said);
    kill(getpid(), SIGINT);
    assert_int_equal(os_run_until(run, soon()), OS_RUN_SIGNAL);
    os_run_stop(run);
}

static void a_deadline_ends_the_wait_and_not_the_program(void **state)
{
    uint64_t now;
    (void)state;
    assert_int_equal(start_run("ok"), FABRIC_OK);
    assert_int_equal(fabric_now(f, &now), FABRIC_OK);
    assert_int_equal(os_run_until(run, now), OS_RUN_DEADLINE);
    assert_int_equal(run_until_said("start timer "), OS_RUN_DONE);
    assert_true(os_run_tell(run, "never told"));
    os_run_stop(run);
    assert_string_equal(said, "start timer stop");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(events_and_commands_reach_the_program_in_order),
        TEST(a_start_that_fails_leaves_nothing_behind),
        TEST(a_command_wakes_the_fabric),
        TEST(a_command_of_another_thread_wakes_the_loop),
        TEST(signals_become_commands),
        TEST(a_signal_with_an_empty_command_is_no_command),
        TEST(a_signal_without_a_command_ends_the_run),
        TEST(a_deadline_ends_the_wait_and_not_the_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
