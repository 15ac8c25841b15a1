/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "src/config/server_config.h"
#include "tests/support/desk.h"

#define NEWER "ff0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"

static const char file[] = "network: {address: \"0.0.0.0:9900\", auth_key_file: key}\n"
                           "memory: {max_size: 8 MiB}\nlog: {level: warn}\n";

static void open_desk(struct desk *desk)
{
    desk_open(desk);
    desk_file(desk, "conf", file, sizeof file - 1, 0644);
    desk_file(desk, "key", "# a note\n" PAIR_KEY "\n", sizeof PAIR_KEY + 9, 0600);
}

/* MK-K1. */
static void a_wrong_file_is_refused_with_its_place(void **state)
{
    static const char wrong[] = "network: {auth_key_file: key}\nrdma:\n  pkey_idx: 1\n";
    struct desk desk;
    (void)state;
    open_desk(&desk);
    desk_expect(&desk, "memkv start --check-config --config conf", CLI_DONE,
                "conf: the configuration is good", NULL);
    desk_file(&desk, "conf", wrong, sizeof wrong - 1, 0644);
    desk_expect(&desk, "memkv start --check-config --config conf", CLI_CONFIG, NULL,
                "conf:3:3: found the unknown key 'pkey_idx'; did you mean 'pkey_index'?");
    desk_expect(&desk, "memkv start --check-config --config conf --set rdma.mtu=9000", CLI_CONFIG,
                NULL, "conf:3:3");
    desk_file(&desk, "conf", "network: {auth_key_file: key}\nrdma: {mtu: 9000}\n", 48, 0644);
    desk_expect(&desk, "memkv start --check-config --config conf", CLI_CONFIG, NULL,
                "mtu_invalid: conf:2:13: mtu: found '9000'");
    desk_expect(&desk, "memkv start --config none", CLI_CONFIG, NULL, "none: the configuration");
    desk_expect(&desk, "memkv start --check-config", CLI_CONFIG, NULL, "auth_key_file is missing");
    desk_close(&desk);
}

/* An error has its name from where it is decided, not from what somebody wrote into the file. */
static void each_complaint_has_its_own_name(void **state)
{
    static const char quoted[] = "network: {auth_key_file: key, address: (mtu_invalid)}\n";
    static const char both[] = "network: {auth_key_file: key, address: x}\nrdma: {mtu: 9000}\n";
    struct desk desk;
    (void)state;
    open_desk(&desk);
    desk_file(&desk, "conf", quoted, sizeof quoted - 1, 0644);
    desk_expect(&desk, "memkv start --check-config --config conf", CLI_CONFIG, NULL,
                "memkv: config_invalid: conf:1:40: address: found '(mtu_invalid)'");
    desk_file(&desk, "conf", both, sizeof both - 1, 0644);
    desk_expect(&desk, "memkv start --check-config --config conf --json", CLI_CONFIG,
                "\"name\":\"mtu_invalid\",\"detail\":\"conf:2:13: mtu: found '9000'",
                "memkv: config_invalid: conf:1:40: address: found 'x'");
    desk_close(&desk);
}

static void every_value_is_printed_with_its_origin(void **state)
{
    struct desk desk;
    (void)state;
    open_desk(&desk);
    desk_set(&desk, "MEMKV_RDMA_MTU", "2048");
    desk_expect(&desk, "memkv start --print-config --config conf --set storage.lanes=2", CLI_DONE,
                "  mtu: 2048                                  # environment\n", NULL);
    assert_non_null(strstr(desk.out, "  lanes: 2                                   # flag\n"));
    assert_non_null(strstr(desk.out, "  max_size: 8 MiB                            # file\n"));
    assert_non_null(strstr(desk.out, "  block_size: 2 MiB                          # default\n"));
    assert_null(strstr(desk.out, PAIR_KEY));
    desk_file(&desk, "again", desk.out, strlen(desk.out), 0644); /* it is a configuration itself */
    desk_set(&desk, "MEMKV_RDMA_MTU", "1024");
    desk_expect(&desk, "memkv start --print-config --config again --json", CLI_DONE,
                "{\"key\":\"storage.lanes\",\"origin\":\"file\"", NULL);
    desk_close(&desk);
}

/* Folders may be as long as they like, and a line end in one is no space when it is read again. */
static void folders_are_printed_as_they_are(void **state)
{
    char conf[4096], expected[64];
    static const char escaped[] = "\\\\"; /* one byte of a folder */
    struct desk desk;
    (void)state;
    open_desk(&desk);
    int used = snprintf(conf, sizeof conf,
                        "network: {auth_key_file: key}\nstorage:\n  mode: file\n"
                        "  max_size: 1 GiB\n  devices:\n    - \"/a\\nb\"\n");
    for (int i = 1; i < CONFIG_MAX_MEDIA; i++) {
        used += snprintf(conf + used, sizeof conf - (size_t)used, "    - \"/%d", i);
        for (int k = 0; k < 220; k++)
            used += snprintf(conf + used, sizeof conf - (size_t)used, "%s", escaped);
        used += snprintf(conf + used, sizeof conf - (size_t)used, "\"\n");
    }
    desk_file(&desk, "conf", conf, (size_t)used, 0644);
    for (int again = 0; again < 2; again++) {
        desk_expect(&desk, "memkv start --print-config --config conf", CLI_DONE,
                    "  devices: [\"/a\\x0ab\", \"/1\\\\", NULL);
        snprintf(expected, sizeof expected, "%s\"] ", escaped);
        assert_non_null(strstr(desk.out, expected));
        desk_file(&desk, "conf", desk.out, strlen(desk.out), 0644);
    }
    desk_close(&desk);
}

/* rdma.device is a name of rdma.devices, in both forms. */
static void the_other_name_of_a_key_is_its_origin_too(void **state)
{
    static const char other[] = "network: {auth_key_file: key}\nrdma: {device: mlx5_0}\n";
    struct desk desk;
    (void)state;
    open_desk(&desk);
    desk_file(&desk, "conf", other, sizeof other - 1, 0644);
    desk_expect(&desk, "memkv start --print-config --config conf", CLI_DONE,
                "  devices: [\"mlx5_0\"]                        # file\n", NULL);
    desk_expect(&desk, "memkv start --print-config --config conf --json", CLI_DONE,
                "{\"key\":\"rdma.devices\",\"origin\":\"file\"", NULL);
    desk_close(&desk);
}

static void a_key_file_that_everybody_may_write_is_refused(void **state)
{
    struct desk desk;
    (void)state;
    open_desk(&desk);
    desk_find(&desk, "key")->mode = 0666;
    desk_expect(&desk, "memkv start --check-config --config conf", CLI_CONFIG, NULL,
                "key: found mode 0666: everybody may write it; 0600 is expected");
    desk_find(&desk, "key")->mode = 0644;
    desk_expect(&desk, "memkv start --check-config --config conf", CLI_DONE, NULL,
                "warning: key: found mode 0644");
    desk_file(&desk, "key", "123", 3, 0600);
    desk_expect(&desk, "memkv start --check-config --config conf", CLI_CONFIG, NULL,
                "64 hexadecimal digits are expected");
    desk_close(&desk);
}

/* The server runs until a signal, and says where it listens. */
static void terminate(struct desk *desk)
{
    if (small_now(desk->world) > SECOND)
        desk->signal = CLI_SIGNAL_TERMINATE;
}

static void it_serves_until_it_is_told_to_end(void **state)
{
    struct desk desk;
    (void)state;
    open_desk(&desk);
    desk.world = small_world_new(2);
    desk.node = PAIR_SERVER;
    desk.meanwhile = terminate;
    desk_expect(&desk, "memkv start --config conf", CLI_DONE,
                "memkv: ready data=10.0.0.1:9900 admin=10.0.0.1:9901\n", NULL);
    assert_string_equal(desk.told, "READY=1 STOPPING=1 ");
    assert_false(desk.busy_poll);
    desk_expect(&desk, "memkv start --config conf --set rdma.busy_poll=true", CLI_DONE, NULL, NULL);
    assert_true(desk.busy_poll);
    small_port(desk.world, PAIR_SERVER)->attr.active_mtu = FABRIC_MTU_1024;
    desk_expect(&desk, "memkv start --config conf --set rdma.mtu=2048", CLI_CONFIG, NULL,
                "mtu_above_active");
    desk_close(&desk);
}

/* MK-H3: what the configuration asks for and cannot have is its fault, not that of a fabric. */
static void a_setting_that_cannot_be_had_is_the_configurations_fault(void **state)
{
    struct desk desk;
    (void)state;
    open_desk(&desk);
    desk.world = small_world_new(2);
    small_fail(desk.world, desk.node, FABRIC_OP_LISTEN, 1, 1, ERR_INVALID_ARGUMENT);
    desk_expect(&desk, "memkv start --config conf", CLI_CONFIG, NULL,
                "invalid_argument: not started");
    assert_non_null(strstr(desk.err, "Correct the setting that the log line names."));
    desk_close(&desk);
}

static void interrupt(struct desk *desk)
{
    if (small_now(desk->world) > SECOND)
        desk->signal = CLI_SIGNAL_INTERRUPT;
}

static void interrupted_it_says_so(void **state)
{
    struct desk desk;
    (void)state;
    open_desk(&desk);
    desk.world = small_world_new(2);
    desk.node = PAIR_SERVER;
    desk.meanwhile = interrupt;
    desk_expect(&desk, "memkv start --config conf", CLI_INTERRUPTED, "memkv: ready", NULL);
    assert_int_equal(small_logged(desk.world, PAIR_SERVER, "draining: 0 connections"), 1);
    assert_string_equal(desk.err, "");
    desk_close(&desk);
}

/* A client's value is on its way for longer than the test lasts; then the signal comes, twice. */
static void terminate_twice(struct desk *desk)
{
    struct small_world *w = desk->world;
    uint64_t ms = small_now(w) / (SECOND / 1000);
    if (ms == 5) {
        assert_int_equal(pair_client(w, "rdma", ""), 0);
        pair_has(pair_do(w, "\"op\":\"put\",\"key\":\"k\",\"size\":100000,\"seed\":7"), "rdma");
        small_delay(w, 100 * SECOND);
        small_command(w, PAIR_CLIENT,
                      "{\"id\":99,\"op\":\"put\",\"key\":\"b\",\"size\":100000,\"seed\":8}");
    } else if (ms == 20) {
        desk->signal = CLI_SIGNAL_TERMINATE;
    } else if (small_logged(w, PAIR_SERVER, "draining: 1 connections, 1 transfers") == 1) {
        desk->signal = CLI_SIGNAL_TERMINATE;
    }
}

static void told_twice_it_ends_at_once_and_says_so(void **state)
{
    struct desk desk;
    (void)state;
    open_desk(&desk);
    desk.world = small_world_new(2);
    desk.node = PAIR_SERVER;
    desk.meanwhile = terminate_twice;
    desk_expect(&desk, "memkv start --config conf --device mlx5_0", CLI_INTERRUPTED, "memkv: ready",
                "ended at once: what was under way was not finished");
    assert_null(strstr(desk.err, "not started"));
    assert_null(small_until(desk.world, PAIR_SERVER, "drained", 1));
    desk_close(&desk);
}

/* SIGHUP: the key and the log level of the file as it is now; a wrong file changes nothing. */
static void reload_then_end(struct desk *desk)
{
    uint64_t ms = small_now(desk->world) / (SECOND / 1000);
    if (ms == 5) {
        desk_file(desk, "key", NEWER, sizeof NEWER - 1, 0600);
        desk_file(desk, "conf", "network: {auth_key_file: key}\nlog: {level: debug}\n", 50, 0644);
        desk->signal = CLI_SIGNAL_HANGUP;
    } else if (ms == 10) {
        desk_file(desk, "conf", "network: {auth_key_fle: key}\n", 29, 0644);
        desk->signal = CLI_SIGNAL_HANGUP;
    } else if (ms == 15) {
        desk->signal = CLI_SIGNAL_TERMINATE;
    }
}

static void a_reload_takes_the_key_and_the_log_level(void **state)
{
    struct desk desk;
    (void)state;
    open_desk(&desk);
    desk.world = small_world_new(2);
    desk.node = PAIR_SERVER;
    desk.meanwhile = reload_then_end;
    desk_expect(&desk, "memkv start --config conf", CLI_DONE, NULL, "SIGHUP: nothing was changed");
    assert_int_equal(small_logged(desk.world, PAIR_SERVER, "reloaded: the key is a new one"), 1);
    assert_int_equal(desk.level, FABRIC_LOG_DEBUG);
    desk_close(&desk);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wrong_file_is_refused_with_its_place),
        cmocka_unit_test(each_complaint_has_its_own_name),
        cmocka_unit_test(every_value_is_printed_with_its_origin),
        cmocka_unit_test(folders_are_printed_as_they_are),
        cmocka_unit_test(the_other_name_of_a_key_is_its_origin_too),
        cmocka_unit_test(a_key_file_that_everybody_may_write_is_refused),
        cmocka_unit_test(it_serves_until_it_is_told_to_end),
        cmocka_unit_test(a_setting_that_cannot_be_had_is_the_configurations_fault),
        cmocka_unit_test(interrupted_it_says_so),
        cmocka_unit_test(told_twice_it_ends_at_once_and_says_so),
        cmocka_unit_test(a_reload_takes_the_key_and_the_log_level),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
