/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <string.h>

#include "tests/support/desk.h"
#include "tests/support/rogue.h"
#include "tests/support/tree_fabric.h"

#define OTHER_KEY "ff0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"

static void open_pair(struct desk *desk)
{
    desk_open(desk);
    desk->world = small_world_new(2);
    assert_int_equal(pair_server(desk->world, ""), 0);
    desk_set(desk, "MEMKV_SERVERS", "10.0.0.1:9900");
    desk_set(desk, "MEMKV_AUTH_KEY", PAIR_KEY);
}

/* MK-H2: over RDMA unless something else is asked for, and everything that agreed is listed. */
static void a_block_over_rdma_proves_the_fabric(void **state)
{
    struct desk desk;
    (void)state;
    open_pair(&desk);
    desk_expect(&desk, "memkv net verify --device mlx5_0", CLI_DONE,
                "\nVERIFIED: addressing, partition and MTU agree end to end", NULL);
    assert_non_null(strstr(desk.out, "transport         : RDMA (RC)\n"));
    assert_non_null(strstr(desk.out, "LID               : 2\n"));
    assert_non_null(strstr(desk.out, "peer LID          : 1\n"));
    assert_non_null(strstr(desk.out, "P_Key             : 0xffff   (full membership)\n"));
    assert_non_null(strstr(desk.out, "path MTU          : 4096\n"));
    assert_non_null(strstr(desk.out, "block             : 1048577 bytes there and back\n"));
    desk_expect(&desk, "memkv net verify -j --size 8193", CLI_DONE,
                "{\"ok\":true,\"verified\":true,\"server\":\"10.0.0.1:9900\","
                "\"transport\":\"rc\",\"bytes\":8193,\"fabric_proven\":true",
                NULL);
    desk_expect(&desk, "memkv net verify --size 8192", CLI_USAGE, NULL, "8193 bytes to 16 MiB");
    desk_expect(&desk, "memkv exists x", CLI_NOT_FOUND, NULL, NULL);
    desk_close(&desk);
}

/* Which of several a key goes to is the key's affair: what was proven would bear a wrong name. */
static void of_several_servers_none_is_verified(void **state)
{
    struct desk desk;
    (void)state;
    open_pair(&desk);
    desk_set(&desk, "MEMKV_SERVERS", "10.0.0.2:9,10.0.0.1:9900");
    desk_expect(&desk, "memkv net verify --json", CLI_USAGE, "\"name\":\"usage\"",
                "found 2 servers; one is expected");
    desk_expect(&desk, "memkv net verify --server 10.0.0.1:9900", CLI_DONE, "\nVERIFIED", NULL);
    desk_close(&desk);
}

/* What grew since the rail was up; the rest is somebody else's. */
static struct fabric_port_counters counted(uint64_t packets, uint64_t timeouts)
{
    struct fabric_port_counters c = {.xmit_packets = packets, .ack_timeouts = timeouts};
    c.present = UINT64_C(1) << (offsetof(struct fabric_port_counters, xmit_packets) / 8) |
                UINT64_C(1) << (offsetof(struct fabric_port_counters, ack_timeouts) / 8);
    return c;
}

static void what_the_port_counted_meanwhile_is_listed(void **state)
{
    struct desk desk;
    (void)state;
    open_pair(&desk);
    desk_expect(&desk, "memkv net verify", CLI_DONE, NULL, NULL);
    assert_null(strstr(desk.out, "port counters")); /* it has none */
    small_port(desk.world, PAIR_CLIENT)->counters = counted(1000, 70);
    desk_expect(&desk, "memkv net verify", CLI_DONE, "\nport counters     : nothing grew\n", NULL);
    small_port(desk.world, PAIR_CLIENT)->busy = 33;
    desk_expect(&desk, "memkv net verify", CLI_DONE, "\nport counters     : xmit_packets +", NULL);
    assert_null(strstr(desk.out, "ack_timeouts"));
    desk_expect(&desk, "memkv net verify -j", CLI_DONE,
                "\"port_counters_growth\":{\"xmit_packets\":", NULL);
    assert_non_null(strstr(desk.out, ",\"ack_timeouts\":0}"));
    desk_close(&desk);
}

static void over_tcp_the_fabric_is_not_proven(void **state)
{
    struct desk desk;
    (void)state;
    open_pair(&desk);
    desk_expect(&desk, "memkv net verify --transport tcp", CLI_DONE,
                "\nVERIFIED (tcp only: fabric not proven)", NULL);
    desk_expect(&desk, "memkv net verify --transport tcp -j", CLI_DONE, "\"fabric_proven\":false",
                NULL);
    desk_expect(&desk, "memkv net verify --transport auto", CLI_USAGE, NULL, "no such value");
    desk_close(&desk);
}

/* The first line that begins FAILED names the error; what to do follows. */
static void a_failure_names_the_error_and_what_to_check(void **state)
{
    struct desk desk;
    (void)state;
    open_pair(&desk);
    small_port(desk.world, PAIR_CLIENT)->pkeys[0] = 0x7fff;
    small_port(desk.world, PAIR_SERVER)->pkeys[0] = 0x7fff;
    small_async(desk.world, PAIR_SERVER, FABRIC_ASYNC_PKEY_CHANGE, 1);
    desk_expect(&desk, "memkv net verify", CLI_FABRIC, "\nFAILED: pkey_limited_pair: ", NULL);
    assert_non_null(strstr(desk.out, "\n  check next "));
    assert_non_null(strstr(desk.out, "(limited membership)"));
    desk_expect(&desk, "memkv net verify --json", CLI_FABRIC,
                "\"error\":{\"name\":\"pkey_limited_pair\"", NULL);
    desk_set(&desk, "MEMKV_AUTH_KEY", OTHER_KEY);
    desk_expect(&desk, "memkv net verify --transport tcp --timeout 2s", CLI_AUTHENTICATION,
                "\nFAILED: auth_failed: ", NULL);
    desk_set(&desk, "MEMKV_AUTH_KEY", PAIR_KEY);
    desk_expect(&desk, "memkv net verify --transport tcp --server 10.0.0.2:5 --timeout 2s",
                CLI_CANNOT_REACH, "\nFAILED: unreachable: ", NULL);
    desk_close(&desk);
}

static void without_a_device_it_fails_rather_than_use_tcp(void **state)
{
    struct desk desk;
    (void)state;
    open_pair(&desk);
    small_no_device(desk.world, PAIR_CLIENT);
    desk_expect(&desk, "memkv net verify --timeout 2s", CLI_FABRIC, "\nFAILED: rdma_required",
                NULL);
    desk_close(&desk);
}

static void corrupt_the_answer(struct desk *desk)
{
    const char *body;
    small_http(desk->world, PAIR_SERVER, "GET", "/v1/metrics", &body);
    if (strstr(body, "memkv_write_total{transport=\"rdma\"} 1\n"))
        small_corrupt(desk->world, 1);
}

/* Without tags, which would find it first: the comparison does. */
static void a_byte_that_differs_is_a_mismatch(void **state)
{
    struct desk desk;
    (void)state;
    open_pair(&desk);
    desk_set(&desk, "MEMKV_VERIFY", "none");
    small_delay(desk.world, SECOND / 100);
    desk.meanwhile = corrupt_the_answer;
    desk_expect(&desk, "memkv net verify --size 16KiB", CLI_MISMATCH,
                "\nFAILED: tag_mismatch: byte ", NULL);
    desk_close(&desk);
}

/* ------------------------------------------------------------------ net show, net ipoib */

static void the_devices_of_a_machine_are_shown(void **state)
{
    static const char tree[] = "tests/net/trees/mlx5-infiniband/tree";
    struct desk desk;
    (void)state;
    desk_open(&desk);
    struct tree_fabric *t = tree_fabric_open(tree);
    desk.fabric = &t->head;
    desk_expect(&desk, "memkv net show", CLI_DONE, "link layer        : InfiniBand", NULL);
    t = tree_fabric_open(tree);
    desk.fabric = &t->head;
    desk_expect(&desk, "memkv net show --device mlx5_9:1 --json", CLI_NOT_FOUND, "mlx5_9", NULL);
    t = tree_fabric_open(tree);
    desk.fabric = &t->head;
    desk_expect(&desk, "memkv net ipoib --interface ib9", CLI_NOT_FOUND, NULL, "ib9");
    desk_expect(&desk, "memkv net show --device a:b", CLI_USAGE, NULL, "mlx5_0 or mlx5_0:2");
    desk_expect(&desk, "memkv net show --watch soon", CLI_USAGE, NULL, "a time such as 5s");
    desk_expect(&desk, "memkv net ipoib", CLI_USAGE, NULL, "--interface NAME is expected");
    desk_expect(&desk, "memkv net ipoib --interface ib0 --mtu 7", CLI_USAGE, NULL, "found '7'");
    desk_expect(&desk, "memkv net show --config none", CLI_CONFIG, NULL, "none: the configuration");
    desk_close(&desk);
}

/* What memkv start takes is no mistake here: its key may be in the environment, or in a file that
 * whoever looks may not read. */
static void ports_are_judged_by_what_the_server_would_take(void **state)
{
    static const char tree[] = "tests/net/trees/mlx5-infiniband/tree";
    static const char keyless[] = "rdma: {devices: [mlx5_0]}\n";
    struct desk desk;
    (void)state;
    desk_open(&desk);
    desk_file(&desk, "conf", keyless, sizeof keyless - 1, 0644);
    desk_set(&desk, "MEMKV_AUTH_KEY_FILE", "/root/key");
    desk_set(&desk, "MEMKV_RDMA_PKEY_INDEX", "120");
    struct tree_fabric *t = tree_fabric_open(tree);
    desk.fabric = &t->head;
    desk_expect(&desk, "memkv net show --config conf", CLI_DONE, "pkey_index        : 120", NULL);
    t = tree_fabric_open(tree);
    desk.fabric = &t->head;
    desk_expect(&desk, "memkv net show --config conf --set rdma.pkey_index=121", CLI_DONE,
                "pkey_index        : 121", NULL);
    desk_expect(&desk, "memkv net show --config conf --set rdma.pkey_index=-1", CLI_CONFIG, NULL,
                "set rdma.pkey_index: pkey_index: found '-1'");
    desk_close(&desk);
}

/* ------------------------------------------------------------------ admin status */

static struct rogue page; /* answers HTTP on node 0 */
static const char *answer;

static void reply(struct desk *desk)
{
    (void)desk;
    if (page.raw_received == 0 || !page.stream.id || !answer)
        return;
    rogue_send_bytes(&page, answer, strlen(answer));
    fabric_stream_close(page.fabric, page.stream, false);
    page.stream.id = 0;
    page.raw_received = 0;
}

static void the_status_of_a_server_is_shown(void **state)
{
    struct desk desk;
    (void)state;
    desk_open(&desk);
    desk.world = small_world_new(2);
    page = (struct rogue){.raw = true};
    rogue_start(desk.world, PAIR_SERVER, &page, WIRE_SERVER);
    desk.meanwhile = reply;
    answer = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n"
             "{\"health\":\"healthy\",\"version\":\"9\",\"store\":{\"blocks\":12}}";
    desk_expect(&desk, "memkv admin status --server 10.0.0.1:9900", CLI_DONE,
                "health            : healthy\nversion           : 9\n", NULL);
    assert_non_null(strstr(desk.out, "blocks            : 12\n"));
    desk_expect(&desk, "memkv admin status --server 10.0.0.1:9900 --json", CLI_DONE,
                "{\"health\":\"healthy\",\"version\":\"9\"", NULL);
    answer = "HTTP/1.1 404 Not Found\r\n\r\n{}";
    desk_expect(&desk, "memkv admin status --server 10.0.0.1:9900", CLI_NOT_FOUND, NULL,
                "is this a memkv server?");
    assert_non_null(strstr(desk.err, "admin.address"));
    answer = "\x16\x03\x01 no HTTP";
    desk_expect(&desk, "memkv admin status --server 10.0.0.1:9900", CLI_CANNOT_REACH, NULL,
                "speaks no HTTP");
    answer = NULL; /* silence */
    desk_expect(&desk, "memkv admin status --server 10.0.0.1:9900", CLI_CANNOT_REACH, NULL,
                "timeout");
    desk_expect(&desk, "memkv admin status --server 10.0.0.2:1", CLI_CANNOT_REACH, NULL,
                "admin.address");
    desk_expect(&desk, "memkv admin status --server x", CLI_USAGE, NULL, "HOST:PORT");
    desk_close(&desk);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_block_over_rdma_proves_the_fabric),
        cmocka_unit_test(of_several_servers_none_is_verified),
        cmocka_unit_test(what_the_port_counted_meanwhile_is_listed),
        cmocka_unit_test(over_tcp_the_fabric_is_not_proven),
        cmocka_unit_test(a_failure_names_the_error_and_what_to_check),
        cmocka_unit_test(without_a_device_it_fails_rather_than_use_tcp),
        cmocka_unit_test(a_byte_that_differs_is_a_mismatch),
        cmocka_unit_test(the_devices_of_a_machine_are_shown),
        cmocka_unit_test(ports_are_judged_by_what_the_server_would_take),
        cmocka_unit_test(the_status_of_a_server_is_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
