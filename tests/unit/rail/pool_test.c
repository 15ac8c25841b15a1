/* SPDX-License-Identifier: Apache-2.0 */
/* MK-L2: said once, with the expected effect, and only of what carries the pool. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "src/rail/pool.h"
#include "tests/support/tree_fabric.h"

static const fabric_stream stream = {1};

static struct tree_fabric *open(const char *tree, const char *netdev)
{
    struct tree_fabric *opened = tree_fabric_open(tree);
    strcpy(opened->netdev, netdev);
    return opened;
}

static void a_small_mtu_under_the_pool_is_said_once(void **state)
{
    struct tree_fabric *tree = open("tests/net/trees/mlx5-infiniband/tree", "ib0");
    struct rail_pool pool = {0};
    (void)state;
    for (int i = 0; i < 3; i++)
        rail_pool_used(&pool, &tree->head, stream);
    assert_int_equal(tree->head.calls[FABRIC_OP_LOG], 1);
    assert_non_null(strstr(tree->logged, "IPoIB interface ib0 is in datagram mode with MTU 2044"));
    assert_non_null(strstr(tree->logged, "1047 packets"));
    strcpy(tree->netdev, "ib1");
    rail_pool_used(&pool, &tree->head, stream);
    assert_int_equal(tree->head.calls[FABRIC_OP_LOG], 1);
    tree_fabric_close(tree);
}

static void nothing_is_said_of_other_interfaces_and_they_are_looked_at_once(void **state)
{
    static const char *const cases[][2] = {
        {"tests/net/trees/qib/tree", "ib0"}, /* connected, 65520 */
        {"tests/net/trees/ipoib-datagram-4k/tree", "ib0"},
        {"tests/net/trees/rxe/tree", "rxe-eth0"}, /* Ethernet */
        {"tests/net/trees/rxe/tree", "gone0"},
        {"tests/net/trees/mlx5-infiniband/tree", ""}, /* nobody knows the interface */
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct tree_fabric *tree = open(cases[i][0], cases[i][1]);
        struct rail_pool pool = {0};
        rail_pool_used(&pool, &tree->head, stream);
        uint64_t reads = tree->head.calls[FABRIC_OP_SYSFILE_READ];
        rail_pool_used(&pool, &tree->head, stream);
        assert_int_equal(tree->head.calls[FABRIC_OP_LOG], 0);
        assert_int_equal(tree->head.calls[FABRIC_OP_SYSFILE_READ], reads);
        tree_fabric_close(tree);
    }
}

static void a_stream_that_is_gone_is_no_reason_to_say_anything(void **state)
{
    struct tree_fabric *tree = open("tests/net/trees/mlx5-infiniband/tree", "ib0");
    struct rail_pool pool = {0};
    (void)state;
    tree->stream_error = ERR_PEER_GONE;
    rail_pool_used(&pool, &tree->head, stream);
    assert_int_equal(tree->head.calls[FABRIC_OP_LOG], 0);
    tree->stream_error = FABRIC_OK;
    rail_pool_used(&pool, &tree->head, stream);
    assert_int_equal(tree->head.calls[FABRIC_OP_LOG], 1);
    tree_fabric_close(tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_small_mtu_under_the_pool_is_said_once),
        cmocka_unit_test(nothing_is_said_of_other_interfaces_and_they_are_looked_at_once),
        cmocka_unit_test(a_stream_that_is_gone_is_no_reason_to_say_anything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
