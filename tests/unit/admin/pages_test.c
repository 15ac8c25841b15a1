/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "src/admin/admin.h"

static struct admin_snapshot healthy(void)
{
    struct admin_snapshot s = {.version = "1.2.3", .drives_online = 1, .rdma_configured = true};
    s.rdma_active = true;
    s.rail_count = 1;
    s.rails[0] = (struct admin_rail){.name = "mlx5_0:1", .is_ready = true, .reason = "ok"};
    return s;
}

/* Status and body of a page; the body must hold `text`. */
static void expect(const struct admin_snapshot *s, const char *method, const char *path,
                   uint32_t status, const char *text)
{
    struct admin_answer answer;
    assert_true(admin_answer(method, path, s, &answer));
    assert_int_equal(answer.status, status);
    assert_int_equal(answer.length, strlen(answer.body));
    if (!strstr(answer.body, text))
        fail_msg("%s: expected %s in %s", path, text, answer.body);
    free(answer.body);
}

/* MK-I3: the members and their names are the interface. */
static void health_has_its_five_members(void **state)
{
    struct admin_snapshot s = healthy();
    (void)state;
    s.drives_offline = 2;
    s.drives_online = 3;
    expect(&s, "GET", "/v1/health", 200,
           "{\"status\":\"degraded\",\"rdma_active\":true,\"drives_online\":3,"
           "\"drives_offline\":2,\"drives_total\":5}");
}

static void a_rail_that_does_not_serve_degrades(void **state)
{
    struct admin_snapshot s = healthy();
    (void)state;
    assert_string_equal(admin_health(&s), "healthy");
    s.rails[0].is_ready = false;
    assert_string_equal(admin_health(&s), "degraded");
    s = healthy();
    s.rail_count = 0;
    s.rdma_active = false;
    assert_string_equal(admin_health(&s), "degraded"); /* it was asked for */
    s.rdma_configured = false;
    assert_string_equal(admin_health(&s), "healthy");
}

static void without_a_drive_it_is_unhealthy_with_503(void **state)
{
    struct admin_snapshot s = healthy();
    (void)state;
    s.drives_online = 0;
    s.drives_offline = 1;
    expect(&s, "GET", "/v1/health", 503, "\"status\":\"unhealthy\"");
    expect(&s, "GET", "/v1/ready", 503, "\"ready\":false");
    s = healthy();
    s.is_draining = true;
    expect(&s, "GET", "/v1/health", 503, "\"status\":\"unhealthy\"");
    expect(&s, "GET", "/v1/ready", 503, "\"reason\":\"draining\"");
}

static void other_paths_and_methods_are_refused_with_a_hint(void **state)
{
    struct admin_snapshot s = healthy();
    (void)state;
    expect(&s, "GET", "/v1/metrcs", 404, "did you mean '/v1/metrics'?");
    expect(&s, "GET", "/", 404, "/v1/health, /v1/ready, /v1/status and /v1/metrics");
    expect(&s, "POST", "/v1/status", 405, "GET and HEAD are served");
    expect(&s, "HEAD", "/v1/ready", 200, "\"ready\":true");
    expect(&s, "GET", "/v1/st\xe4tus\xff", 404, "no page '/v1/st?tus?'");
    expect(&s, "P\xdcT", "/v1/status", 405, "P?T of /v1/status");
    char longer[400] = "/v1/health";
    memset(longer + 10, 'x', 300);
    expect(&s, "GET", longer, 404, "not_found");
}

static void a_query_asks_for_indented_json(void **state)
{
    struct admin_snapshot s = healthy();
    (void)state;
    expect(&s, "GET", "/v1/ready?pretty", 200, "{\n  \"ready\": true");
    expect(&s, "GET", "/v1/ready?x=1", 200, "{\"ready\":true");
}

static void status_carries_what_the_server_says(void **state)
{
    struct admin_snapshot s = healthy();
    (void)state;
    json_t *status = json_pack("{s:s, s:b, s:i}", "op", "status", "ok", 1, "connections", 3);
    s.status = status;
    s.uptime = 7100000000u;
    expect(&s, "GET", "/v1/status", 200,
           "{\"connections\":3,\"version\":\"1.2.3\",\"health\":\"healthy\",\"uptime_seconds\":7}");
    assert_int_equal(json_object_size(status), 3); /* it stays the caller's */
    json_decref(status);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(health_has_its_five_members),
        cmocka_unit_test(a_rail_that_does_not_serve_degrades),
        cmocka_unit_test(without_a_drive_it_is_unhealthy_with_503),
        cmocka_unit_test(other_paths_and_methods_are_refused_with_a_hint),
        cmocka_unit_test(a_query_asks_for_indented_json),
        cmocka_unit_test(status_carries_what_the_server_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
