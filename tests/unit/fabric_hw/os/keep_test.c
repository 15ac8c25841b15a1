/* SPDX-License-Identifier: Apache-2.0 */
/* What was queued before its object ended is not told afterwards. HA-1.4. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "fabric_hw/os/state.h"
#include "tests/support/http_client.h"
#include "tests/support/os_bed.h"

static struct os_bed bed;

static int setup(void **state)
{
    (void)state;
    os_bed_open(&bed, NULL);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    os_bed_close(&bed);
    return 0;
}

/* Whether an event of this kind is told; as it stands in the queue. */
static bool told(struct fabric_event event)
{
    return os_keep(os_of(bed.f), &event);
}

static void a_timer_that_was_cancelled_while_it_was_due(void **state)
{
    fabric_timer first, second;
    struct fabric_event event;
    bool pending = false;
    (void)state;
    assert_int_equal(fabric_timer_set(bed.f, 0, 1, &first), FABRIC_OK);
    assert_int_equal(fabric_timer_set(bed.f, 0, 2, &second), FABRIC_OK);
    assert_int_equal(os_bed_await(&bed, FABRIC_EVENT_TIMER).u.timer.cookie, 1);
    assert_int_equal(fabric_timer_cancel(bed.f, second, &pending), FABRIC_OK);
    assert_true(pending);
    assert_false(os_bed_next(&bed, 0, &event));
}

static void a_stream_that_was_closed(void **state)
{
    fabric_stream stream;
    (void)state;
    assert_int_equal(fabric_connect(bed.f, "127.0.0.1:9", 1, &stream), FABRIC_OK);
    const struct fabric_event event = {.type = FABRIC_EVENT_READABLE,
                                       .u.stream = {.stream = stream, .cookie = 1}};
    assert_true(told(event));
    assert_int_equal(fabric_stream_close(bed.f, stream, true), FABRIC_OK);
    assert_false(told(event));
}

static void a_request_that_was_answered(void **state)
{
    const struct fabric_http_init init = {.address = "127.0.0.1:0"};
    const struct fabric_http_answer answer = {.status = 204};
    char bound[FABRIC_ADDRESS_MAX];
    fabric_http http;
    (void)state;
    assert_int_equal(fabric_http_listen(bed.f, &init, &http, bound), FABRIC_OK);
    struct http_client *client = http_client_new(bound, "GET", "/");
    struct fabric_event event = os_bed_await(&bed, FABRIC_EVENT_HTTP_REQUEST);
    assert_true(told(event));
    assert_int_equal(fabric_http_reply(bed.f, event.u.http.request, &answer), FABRIC_OK);
    assert_false(told(event));
    http_client_free(client);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_timer_that_was_cancelled_while_it_was_due),
        TEST(a_stream_that_was_closed),
        TEST(a_request_that_was_answered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
