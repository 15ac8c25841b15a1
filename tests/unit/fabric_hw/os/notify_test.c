/* SPDX-License-Identifier: Apache-2.0 */
/* What the service manager is told. MK-A1. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "fabric_hw/os/notify.h"

/* A socket of a service manager at a path, or with '@' at an abstract name. */
static int manager(const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, name, strlen(name));
    if (name[0] == '@')
        address.sun_path[0] = '\0';
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&address,
                          (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name))),
                     0);
    return fd;
}

static void expect_datagram(int fd, const char *text)
{
    char found[64] = "";
    ssize_t got = recv(fd, found, sizeof found - 1, 0);
    assert_int_equal(got, (ssize_t)strlen(text));
    assert_string_equal(found, text);
}

static void it_tells_a_manager_at_a_path(void **state)
{
    char folder[] = "/tmp/memkv-notify-XXXXXX", path[64];
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/s", folder);
    int fd = manager(path);
    assert_true(os_notify(path, "READY=1"));
    assert_true(os_notify(path, "STOPPING=1"));
    expect_datagram(fd, "READY=1");
    expect_datagram(fd, "STOPPING=1");
    close(fd);
    unlink(path);
    rmdir(folder);
}

static void it_tells_a_manager_of_the_abstract_namespace(void **state)
{
    char name[64];
    (void)state;
    snprintf(name, sizeof name, "@memkv-notify-test-%d", (int)getpid());
    int fd = manager(name);
    assert_true(os_notify(name, "READY=1"));
    expect_datagram(fd, "READY=1");
    close(fd);
}

static void without_a_manager_nothing_is_told(void **state)
{
    char longest[256];
    (void)state;
    memset(longest, 'x', sizeof longest - 1);
    longest[0] = '/';
    longest[sizeof longest - 1] = '\0';
    assert_false(os_notify(NULL, "READY=1"));
    assert_false(os_notify("", "READY=1"));
    assert_false(os_notify("relative", "READY=1"));
    assert_false(os_notify(longest, "READY=1"));
    assert_false(os_notify("/nonexistent/memkv/notify", "READY=1"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_tells_a_manager_at_a_path),
        cmocka_unit_test(it_tells_a_manager_of_the_abstract_namespace),
        cmocka_unit_test(without_a_manager_nothing_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
