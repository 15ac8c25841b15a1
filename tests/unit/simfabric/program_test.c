/* SPDX-License-Identifier: Apache-2.0 */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fabric_sim/simfabric/program.h"

#define LENGTH 100000u

/* A child with memory at an address that is nothing here; its end of a socket says who it is. */
struct other {
    struct program program;
    pid_t pid;
    int socket;
    uint8_t *there;
};

static void be_other(int socket)
{
    uint8_t *own = mmap(NULL, LENGTH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    if (own == MAP_FAILED)
        _exit(1);
    memset(own, 0x5a, LENGTH);
    if (write(socket, &own, sizeof(own)) != sizeof(own))
        _exit(1);
    while (read(socket, own, 1) > 0)
        continue;
    _exit(0);
}

/* Listens and lets the child connect, since a pair made before the fork would name its maker. */
static int setup(void **state)
{
    static struct other other;
    struct sockaddr address = {.sa_family = AF_UNIX}; /* the system chooses a name */
    struct sockaddr_storage name;
    socklen_t size = sizeof(name);
    int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(listener, &address, sizeof(sa_family_t)), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&name, &size), 0);
    other.pid = fork();
    assert_true(other.pid >= 0);
    if (other.pid == 0) {
        int fd = socket(AF_UNIX, SOCK_STREAM, 0);
        if (connect(fd, (const struct sockaddr *)&name, size) != 0)
            _exit(1);
        close(listener);
        be_other(fd);
    }
    other.socket = accept(listener, NULL, NULL);
    close(listener);
    assert_int_equal(read(other.socket, &other.there, sizeof(other.there)), sizeof(other.there));
    assert_true(program_open(&other.program, other.socket));
    *state = &other;
    return 0;
}

static int teardown(void **state)
{
    struct other *other = *state;
    int status;
    close(other->socket);
    kill(other->pid, SIGKILL);
    waitpid(other->pid, &status, 0);
    program_close(&other->program);
    return 0;
}

static void the_memory_of_the_process_at_the_other_end_is_read_and_written(void **state)
{
    struct other *other = *state;
    static uint8_t bytes[LENGTH];
    assert_int_equal(other->program.pid, other->pid);
    assert_true(program_read(&other->program, (uintptr_t)other->there, bytes, LENGTH));
    for (size_t i = 0; i < LENGTH; i++)
        assert_int_equal(bytes[i], 0x5a);
    memset(bytes, 0x33, LENGTH);
    assert_true(program_write(&other->program, (uintptr_t)other->there, bytes, LENGTH));
    memset(bytes, 0, LENGTH);
    assert_true(program_read(&other->program, (uintptr_t)other->there, bytes, LENGTH));
    assert_int_equal(bytes[LENGTH - 1], 0x33);
}

static void a_copy_that_leaves_the_memory_is_refused(void **state)
{
    struct other *other = *state;
    uint8_t bytes[64];
    assert_false(program_read(&other->program, 4096, bytes, sizeof(bytes)));
    assert_false(program_write(&other->program, 4096, bytes, sizeof(bytes)));
}

/* The process is not waited for: its number still names it, as it would name a stranger later. */
static void a_process_that_ended_is_not_reached(void **state)
{
    struct other *other = *state;
    siginfo_t info;
    uint8_t bytes[64];
    struct program stranger = other->program;
    kill(other->pid, SIGKILL);
    assert_int_equal(waitid(P_PID, (id_t)other->pid, &info, WEXITED | WNOWAIT), 0);
    assert_false(program_lives(&other->program));
    stranger.pid = getpid(); /* as if the number had been given out again */
    assert_false(program_read(&stranger, (uintptr_t)other, bytes, sizeof(bytes)));
    assert_false(program_write(&stranger, (uintptr_t)bytes, bytes, sizeof(bytes)));
}

static void who_hung_up_is_nobody(void **state)
{
    struct other *other = *state;
    int pair[2];
    struct program program;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
    assert_true(program_open(&program, pair[0]));
    assert_int_equal(program.pid, getpid());
    program_close(&program);
    close(pair[1]);
    assert_false(program_open(&program, pair[0]));
    assert_false(program_lives(&program));
    close(pair[0]);
    assert_true(program_lives(&other->program));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            the_memory_of_the_process_at_the_other_end_is_read_and_written, setup, teardown),
        cmocka_unit_test_setup_teardown(a_copy_that_leaves_the_memory_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(a_process_that_ended_is_not_reached, setup, teardown),
        cmocka_unit_test_setup_teardown(who_hung_up_is_nobody, setup, teardown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
