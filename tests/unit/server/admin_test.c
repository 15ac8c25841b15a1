/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <string.h>

#include "src/server/program.h"
#include "tests/support/memkv_pair.h"

static const char *page(struct small_world *w, const char *path, uint32_t status)
{
    const char *body = NULL;
    assert_int_equal(small_http(w, PAIR_SERVER, "GET", path, &body), status);
    return body;
}

/* MK-A3: the data IP, the next port; unless admin.address says otherwise. */
static void the_end_point_is_on_the_next_port(void **state)
{
    (void)state;
    struct small_world *w = small_world_new(2);
    assert_int_equal(pair_server(w, ""), 0);
    pair_has(small_until(w, PAIR_SERVER, "\"event\":\"ready\"", SECOND),
             "\"data\":\"10.0.0.1:9900\",\"admin\":\"10.0.0.1:9901\"");
    assert_int_equal(small_logged(w, PAIR_SERVER, "data=10.0.0.1:9900 admin=10.0.0.1:9901"), 1);
    small_stop(w, PAIR_SERVER);
    assert_int_equal(small_start(w, PAIR_SERVER, &memkv_server_program,
                                 "{network: {address: \"0.0.0.0:9900\", auth_key: " PAIR_KEY
                                 "}, admin: {address: \"127.0.0.1:77\"}}"),
                     0);
    pair_has(small_until(w, PAIR_SERVER, "\"event\":\"ready\"", SECOND),
             "\"admin\":\"127.0.0.1:77\"");
    small_world_free(w);
}

static void a_port_in_use_stops_the_start_by_name(void **state)
{
    (void)state;
    struct small_world *w = small_world_new(2);
    small_fail(w, PAIR_SERVER, FABRIC_OP_HTTP_LISTEN, 1, 1, ERR_ADDRESS_IN_USE);
    assert_int_equal(pair_server(w, ""), ERR_ADDRESS_IN_USE);
    assert_int_equal(small_logged(w, PAIR_SERVER, "cannot serve HTTP on 10.0.0.1:9901"), 1);
    small_fail(w, PAIR_SERVER, FABRIC_OP_HTTP_LISTEN, 1, 1, ERR_NOT_SUPPORTED);
    assert_int_equal(pair_server(w, ""), 0); /* a fabric without HTTP */
    pair_has(small_until(w, PAIR_SERVER, "\"event\":\"ready\"", SECOND), "\"admin\":\"none\"");
    small_world_free(w);
}

/* MK-I3. */
static void the_pages_tell_what_was_moved(void **state)
{
    (void)state;
    struct small_world *w = pair_new("rdma");
    pair_round(w, "rdma");
    pair_has(page(w, "/v1/health", 200), "\"status\":\"healthy\",\"rdma_active\":true");
    pair_has(page(w, "/v1/ready", 200), "\"ready\":true");
    const char *metrics = page(w, "/v1/metrics", 200);
    pair_has(metrics, "\nmemkv_blocks_total 1\n");
    pair_has(metrics, "\nmemkv_write_total{transport=\"rdma\"} 1\n");
    pair_has(metrics, "\nmemkv_write_bytes_total{transport=\"rdma\"} 100000\n");
    pair_has(metrics, "\nmemkv_read_bytes_total{transport=\"rdma\"} 100000\n");
    pair_has(metrics, "\nmemkv_read_total{transport=\"tcp\"} 0\n");
    pair_has(metrics, "\nmemkv_rail_write_bytes_total{rail=\"mlx5_0:1\"} 100000\n");
    json_t *status = json_loads(page(w, "/v1/status", 200), 0, NULL);
    assert_int_equal(
        json_integer_value(json_object_get(json_object_get(status, "store"), "blocks")), 1);
    assert_string_equal(json_string_value(json_object_get(status, "health")), "healthy");
    json_decref(status);
    page(w, "/v1/helth", 404);
    small_world_free(w);
}

static void a_draining_server_is_not_ready(void **state)
{
    (void)state;
    struct small_world *w = pair_new("tcp");
    pair_round(w, "tcp_by_choice");
    small_command(w, PAIR_SERVER, "{\"id\":1,\"op\":\"drain\"}");
    pair_has(page(w, "/v1/health", 503), "\"status\":\"unhealthy\"");
    pair_has(page(w, "/v1/ready", 503), "\"reason\":\"draining\"");
    small_world_free(w);
}

static void a_refused_link_is_counted_by_its_reason(void **state)
{
    (void)state;
    struct small_world *w = small_world_new(2);
    small_port(w, PAIR_SERVER)->pkeys[0] = 0x7fff;
    small_port(w, PAIR_CLIENT)->pkeys[0] = 0x7fff;
    assert_int_equal(pair_server(w, ""), 0);
    assert_int_equal(pair_client(w, "rdma", ""), 0);
    pair_has(pair_do(w, "\"op\":\"exists\",\"key\":\"k\""), "pkey_limited_pair");
    pair_has(page(w, "/v1/metrics", 200),
             "\nmemkv_links_refused_total{reason=\"pkey_limited_pair\"} 1\n");
    small_world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_end_point_is_on_the_next_port),
        cmocka_unit_test(a_port_in_use_stops_the_start_by_name),
        cmocka_unit_test(the_pages_tell_what_was_moved),
        cmocka_unit_test(a_draining_server_is_not_ready),
        cmocka_unit_test(a_refused_link_is_counted_by_its_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
