/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <signal.h>
#include <unistd.h>

#include "fabric_sim/simfabric/outbox.h"

#define MANY 20000u /* records of 8 bytes: more than a pipe takes */

static void records_wait_in_order_for_a_reader_that_is_slow(void **state)
{
    (void)state;
    struct outbox outbox;
    int fd;
    bool waits = false;
    assert_true(outbox_open(&outbox, &fd));
    for (uint64_t i = 0; i < MANY; i++)
        waits = outbox_put(&outbox, &i, sizeof(i));
    assert_true(waits);
    for (uint64_t i = 0; i < MANY; i++) {
        uint64_t record;
        assert_int_equal(read(fd, &record, sizeof(record)), sizeof(record));
        assert_int_equal(record, i);
        if (i % 1000 == 0)
            waits = outbox_flush(&outbox);
    }
    assert_false(waits);
    uint64_t more = 1;
    assert_false(outbox_put(&outbox, &more, sizeof(more)));
    outbox_close(&outbox);
    assert_int_equal(read(fd, &more, sizeof(more)), sizeof(more));
    assert_int_equal(read(fd, &more, sizeof(more)), 0); /* the end */
    close(fd);
}

/* A record put while others wait comes after them, though the pipe has room by then. */
static void a_later_record_does_not_overtake(void **state)
{
    (void)state;
    struct outbox outbox;
    int fd;
    uint64_t i, record, last = 0;
    assert_true(outbox_open(&outbox, &fd));
    for (i = 1; !outbox_put(&outbox, &i, sizeof(i)); i++)
        continue;
    for (int j = 0; j < 1024; j++) {
        assert_int_equal(read(fd, &record, sizeof(record)), sizeof(record));
        last = record;
    }
    i++;
    assert_true(outbox_put(&outbox, &i, sizeof(i)));
    while (outbox_flush(&outbox))
        continue;
    while (last < i) {
        assert_int_equal(read(fd, &record, sizeof(record)), sizeof(record));
        assert_int_equal(record, last + 1);
        last = record;
    }
    outbox_close(&outbox);
    close(fd);
}

/* As full as a pipe gets, with more waiting behind it: of each third record nothing is read. */
static void records_of_what_ended_are_taken_back_and_no_other(void **state)
{
    (void)state;
    struct outbox outbox;
    int fd;
    uint64_t count = 0, record[2];
    bool waits = false;
    assert_true(outbox_open(&outbox, &fd));
    for (int more = 0; more < 100; more += waits, count++) {
        record[0] = count % 3;
        record[1] = count;
        waits = outbox_put(&outbox, record, sizeof(record));
    }
    outbox_drop(&outbox, sizeof(record), 1);
    outbox_forget(fd, sizeof(record), 1);
    for (int turn = 0; outbox_flush(&outbox); turn++) {
        assert_true(turn < 10);
        outbox_forget(fd, sizeof(record), 1);
    }
    for (uint64_t i = 0; i < count; i++) {
        if (i % 3 == 1)
            continue;
        assert_int_equal(read(fd, record, sizeof(record)), sizeof(record));
        assert_int_equal(record[1], i);
    }
    outbox_close(&outbox);
    assert_int_equal(read(fd, record, sizeof(record)), 0);
    outbox_forget(fd, sizeof(record), 1); /* nothing is there: it does not wait */
    close(fd);
}

static void nobody_reads_any_more(void **state)
{
    (void)state;
    struct outbox outbox;
    int fd;
    uint64_t i = 0;
    assert_true(outbox_open(&outbox, &fd));
    while (!outbox_put(&outbox, &i, sizeof(i)))
        continue;
    close(fd);
    assert_false(outbox_flush(&outbox));
    outbox_close(&outbox);
    outbox_close(&outbox);
    assert_false(outbox_put(&outbox, &i, sizeof(i)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_wait_in_order_for_a_reader_that_is_slow),
        cmocka_unit_test(a_later_record_does_not_overtake),
        cmocka_unit_test(records_of_what_ended_are_taken_back_and_no_other),
        cmocka_unit_test(nobody_reads_any_more)};
    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
