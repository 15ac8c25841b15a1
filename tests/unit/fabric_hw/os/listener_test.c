/* SPDX-License-Identifier: Apache-2.0 */
/* Very many peers, and more than there are descriptors for. MK-I2, CASE-R6. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fabric_hw/os/address.h"
#include "tests/support/os_bed.h"

#define MANY 10000u
#define BYTES_EACH 1024u /* of our memory for an idle peer, at most */

static struct os_bed bed;
static fabric_listener listener;
static char bound[FABRIC_ADDRESS_MAX];
static struct rlimit before;

static int setup(void **state)
{
    (void)state;
    getrlimit(RLIMIT_NOFILE, &before);
    os_bed_open(&bed, NULL);
    return (int)fabric_listen(bed.f, "127.0.0.1:0", 1, &listener, bound);
}

static int teardown(void **state)
{
    (void)state;
    os_bed_close(&bed);
    setrlimit(RLIMIT_NOFILE, &before);
    return 0;
}

static int open_socket(void)
{
    char host[OS_HOST_MAX];
    uint16_t port;
    struct os_address address;
    if (!os_address_split(bound, host, &port) || !os_address_literal(host, port, &address))
        return -1;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&address.storage, address.length) < 0)
        return -1;
    return fd;
}

/* Opens `count` connections in a process of its own, which then waits to be killed; one byte is
 * written to `ready` when all stand, another value when one does not. */
static pid_t open_many(unsigned count, int ready)
{
    pid_t child = fork();
    if (child != 0)
        return child;
    char done = 'y';
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setrlimit(RLIMIT_NOFILE, &(struct rlimit){before.rlim_max, before.rlim_max});
    for (unsigned i = 0; i < count && done == 'y'; i++) {
        if (open_socket() < 0)
            done = 'n';
    }
    ssize_t written = write(ready, &done, 1);
    (void)written;
    pause();
    _exit(0);
}

static void end(pid_t child)
{
    assert_true(child > 0);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

static void ten_thousand_idle_peers_cost_little_memory(void **state)
{
    const struct rlimit wanted = {before.rlim_max, before.rlim_max};
    fabric_stream *streams = calloc(MANY, sizeof(*streams));
    int ready[2];
    (void)state;
    if (before.rlim_max < MANY + 100) {
        free(streams);
        skip(); /* this machine has no room for so many descriptors */
    }
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &wanted) | pipe(ready), 0);
    size_t memory = mallinfo2().uordblks;
    pid_t child = open_many(MANY, ready[1]);
    for (unsigned i = 0; i < MANY; i++)
        streams[i] = os_bed_await(&bed, FABRIC_EVENT_ACCEPTED).u.stream.stream;
    char done = 0;
    assert_int_equal(read(ready[0], &done, 1), 1);
    assert_int_equal(done, 'y');
    assert_true(mallinfo2().uordblks <= memory + MANY * BYTES_EACH);
    int other = open_socket(); /* and one more is served as ever */
    fabric_stream served = os_bed_await(&bed, FABRIC_EVENT_ACCEPTED).u.stream.stream;
    assert_int_equal(send(other, "x", 1, 0), 1);
    assert_int_equal(os_bed_await(&bed, FABRIC_EVENT_READABLE).u.stream.stream.id, served.id);
    for (unsigned i = 0; i < MANY; i++)
        assert_int_equal(fabric_stream_close(bed.f, streams[i], true), FABRIC_OK);
    end(child);
    close(other);
    close(ready[0]);
    close(ready[1]);
    free(streams);
}

static unsigned count_of(const char *text, const char *what)
{
    unsigned count = 0;
    for (const char *found = strstr(text, what); found; found = strstr(found + 1, what))
        count++;
    return count;
}

/* It is said once, the peers served go on, and the others are taken when there is room again. */
static void a_listener_outlives_the_end_of_descriptors(void **state)
{
    enum { PEERS = 40 };
    static fabric_stream streams[PEERS];
    int ready[2];
    unsigned taken = 0;
    (void)state;
    assert_int_equal(pipe(ready), 0);
    int next = dup(0);
    const struct rlimit few = {(rlim_t)next + 10, before.rlim_max};
    close(next);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    pid_t child = open_many(PEERS, ready[1]); /* which has no such limit */
    uint64_t deadline = os_bed_now(&bed) + OS_BED_PATIENCE;
    while (count_of(os_bed_said(&bed), "takes no more connections") == 0) {
        struct fabric_event event;
        assert_true(os_bed_now(&bed) < deadline);
        if (os_bed_next(&bed, os_bed_now(&bed) + 10000000, &event) &&
            event.type == FABRIC_EVENT_ACCEPTED)
            streams[taken++] = event.u.stream.stream;
    }
    assert_true(taken > 0 && taken < PEERS);
    for (unsigned i = 0; i < 100; i++) { /* it does not spin, and does not say it again */
        struct fabric_event event;
        (void)os_bed_next(&bed, os_bed_now(&bed) + 2000000, &event);
    }
    assert_int_equal(count_of(os_bed_said(&bed), "takes no more connections"), 1);
    assert_non_null(strstr(os_bed_said(&bed), "resources_exhausted"));
    for (unsigned i = 0; i < taken; i++)
        assert_int_equal(fabric_stream_close(bed.f, streams[i], true), FABRIC_OK);
    setrlimit(RLIMIT_NOFILE, &before);
    os_bed_await(&bed, FABRIC_EVENT_ACCEPTED);
    assert_int_equal(count_of(os_bed_said(&bed), "takes connections again"), 1);
    end(child);
    close(ready[0]);
    close(ready[1]);
}

static void connecting_without_a_descriptor_is_refused_by_name(void **state)
{
    fabric_stream stream = {0};
    (void)state;
    int next = dup(0);
    const struct rlimit none = {(rlim_t)next, before.rlim_max};
    close(next);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    assert_int_equal(fabric_connect(bed.f, bound, 0, &stream), FABRIC_OK);
    struct fabric_event event = os_bed_await(&bed, FABRIC_EVENT_CLOSED);
    assert_int_equal(event.u.stream.error, ERR_RESOURCES_EXHAUSTED);
    setrlimit(RLIMIT_NOFILE, &before);
}

static void peers_that_nobody_was_told_of_are_turned_away(void **state)
{
    const struct timeval patience = {20, 0};
    char byte;
    (void)state;
    int told = open_socket(), untold = open_socket();
    assert_true(told >= 0 && untold >= 0);
    os_bed_await(&bed, FABRIC_EVENT_ACCEPTED); /* the other one is queued behind it */
    assert_int_equal(fabric_listener_close(bed.f, listener), FABRIC_OK);
    setsockopt(untold, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    assert_int_equal(recv(untold, &byte, 1, 0), -1);
    assert_int_equal(errno, ECONNRESET);
    assert_int_equal(recv(told, &byte, 1, MSG_DONTWAIT), -1);
    assert_int_equal(errno, EAGAIN); /* it lives on */
    close(told);
    close(untold);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(ten_thousand_idle_peers_cost_little_memory),
        TEST(a_listener_outlives_the_end_of_descriptors),
        TEST(connecting_without_a_descriptor_is_refused_by_name),
        TEST(peers_that_nobody_was_told_of_are_turned_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
