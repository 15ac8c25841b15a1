/* SPDX-License-Identifier: Apache-2.0 */
/* The HTTP end point: requests are events, each is answered once. HA-1.1, MK-I3. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/conformance/kit.h"

static fabric_http open_end_point(struct kit *kit, char *bound)
{
    char wanted[FABRIC_ADDRESS_MAX];
    fabric_http http = {0};
    snprintf(wanted, sizeof(wanted), "%s:0", bench_backend.address(kit->bench, 0));
    const struct fabric_http_init init = {.address = wanted, .cookie = 7};
    assert_int_equal(fabric_http_listen(kit->nodes[0].f, &init, &http, bound), FABRIC_OK);
    assert_string_not_equal(strrchr(bound, ':'), ":0");
    return http;
}

static bool is_done(void *context)
{
    return ((struct bench_answer *)context)->done;
}

static void reply(struct kit *kit, const struct fabric_event *event, uint32_t status,
                  const char *body)
{
    const struct fabric_http_answer answer = {status, "text/plain", body, strlen(body)};
    assert_int_equal(fabric_http_reply(kit->nodes[0].f, event->u.http.request, &answer), FABRIC_OK);
}

static void ask(struct kit *kit, const char *address, const char *path, struct bench_answer *answer)
{
    assert_true(bench_backend.ask(kit->bench, 0, address, "GET", path, answer));
}

static void a_request_is_an_event_and_its_answer_arrives(void **state)
{
    struct kit *kit = *state = kit_new_bare(1, FABRIC_CAP_HTTP);
    static struct bench_answer answer;
    char bound[FABRIC_ADDRESS_MAX];
    fabric_http http = open_end_point(kit, bound);
    ask(kit, bound, "/v1/status?a=b%20c&d", &answer);
    const struct fabric_event *event = kit_await(kit, &kit->nodes[0], FABRIC_EVENT_HTTP_REQUEST, 0);
    assert_int_equal(event->u.http.http.id, http.id);
    assert_int_equal(event->u.http.cookie, 7);
    assert_string_equal(event->u.http.method, "GET");
    assert_string_equal(event->u.http.path, "/v1/status?a=b%20c&d");
    kit_pass(kit, KIT_SECOND / 10);
    assert_false(answer.done);
    reply(kit, event, 418, "short and stout");
    assert_true(kit_until(kit, is_done, &answer));
    assert_int_equal(answer.status, 418);
    assert_string_equal(answer.type, "text/plain");
    assert_int_equal(answer.length, 15);
    assert_memory_equal(answer.body, "short and stout", 15);
    assert_int_equal(kit_count(&kit->nodes[0], FABRIC_EVENT_HTTP_REQUEST), 1);
}

static void requests_are_answered_in_any_order(void **state)
{
    struct kit *kit = *state = kit_new_bare(1, FABRIC_CAP_HTTP);
    static struct bench_answer answers[3];
    char bound[FABRIC_ADDRESS_MAX], path[16];
    open_end_point(kit, bound);
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof(path), "/%zu", i);
        ask(kit, bound, path, &answers[i]);
    }
    kit_await(kit, &kit->nodes[0], FABRIC_EVENT_HTTP_REQUEST, 2);
    for (size_t i = 3; i-- > 0;) {
        const struct fabric_event *event = kit_event(&kit->nodes[0], FABRIC_EVENT_HTTP_REQUEST, i);
        snprintf(path, sizeof(path), "%s", event->u.http.path); /* gone with the answer */
        reply(kit, event, 200, path);
    }
    for (size_t i = 0; i < 3; i++) {
        assert_true(kit_until(kit, is_done, &answers[i]));
        snprintf(path, sizeof(path), "/%zu", i);
        assert_int_equal(answers[i].length, 2);
        assert_memory_equal(answers[i].body, path, 2);
    }
}

static void a_large_answer_arrives_whole_and_was_copied(void **state)
{
    struct kit *kit = *state = kit_new_bare(1, FABRIC_CAP_HTTP);
    static struct bench_answer answer;
    char bound[FABRIC_ADDRESS_MAX];
    size_t length = FABRIC_HTTP_BODY_MAX;
    uint8_t *body = malloc(length);
    assert_non_null(body);
    kit_fill(body, length, 3);
    open_end_point(kit, bound);
    ask(kit, bound, "/", &answer);
    const struct fabric_event *event = kit_await(kit, &kit->nodes[0], FABRIC_EVENT_HTTP_REQUEST, 0);
    const struct fabric_http_answer given = {200, "application/octet-stream", body, length};
    assert_int_equal(fabric_http_reply(kit->nodes[0].f, event->u.http.request, &given), FABRIC_OK);
    memset(body, 0, length);
    free(body);
    assert_true(kit_until(kit, is_done, &answer));
    assert_int_equal(answer.length, length);
    assert_true(kit_filled(answer.body, BENCH_BODY, 3));
}

static void what_waits_when_it_closes_is_unavailable(void **state)
{
    struct kit *kit = *state = kit_new_bare(1, FABRIC_CAP_HTTP);
    static struct bench_answer answer;
    char bound[FABRIC_ADDRESS_MAX];
    fabric_http http = open_end_point(kit, bound);
    ask(kit, bound, "/", &answer);
    kit_await(kit, &kit->nodes[0], FABRIC_EVENT_HTTP_REQUEST, 0);
    assert_int_equal(fabric_http_close(kit->nodes[0].f, http), FABRIC_OK);
    assert_true(kit_until(kit, is_done, &answer));
    assert_true(answer.status == 503 || answer.status == 0); /* or cut off */
    assert_false(bench_backend.ask(kit->bench, 0, bound, "GET", "/", &answer));
    open_end_point(kit, bound);
    kit_pass(kit, KIT_SECOND / 10);
    assert_int_equal(kit_count(&kit->nodes[0], FABRIC_EVENT_HTTP_REQUEST), 1);
}

static void an_event_of_one_that_was_closed_never_comes(void **state)
{
    struct kit *kit = *state = kit_new_bare(1, FABRIC_CAP_HTTP);
    static struct bench_answer answer;
    char bound[FABRIC_ADDRESS_MAX];
    fabric_http http = open_end_point(kit, bound);
    ask(kit, bound, "/", &answer);
    bench_backend.advance(kit->bench, kit_now(&kit->nodes[0]) + KIT_SECOND / 10);
    assert_int_equal(fabric_http_close(kit->nodes[0].f, http), FABRIC_OK);
    kit_pass(kit, KIT_SECOND / 10);
    assert_int_equal(kit_count(&kit->nodes[0], FABRIC_EVENT_HTTP_REQUEST), 0);
}

static void what_is_too_long_or_too_much_is_answered_by_the_fabric(void **state)
{
    struct kit *kit = *state = kit_new_bare(1, FABRIC_CAP_HTTP);
    static struct bench_answer answers[FABRIC_HTTP_REQUESTS + 1], answer;
    char bound[FABRIC_ADDRESS_MAX], path[FABRIC_HTTP_PATH_MAX + 1];
    fabric_http http = open_end_point(kit, bound);
    memset(path, 'a', sizeof(path));
    path[0] = '/';
    path[FABRIC_HTTP_PATH_MAX] = '\0';
    ask(kit, bound, path, &answer);
    assert_true(kit_until(kit, is_done, &answer));
    assert_int_equal(answer.status, 414);
    path[FABRIC_HTTP_PATH_MAX - 1] = '\0';
    for (size_t i = 0; i < FABRIC_HTTP_REQUESTS; i++)
        ask(kit, bound, path, &answers[i]);
    kit_await(kit, &kit->nodes[0], FABRIC_EVENT_HTTP_REQUEST, FABRIC_HTTP_REQUESTS - 1);
    ask(kit, bound, "/", &answers[FABRIC_HTTP_REQUESTS]);
    assert_true(kit_until(kit, is_done, &answers[FABRIC_HTTP_REQUESTS]));
    assert_int_equal(answers[FABRIC_HTTP_REQUESTS].status, 503);
    assert_int_equal(kit_count(&kit->nodes[0], FABRIC_EVENT_HTTP_REQUEST), FABRIC_HTTP_REQUESTS);
    assert_int_equal(fabric_http_close(kit->nodes[0].f, http), FABRIC_OK);
    for (size_t i = 0; i < FABRIC_HTTP_REQUESTS; i++)
        assert_true(kit_until(kit, is_done, &answers[i]));
}

static void end_points_that_cannot_be_are_refused(void **state)
{
    struct kit *kit = *state = kit_new_bare(1, FABRIC_CAP_HTTP | FABRIC_CAP_TCP);
    struct fabric *f = kit->nodes[0].f;
    char bound[FABRIC_ADDRESS_MAX], other[FABRIC_ADDRESS_MAX];
    fabric_http second = {0};
    fabric_listener listener = {0};
    fabric_http http = open_end_point(kit, bound);
    struct fabric_http_init init = {.address = bound};
    assert_int_equal(fabric_http_listen(f, &init, &second, other), ERR_ADDRESS_IN_USE);
    assert_int_equal(fabric_listen(f, bound, 0, &listener, other), ERR_ADDRESS_IN_USE);
    init.address = "nonsense";
    assert_int_equal(fabric_http_listen(f, &init, &second, other), ERR_INVALID_ARGUMENT);
    init = (struct fabric_http_init){.address = "0.0.0.0:0", .tls_cert = "/a.pem"};
    assert_int_equal(fabric_http_listen(f, &init, &second, other), ERR_INVALID_ARGUMENT);
    assert_int_equal(second.id + listener.id, 0);
    assert_int_equal(fabric_http_close(f, http), FABRIC_OK);
    assert_int_equal(fabric_listen(f, bound, 0, &listener, other), FABRIC_OK); /* free again */
}

static void without_http_it_is_refused_by_name(void **state)
{
    struct kit *kit = *state = kit_new_bare(1, 0);
    const struct fabric_http_init init = {.address = "0.0.0.0:0"};
    char bound[FABRIC_ADDRESS_MAX];
    fabric_http http = {0};
    enum fabric_error expected = kit->caps & FABRIC_CAP_HTTP ? FABRIC_OK : ERR_NOT_SUPPORTED;
    assert_int_equal(fabric_http_listen(kit->nodes[0].f, &init, &http, bound), expected);
}

int kit_http_suite(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_request_is_an_event_and_its_answer_arrives),
        CASE(requests_are_answered_in_any_order),
        CASE(a_large_answer_arrives_whole_and_was_copied),
        CASE(what_waits_when_it_closes_is_unavailable),
        CASE(an_event_of_one_that_was_closed_never_comes),
        CASE(what_is_too_long_or_too_much_is_answered_by_the_fabric),
        CASE(end_points_that_cannot_be_are_refused),
        CASE(without_http_it_is_refused_by_name),
    };
    return cmocka_run_group_tests_name("http", tests, NULL, NULL);
}
