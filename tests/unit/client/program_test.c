/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "tests/support/memkv_pair.h"

static void blocks_go_over_rc_and_come_back(void **state)
{
    (void)state;
    struct small_world *w = pair_new("rdma");
    pair_round(w, "rdma");
    pair_has(pair_do(w, "\"op\":\"exists\",\"key\":\"k\""), "\"found\":true");
    pair_has(pair_do(w, "\"op\":\"delete\",\"key\":\"k\""), "\"class\":\"rdma\"");
    pair_has(pair_do(w, "\"op\":\"exists\",\"key\":\"k\""), "\"found\":false");
    pair_has(pair_do(w, "\"op\":\"get\",\"key\":\"k\",\"size\":10"),
             "\"class\":\"failed:not_found\"");
    small_run(w, SECOND);
    assert_int_equal(small_open(w, PAIR_CLIENT, "window"), 0);
    small_world_free(w);
}

static void tcp_by_choice_makes_no_queue_pair_and_no_warning(void **state)
{
    (void)state;
    struct small_world *w = pair_new("tcp");
    pair_round(w, "tcp_by_choice");
    assert_int_equal(small_open(w, PAIR_CLIENT, "qp"), 0);
    assert_int_equal(small_open(w, PAIR_SERVER, "qp"), 0);
    assert_int_equal(small_logged(w, PAIR_CLIENT, "WARN"), 0);
    pair_has(pair_do(w, "\"op\":\"delete\",\"key\":\"k\""), "tcp_by_choice");
    small_world_free(w);
}

static void a_whole_file_is_put_and_verified(void **state)
{
    (void)state;
    struct small_world *w = pair_new("auto");
    uint8_t *data = malloc(300001);
    for (size_t i = 0; i < 300001; i++)
        data[i] = (uint8_t)(i * 31 + i / 256);
    small_file(w, PAIR_CLIENT, "/files/a", data, 300001);
    const char *line =
        pair_do(w, "\"op\":\"put_file\",\"key\":\"a\",\"path\":\"/files/a\",\"block_size\":4096");
    pair_has(line, "\"blocks\":74");
    pair_has(line, "\"bytes\":300001");
    pair_has(line, "\"class\":\"rdma\"");
    line = pair_do(
        w, "\"op\":\"verify_file\",\"key\":\"a\",\"path\":\"/files/a\",\"block_size\":4096");
    pair_has(line, "\"equal\":true");
    line = pair_do(w, "\"op\":\"get_file\",\"key\":\"a\",\"path\":\"/files/b\",\"size\":300001,"
                      "\"block_size\":4096");
    pair_has(line, "\"ok\":true");
    size_t length;
    const void *copy = small_file_data(w, PAIR_CLIENT, "/files/b", &length);
    assert_int_equal(length, 300001);
    assert_memory_equal(copy, data, length);
    data[200000] ^= 1;
    small_file(w, PAIR_CLIENT, "/files/a", data, 300001);
    line = pair_do(
        w, "\"op\":\"verify_file\",\"key\":\"a\",\"path\":\"/files/a\",\"block_size\":4096");
    pair_has(line, "\"equal\":false");
    pair_has(line, "\"offset\":200000");
    pair_has(line, "\"class\":\"corrupted\"");
    free(data);
    small_world_free(w);
}

static void a_get_takes_the_contents_of_either_seed_and_of_no_third_one(void **state)
{
    (void)state;
    struct small_world *w = pair_new("auto");
    pair_do(w, "\"op\":\"put\",\"key\":\"k\",\"size\":5000,\"seed\":6");
    const char *line =
        pair_do(w, "\"op\":\"get\",\"key\":\"k\",\"size\":5000,\"seed\":7,\"or_seed\":6");
    pair_has(line, "\"equal\":true");
    line = pair_do(w, "\"op\":\"get\",\"key\":\"k\",\"size\":5000,\"seed\":6,\"or_seed\":7");
    pair_has(line, "\"equal\":true");
    line = pair_do(w, "\"op\":\"get\",\"key\":\"k\",\"size\":5000,\"seed\":7,\"or_seed\":8");
    pair_has(line, "\"equal\":false");
    line = pair_do(w, "\"op\":\"get\",\"key\":\"k\",\"size\":5000,\"or_seed\":6");
    pair_has(line, "invalid_argument");
    small_world_free(w);
}

static void a_get_into_too_small_a_buffer_says_whether_it_was_written_into(void **state)
{
    (void)state;
    struct small_world *w = pair_new("auto");
    pair_do(w, "\"op\":\"put\",\"key\":\"k\",\"size\":5000,\"seed\":6");
    const char *line = pair_do(w, "\"op\":\"get\",\"key\":\"k\",\"size\":4999");
    pair_has(line, "\"needed\":5000");
    pair_has(line, "\"written\":false");
    small_world_free(w);
}

/* What storage still reads into is left to the fabric; what it has given back is not. */
static void a_stop_in_the_middle_of_a_read_leaves_the_buffer_to_the_fabric(void **state)
{
    (void)state;
    for (uint32_t reading = 0; reading < 2; reading++) {
        struct small_world *w = pair_new("tcp");
        const uint8_t data[100] = {1};
        small_file(w, PAIR_CLIENT, "/files/a", data, sizeof data);
        small_command(w, PAIR_CLIENT,
                      "{\"id\":1,\"op\":\"put_file\",\"key\":\"a\",\"path\":\"/files/a\"}");
        small_run(w, reading ? 120000 : 30000); /* open, size and read take 50 us each */
        small_stop(w, PAIR_CLIENT);
        assert_int_equal(small_fabric(w, PAIR_CLIENT)->left != NULL, reading);
        small_world_free(w);
    }
}

static void what_is_wrong_with_a_command_is_said(void **state)
{
    (void)state;
    struct small_world *w = pair_new("tcp");
    pair_has(pair_do(w, "\"op\":\"putt\""), "did you mean 'put'");
    pair_has(pair_do(w, "\"op\":\"xyzzy\""), "\"error\":\"not_supported\"");
    pair_has(pair_do(w, "\"key\":\"k\""), "\"error\":\"invalid_argument\"");
    pair_has(pair_do(w, "\"op\":\"put\",\"size\":1"), "key:");
    pair_has(pair_do(w, "\"op\":\"put\",\"key\":\"k\""), "size:");
    pair_has(pair_do(w, "\"op\":\"put\",\"key\":\"k\",\"size\":\"1\""), "size:");
    pair_has(pair_do(w, "\"op\":\"put\",\"key\":\"k\",\"size\":1,\"seed\":\"x\""), "seed:");
    pair_has(pair_do(w, "\"op\":\"put_file\",\"key\":\"k\""), "path:");
    pair_has(pair_do(w, "\"op\":\"put\",\"key\":\"k\",\"size\":1,\"timeout_ms\":0"), "timeout_ms:");
    pair_has(pair_do(w, "\"op\":\"put_file\",\"key\":\"k\",\"path\":\"p\",\"block_size\":0"),
             "block_size:");
    pair_has(pair_do(w, "\"op\":\"put_file\",\"key\":\"k\",\"path\":\"/nowhere\""),
             "\"error\":\"not_found\"");
    small_command(w, PAIR_CLIENT, "{");
    assert_non_null(small_until(w, PAIR_CLIENT, "no JSON object", SECOND));
    small_fail(w, PAIR_CLIENT, FABRIC_OP_IO_SUBMIT, 1, 1, ERR_QUEUE_FULL);
    pair_has(pair_do(w, "\"op\":\"put_file\",\"key\":\"k\",\"path\":\"p\""),
             "\"error\":\"queue_full\"");
    small_world_free(w);
}

static void status_shows_rails_links_and_counters(void **state)
{
    (void)state;
    struct small_world *w = pair_new("auto");
    pair_round(w, "rdma");
    small_port(w, PAIR_CLIENT)->attr.bad_pkey_cntr = 3;
    const char *line = pair_do(w, "\"op\":\"status\"");
    pair_has(line, "\"pkey_violations\":3,\"pkey_violations_growth\":3");
    pair_has(line, "\"state\":\"ready\"");
    pair_has(line, "\"transport\":\"rc\"");
    pair_has(line, "\"rdma_bytes\":200000");
    pair_has(line, "\"path_mtu\":4096");
    small_world_free(w);
}

static void a_configuration_that_is_wrong_stops_the_start(void **state)
{
    (void)state;
    struct small_world *w = small_world_new(2);
    assert_int_equal(pair_client(w, "auto", "mtu: 1500\n"), ERR_MTU_INVALID);
    assert_int_equal(pair_client(w, "auto", "pkey_indx: 1\n"), ERR_CONFIG_INVALID);
    assert_int_equal(small_logged(w, PAIR_CLIENT, "did you mean 'pkey_index'"), 1);
    assert_int_equal(small_logged(w, PAIR_CLIENT, "mtu_invalid"), 1);
    small_fail(w, PAIR_CLIENT, FABRIC_OP_TIMER_SET, 1, 1, ERR_RESOURCES_EXHAUSTED);
    assert_int_equal(pair_client(w, "auto", ""), ERR_RESOURCES_EXHAUSTED);
    small_world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_go_over_rc_and_come_back),
        cmocka_unit_test(tcp_by_choice_makes_no_queue_pair_and_no_warning),
        cmocka_unit_test(a_whole_file_is_put_and_verified),
        cmocka_unit_test(a_get_takes_the_contents_of_either_seed_and_of_no_third_one),
        cmocka_unit_test(a_get_into_too_small_a_buffer_says_whether_it_was_written_into),
        cmocka_unit_test(a_stop_in_the_middle_of_a_read_leaves_the_buffer_to_the_fabric),
        cmocka_unit_test(what_is_wrong_with_a_command_is_said),
        cmocka_unit_test(status_shows_rails_links_and_counters),
        cmocka_unit_test(a_configuration_that_is_wrong_stops_the_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
