/* SPDX-License-Identifier: Apache-2.0 */
/* What a runner knows and makes of its own process. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fabric_hw/os/children.h"

static struct remote_host host;

static int setup(void **state)
{
    (void)state;
    return os_children_create(false, &host) ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    os_children_destroy(&host);
    return 0;
}

static void a_program_in_our_folder_is_found_and_no_other(void **state)
{
    char path[512];
    (void)state;
    assert_true(host.beside(host.context, "children_self_test", path, sizeof(path)));
    assert_int_equal(access(path, X_OK), 0);
    assert_false(host.beside(host.context, "no-such-program", path, sizeof(path)));
    assert_false(host.beside(host.context, "..", path, sizeof(path)));
    assert_false(host.beside(host.context, "children_self_test", path, 8));
    assert_int_equal(host.process(host.context), getpid());
}

static int connect_to(const struct sockaddr_in *address)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    int result = connect(fd, (const struct sockaddr *)address, sizeof(*address));
    close(fd);
    return result;
}

/* In a process of its own, as the network stays. 0: it is as it should be, 2: it cannot be had. */
static int look_around(const struct sockaddr_in *outside)
{
    char detail[REMOTE_DETAIL] = "";
    struct sockaddr_in inside = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f010203)};
    socklen_t size = sizeof(inside);
    if (connect_to(outside) != 0)
        return 1;
    if (!host.own_network(host.context, detail))
        return detail[0] ? 2 : 1;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(fd, (struct sockaddr *)&inside, size) != 0 || listen(fd, 1) != 0 ||
        getsockname(fd, (struct sockaddr *)&inside, &size) != 0)
        return 1;
    return connect_to(outside) != 0 && connect_to(&inside) == 0 && geteuid() == 0 ? 0 : 1;
}

static void an_own_network_has_a_loopback_interface_and_nobody_else(void **state)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000001)};
    socklen_t size = sizeof(address);
    int status = -1, fd = socket(AF_INET, SOCK_STREAM, 0);
    (void)state;
    assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(fd, 4), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    pid_t pid = fork();
    if (pid == 0)
        _exit(look_around(&address));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    close(fd);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 2)
        skip(); /* this machine lets nobody make namespaces */
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_in_our_folder_is_found_and_no_other),
        cmocka_unit_test(an_own_network_has_a_loopback_interface_and_nobody_else),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
