/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "src/server/program.h"
#include "tests/support/memkv_pair.h"

static const char *status(struct small_world *w)
{
    small_command(w, PAIR_SERVER, "{\"id\":5,\"op\":\"status\"}");
    return small_until(w, PAIR_SERVER, "\"id\":5", SECOND);
}

/* MK-F2: refuses to start, naming both values. */
static void a_configured_mtu_above_the_active_one_stops_the_start(void **state)
{
    (void)state;
    struct small_world *w = small_world_new(2);
    small_port(w, PAIR_SERVER)->attr.active_mtu = FABRIC_MTU_2048;
    assert_int_equal(pair_server(w, "mtu: 4096"), ERR_MTU_ABOVE_ACTIVE);
    assert_int_equal(small_logged(w, PAIR_SERVER, "ERROR mtu_above_active"), 1);
    assert_true(small_logged(w, PAIR_SERVER,
                             "found mtu 4096 configured; the port's active MTU is 2048") >= 1);
    assert_int_equal(pair_server(w, "mtu: 2048"), 0);
    small_world_free(w);
}

/* MK-F2, CASE-Z6: found only later, the rail is refused and the server runs on. */
static void a_configured_mtu_found_above_later_refuses_the_rail(void **state)
{
    (void)state;
    struct small_world *w = small_world_new(2);
    struct small_port *p = small_port(w, PAIR_SERVER);
    p->attr.state = FABRIC_PORT_INIT;
    p->attr.lid = 0;
    p->attr.active_mtu = FABRIC_MTU_256; /* unknown yet, not wrong */
    assert_int_equal(pair_server(w, "mtu: 4096"), 0);
    pair_has(status(w), "\"reason\":\"waiting_for_sm\"");
    p->attr.state = FABRIC_PORT_ACTIVE;
    p->attr.lid = 1;
    p->attr.active_mtu = FABRIC_MTU_2048;
    small_async(w, PAIR_SERVER, FABRIC_ASYNC_PORT_ACTIVE, 1);
    small_run(w, SECOND);
    const char *line = status(w);
    pair_has(line, "\"reason\":\"mtu_above_active\"");
    pair_has(line, "\"rdma_active\":false");
    assert_int_equal(pair_client(w, "tcp", ""), 0);
    pair_round(w, "tcp_by_choice");
    small_stop(w, PAIR_CLIENT);
    assert_int_equal(pair_client(w, "rdma", ""), 0);
    pair_has(pair_do(w, "\"op\":\"exists\",\"key\":\"k\""), "refused:mtu_above_active");
    small_world_free(w);
}

static void a_default_mtu_is_capped_with_a_line(void **state)
{
    (void)state;
    struct small_world *w = small_world_new(2);
    small_port(w, PAIR_SERVER)->attr.active_mtu = FABRIC_MTU_2048;
    assert_int_equal(pair_server(w, ""), 0);
    assert_int_equal(small_logged(w, PAIR_SERVER,
                                  "INFO mlx5_0 port 1: the default MTU 4096 is "
                                  "capped at the active MTU 2048"),
                     1);
    assert_int_equal(pair_client(w, "rdma", ""), 0);
    pair_round(w, "rdma");
    pair_has(status(w), "\"path_mtu\":2048");
    small_world_free(w);
}

/* MK-D3: refused by index until the table changes; the server runs on over TCP. */
static void an_empty_partition_refuses_rdma_until_the_table_changes(void **state)
{
    (void)state;
    static const uint16_t empty[] = {0x0000, 0x8000};
    for (unsigned i = 0; i < 2; i++) {
        struct small_world *w = small_world_new(2);
        small_port(w, PAIR_SERVER)->pkeys[1] = empty[i];
        assert_int_equal(pair_server(w, "pkey_index: 1"), 0);
        pair_has(status(w), "\"rdma_active\":false");
        assert_int_equal(small_logged(w, PAIR_SERVER, "pkey_empty"), 1);
        assert_int_equal(small_logged(w, PAIR_SERVER, "pkey_index 1"), 1);
        assert_int_equal(pair_client(w, "rdma", ""), 0);
        pair_has(pair_do(w, "\"op\":\"exists\",\"key\":\"k\""), "refused:pkey_empty");
        small_port(w, PAIR_SERVER)->pkeys[1] = 0xffff;
        small_async(w, PAIR_SERVER, FABRIC_ASYNC_PKEY_CHANGE, 1);
        small_run(w, SECOND / 10);
        pair_has(status(w), "\"rdma_active\":true");
        pair_round(w, "rdma");
        small_world_free(w);
    }
}

static void a_client_that_speaks_no_rdma_sees_the_same_blocks(void **state)
{
    (void)state;
    struct small_world *w = pair_new("rdma");
    pair_round(w, "rdma");
    small_stop(w, PAIR_CLIENT);
    assert_int_equal(pair_client(w, "tcp", ""), 0);
    pair_has(pair_do(w, "\"op\":\"get\",\"key\":\"k\",\"size\":100000,\"seed\":7"),
             "\"equal\":true");
    const char *line = status(w);
    pair_has(line, "\"puts\":1");
    pair_has(line, "\"gets\":2");
    pair_has(line, "\"rdma_read_bytes\":100000");
    pair_has(line, "\"tcp_write_bytes\":100000");
    pair_has(line, "\"blocks\":1");
    small_world_free(w);
}

static void a_full_store_refuses_or_makes_room(void **state)
{
    (void)state;
    struct small_world *w = pair_new("tcp");
    pair_has(pair_do(w, "\"op\":\"put\",\"key\":\"big\",\"size\":8000000,\"seed\":1"),
             "\"error\":\"store_full\"");
    for (unsigned i = 0; i < 6; i++) { /* six times a megabyte into four */
        char put[96];
        snprintf(put, sizeof put, "\"op\":\"put\",\"key\":\"k%u\",\"size\":1000000,\"seed\":1", i);
        pair_has(pair_do(w, put), "\"ok\":true");
    }
    pair_has(pair_do(w, "\"op\":\"exists\",\"key\":\"k5\""), "\"found\":true");
    pair_has(pair_do(w, "\"op\":\"exists\",\"key\":\"k0\""), "\"found\":false");
    small_world_free(w);
}

/* MK-D6: read when somebody asks, not when the port was looked at last. */
static void status_shows_the_violations_and_their_growth(void **state)
{
    (void)state;
    struct small_world *w = small_world_new(2);
    struct small_port *p = small_port(w, PAIR_SERVER);
    p->attr.bad_pkey_cntr = 40;
    assert_int_equal(pair_server(w, ""), 0);
    pair_has(status(w), "\"pkey_violations\":40,\"pkey_violations_growth\":0");
    p->attr.bad_pkey_cntr = 45;
    pair_has(status(w), "\"pkey_violations\":45,\"pkey_violations_growth\":5");
    p->attr.state = FABRIC_PORT_DOWN;
    small_async(w, PAIR_SERVER, FABRIC_ASYNC_PORT_ERR, 1);
    small_run(w, SECOND / 100);
    p->attr.state = FABRIC_PORT_ACTIVE;
    small_async(w, PAIR_SERVER, FABRIC_ASYNC_PORT_ACTIVE, 1);
    small_run(w, SECOND / 100);
    p->attr.bad_pkey_cntr = 47;
    pair_has(status(w), "\"pkey_violations\":47,\"pkey_violations_growth\":2");
    small_world_free(w);
}

static void what_is_wrong_at_the_start_is_said(void **state)
{
    (void)state;
    struct small_world *w = small_world_new(2);
    assert_int_equal(pair_server(w, "mtu: 9000"), ERR_MTU_INVALID);
    assert_int_equal(pair_server(w, "pkeyindex: 1"), ERR_CONFIG_INVALID);
    assert_true(small_logged(w, PAIR_SERVER, "config.yaml:3:8: found the unknown key") == 1);
    assert_int_equal(
        small_start(w, PAIR_SERVER, &memkv_server_program, "network: {auth_key_file: /x}\n"),
        ERR_CONFIG_INVALID);
    assert_int_equal(
        small_start(w, PAIR_SERVER, &memkv_server_program,
                    "network: {auth_key: "
                    "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f}\n"
                    "storage: {mode: file, path: /d}\n"),
        ERR_CONFIG_INVALID);
    small_fail(w, PAIR_SERVER, FABRIC_OP_LISTEN, 1, 1, ERR_ADDRESS_IN_USE);
    assert_int_equal(pair_server(w, ""), ERR_ADDRESS_IN_USE);
    assert_int_equal(small_logged(w, PAIR_SERVER, "ERROR address_in_use"), 1);
    small_fail(w, PAIR_SERVER, FABRIC_OP_LISTEN, 1, 1, ERR_INVALID_ARGUMENT);
    assert_int_equal(pair_server(w, ""), ERR_INVALID_ARGUMENT);
    assert_int_equal(small_logged(w, PAIR_SERVER, "which is no address of this machine"), 1);
    assert_int_equal(pair_server(w, ""), 0);
    small_command(w, PAIR_SERVER, "{\"id\":6,\"op\":\"statu\"}");
    pair_has(small_until(w, PAIR_SERVER, "\"id\":6", SECOND), "did you mean 'status'");
    small_command(w, PAIR_SERVER, "{\"id\":7}");
    pair_has(small_until(w, PAIR_SERVER, "\"id\":7", SECOND), "\"error\":\"not_supported\"");
    small_world_free(w);
}

static void many_operations_at_once_share_a_queue_pair(void **state)
{
    (void)state;
    struct small_world *w = pair_new("rdma");
    assert_non_null(small_until(w, PAIR_CLIENT, "\"state\":\"up\"", SECOND));
    small_delay(w, 1000000);
    for (unsigned i = 0; i < 12; i++) { /* seven posts each, of a depth of 64 */
        char put[128];
        snprintf(put, sizeof put,
                 "{\"id\":%u,\"op\":\"put\",\"key\":\"k%u\",\"size\":100000,\"seed\":%u}", 500 + i,
                 i, i);
        small_command(w, PAIR_CLIENT, put);
    }
    pair_has(pair_do(w, "\"op\":\"put\",\"key\":\"x\",\"size\":1000000,\"seed\":1"),
             "\"class\":\"rdma\"");
    small_run(w, SECOND);
    for (unsigned i = 0; i < 12; i++) {
        char get[128];
        snprintf(get, sizeof get, "\"op\":\"get\",\"key\":\"k%u\",\"size\":100000,\"seed\":%u", i,
                 i);
        pair_has(pair_do(w, get), "\"equal\":true");
    }
    small_world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_configured_mtu_above_the_active_one_stops_the_start),
        cmocka_unit_test(a_configured_mtu_found_above_later_refuses_the_rail),
        cmocka_unit_test(a_default_mtu_is_capped_with_a_line),
        cmocka_unit_test(an_empty_partition_refuses_rdma_until_the_table_changes),
        cmocka_unit_test(a_client_that_speaks_no_rdma_sees_the_same_blocks),
        cmocka_unit_test(a_full_store_refuses_or_makes_room),
        cmocka_unit_test(status_shows_the_violations_and_their_growth),
        cmocka_unit_test(what_is_wrong_at_the_start_is_said),
        cmocka_unit_test(many_operations_at_once_share_a_queue_pair),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
