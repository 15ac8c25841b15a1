/* SPDX-License-Identifier: Apache-2.0 */
/* Threads for what has to wait, and how they are left. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <assert.h>
#include <fcntl.h>
#include <unistd.h>

#include "fabric_hw/os/workers.h"
#include "tests/support/os_bed.h"

static struct os_bed bed;
static int begun[2], gate[2], dropped[2]; /* pipes: a job began, may end, was dropped */
static unsigned done;

static void hang(struct os_job *job)
{
    char byte = 1;
    (void)job;
    assert(write(begun[1], &byte, 1) == 1);
    assert(read(gate[0], &byte, 1) == 1);
}

static void on_done(struct os_job *job)
{
    (void)job;
    done++;
}

static void on_dropped(struct os_job *job)
{
    char byte = 1;
    (void)job;
    assert(write(dropped[1], &byte, 1) == 1);
}

static int setup(void **state)
{
    (void)state;
    done = 0;
    os_bed_open(&bed, NULL);
    return pipe2(begun, O_CLOEXEC) || pipe2(gate, O_CLOEXEC) || pipe2(dropped, O_CLOEXEC);
}

static int teardown(void **state)
{
    (void)state;
    os_bed_close(&bed);
    for (unsigned i = 0; i < 2; i++) {
        close(begun[i]);
        close(gate[i]);
        close(dropped[i]);
    }
    return 0;
}

static void take(int from)
{
    char byte;
    assert_int_equal(read(from, &byte, 1), 1);
}

static void a_job_is_its_owners_again_in_the_loops_thread(void **state)
{
    struct os_job job = {.work = hang, .done = on_done, .drop = on_dropped};
    struct fabric_event event;
    (void)state;
    struct os_workers *workers = os_workers_create(bed.f, 1);
    assert_true(os_workers_submit(workers, &job));
    take(begun[0]);
    assert_int_equal(done, 0);
    assert_int_equal(write(gate[1], "x", 1), 1);
    while (done == 0)
        (void)os_bed_next(&bed, os_bed_now(&bed) + 1000000, &event);
    os_workers_destroy(workers);
    assert_int_equal(done, 1);
}

/* A name server that does not answer holds up nobody who ends. */
static void who_leaves_waits_for_no_job(void **state)
{
    static struct os_job first = {.work = hang, .done = on_done, .drop = on_dropped};
    static struct os_job second = {.work = hang, .done = on_done, .drop = on_dropped};
    (void)state;
    struct os_workers *workers = os_workers_create(bed.f, 1);
    assert_true(os_workers_submit(workers, &first));
    take(begun[0]);
    assert_true(os_workers_submit(workers, &second)); /* waits for the one thread */
    alarm(60);                                        /* who waited would do so for ever */
    os_workers_leave(workers);
    alarm(0);
    take(dropped[0]); /* the second, at once */
    assert_int_equal(write(gate[1], "x", 1), 1);
    take(dropped[0]); /* the first, by its thread */
    assert_int_equal(done, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_job_is_its_owners_again_in_the_loops_thread),
        TEST(who_leaves_waits_for_no_job),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
