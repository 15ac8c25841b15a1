/* SPDX-License-Identifier: Apache-2.0 */
/* MK-K2. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/options.h"
#include "lib/part.h"

#define KEY "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
#define ENOUGH "servers=a:1", "auth_key=" KEY

static struct lib_options out;
static struct memkv_error error;
static char folder[32];

static int enter(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/memkv-lib-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int leave(void **state)
{
    char path[64];
    (void)state;
    snprintf(path, sizeof path, "%s/file", folder);
    unlink(path);
    unsetenv("MEMKV_CONFIG");
    unsetenv("MEMKV_SERVERS");
    unsetenv("MEMKV_TIMEOUT");
    return rmdir(folder);
}

static const char *file(const char *text)
{
    static char path[64];
    snprintf(path, sizeof path, "%s/file", folder);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    chmod(path, 0600);
    return path;
}

static int read_options(const char *const *settings)
{
    const struct memkv_options given = {.size = sizeof given, .settings = settings};
    return lib_options_read(&given, &out, &error);
}

static void says(int code, const char *text)
{
    assert_int_equal(error.code, code);
    if (!strstr(error.text, text))
        fail_msg("'%s' is not in: %s", text, error.text);
}

static void settings_win_over_the_environment_and_that_over_the_file(void **state)
{
    const char *const settings[] = {"num_connections=7", NULL};
    (void)state;
    setenv("MEMKV_CONFIG",
           file("servers: [a:1]\nauth_key: " KEY "\ntimeout: 1s\nnum_connections: 2\nmtu: 1024\n"),
           1);
    setenv("MEMKV_SERVERS", "b:2,c:3", 1);
    setenv("MEMKV_TIMEOUT", "2s", 1);
    assert_int_equal(read_options(settings), 0);
    assert_int_equal(out.config.server_count, 2);
    assert_string_equal(out.config.servers[1], "c:3");
    assert_int_equal(out.config.timeout, 2000000000);
    assert_int_equal(out.config.num_connections, 7);
    assert_int_equal(out.config.rdma.mtu, 1024);
    assert_int_equal(out.config.auth_key[31], 0x1f);
}

static void without_options_the_environment_and_its_file_are_enough(void **state)
{
    (void)state;
    setenv("MEMKV_CONFIG", file("servers: [a:1]\nauth_key: " KEY "\n"), 1);
    assert_int_equal(lib_options_read(NULL, &out, &error), 0);
    assert_string_equal(out.config.servers[0], "a:1");
}

static void a_variable_that_is_set_and_empty_is_an_error(void **state)
{
    const char *const settings[] = {ENOUGH, NULL};
    (void)state;
    setenv("MEMKV_TIMEOUT", "", 1);
    assert_int_equal(read_options(settings), MEMKV_ERR_CONFIG_INVALID);
    says(MEMKV_ERR_CONFIG_INVALID, "MEMKV_TIMEOUT: it is set but empty");
    unsetenv("MEMKV_TIMEOUT");
    setenv("MEMKV_CONFIG", "", 1);
    assert_int_equal(read_options(settings), MEMKV_ERR_CONFIG_INVALID);
    says(MEMKV_ERR_CONFIG_INVALID, "MEMKV_CONFIG: it is set but empty");
}

static void the_environment_can_be_ignored(void **state)
{
    const char *const settings[] = {ENOUGH, NULL};
    const struct memkv_options given = {
        .size = sizeof given, .settings = settings, .ignore_environment = true};
    (void)state;
    setenv("MEMKV_TIMEOUT", "", 1);
    setenv("MEMKV_CONFIG", "/does/not/exist", 1);
    assert_int_equal(lib_options_read(&given, &out, &error), 0);
    assert_string_equal(out.config.servers[0], "a:1");
}

static void what_is_wrong_with_a_setting_is_said_with_its_key(void **state)
{
    const char *const unknown[] = {ENOUGH, "timeuot=2s", NULL};
    const char *const mtu[] = {ENOUGH, "mtu=1000", NULL};
    const char *const no_value[] = {ENOUGH, "mtu", NULL};
    const char *const no_server[] = {"auth_key=" KEY, NULL};
    (void)state;
    assert_int_equal(read_options(unknown), MEMKV_ERR_CONFIG_INVALID);
    says(MEMKV_ERR_CONFIG_INVALID, "timeuot: ");
    says(MEMKV_ERR_CONFIG_INVALID, "timeout");
    assert_null(strstr(error.text, "--"));
    assert_int_equal(read_options(mtu), MEMKV_ERR_MTU_INVALID);
    says(MEMKV_ERR_MTU_INVALID, "1000");
    read_options(no_value);
    says(MEMKV_ERR_CONFIG_INVALID, "KEY=VALUE is expected");
    read_options(no_server);
    says(MEMKV_ERR_CONFIG_INVALID, "servers");
}

static void a_file_that_cannot_be_read_is_named(void **state)
{
    const struct memkv_options given = {.size = sizeof given, .config = "/does/not/exist"};
    (void)state;
    lib_options_read(&given, &out, &error);
    says(MEMKV_ERR_CONFIG_INVALID, "/does/not/exist: No such file");
    const struct memkv_options wrong = {.size = sizeof wrong,
                                        .config = file("servers: [a:1]\nx: 1\n")};
    lib_options_read(&wrong, &out, &error);
    says(MEMKV_ERR_CONFIG_INVALID, "file:2:1: ");
}

static void a_key_file_is_read_unless_everybody_may_write_it(void **state)
{
    char setting[80];
    const char *const settings[] = {"servers=a:1", setting, NULL};
    (void)state;
    const char *path = file("# of the cluster\n" KEY "\n");
    snprintf(setting, sizeof setting, "auth_key_file=%s", path);
    assert_int_equal(read_options(settings), 0);
    assert_true(out.config.auth_key_set);
    assert_int_equal(out.config.auth_key[30], 0x1e);
    chmod(path, 0602);
    read_options(settings);
    says(MEMKV_ERR_CONFIG_INVALID, "everybody may write it");
    file("0001");
    read_options(settings);
    says(MEMKV_ERR_CONFIG_INVALID, "64 hexadecimal digits");
    unlink(path);
    read_options(settings);
    says(MEMKV_ERR_CONFIG_INVALID, path);
}

static void callers_of_other_versions_are_understood_or_refused(void **state)
{
    const char *const settings[] = {ENOUGH, NULL};
    struct {
        struct memkv_options known;
        uint64_t later;
    } given = {{.settings = settings, .key_prefix = "never read"}, 0};
    (void)state;
    lib_options_read(&given.known, &out, &error);
    says(MEMKV_ERR_INVALID_ARGUMENT, "found 0");
    given.known.size = offsetof(struct memkv_options, key_prefix);
    assert_int_equal(lib_options_read(&given.known, &out, &error), 0);
    assert_string_equal(out.prefix, "");
    given.known.size = sizeof given;
    assert_int_equal(lib_options_read(&given.known, &out, &error), 0);
    assert_string_equal(out.prefix, "never read");
    given.later = 1;
    lib_options_read(&given.known, &out, &error);
    says(MEMKV_ERR_INVALID_ARGUMENT, "the byte at");
}

static void log_and_prefix_are_taken_or_refused(void **state)
{
    static char prefix[300];
    const char *const settings[] = {ENOUGH, NULL};
    struct memkv_options given = {.size = sizeof given, .settings = settings};
    (void)state;
    assert_int_equal(lib_options_read(&given, &out, &error), 0);
    assert_int_equal(out.fabric.log_fd, STDERR_FILENO);
    assert_int_equal(out.fabric.log_level, FABRIC_LOG_WARN);
    given.log_level = MEMKV_LOG_NONE;
    assert_int_equal(lib_options_read(&given, &out, &error), 0);
    assert_int_equal(out.fabric.log_fd, -1);
    given.log_fd = -1;
    lib_options_read(&given, &out, &error);
    says(MEMKV_ERR_INVALID_ARGUMENT, "log_fd");
    given.log_fd = 0;
    given.log_level = (enum memkv_log_level)9;
    lib_options_read(&given, &out, &error);
    says(MEMKV_ERR_INVALID_ARGUMENT, "log_level");
    given.log_level = MEMKV_LOG_INFO;
    memset(prefix, 'p', 255);
    given.key_prefix = prefix;
    lib_options_read(&given, &out, &error);
    says(MEMKV_ERR_INVALID_ARGUMENT, "key_prefix");
}

static void busy_polling_is_asked_of_what_has_completion_queues(void **state)
{
    const char *const settings[] = {ENOUGH, NULL}, *const busy[] = {ENOUGH, "busy_poll=true", NULL};
    (void)state;
    assert_int_equal(read_options(settings), 0);
    assert_null(out.fabric.part_context);
    assert_int_equal(read_options(busy), 0);
    assert_int_equal(out.fabric.part_context != NULL, lib_part() != NULL);
}

#define T(test) cmocka_unit_test_setup_teardown(test, enter, leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(settings_win_over_the_environment_and_that_over_the_file),
        T(without_options_the_environment_and_its_file_are_enough),
        T(a_variable_that_is_set_and_empty_is_an_error),
        T(the_environment_can_be_ignored),
        T(what_is_wrong_with_a_setting_is_said_with_its_key),
        T(a_file_that_cannot_be_read_is_named),
        T(a_key_file_is_read_unless_everybody_may_write_it),
        T(callers_of_other_versions_are_understood_or_refused),
        T(log_and_prefix_are_taken_or_refused),
        T(busy_polling_is_asked_of_what_has_completion_queues),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
