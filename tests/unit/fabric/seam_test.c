/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "src/fabric/fabric.h"
#include "tests/support/aborts.h"
#include "tests/support/fake_fabric.h"

static const fabric_device device = {1};

static int make_fake(void **state)
{
    *state = fake_fabric_new(NULL);
    return 0;
}

static int free_fake(void **state)
{
    struct fake_fabric *fake = *state;
    return (int)fabric_destroy(&fake->head);
}

/* HA-1.3. */
static void calls_and_errors_are_counted_by_operation(void **state)
{
    struct fake_fabric *fake = *state;
    struct fabric *f = &fake->head;
    struct fabric_port_attr attr;
    uint64_t now;
    assert_int_equal(fabric_now(f, &now), FABRIC_OK);
    assert_int_equal(fabric_port_query(f, device, 1, &attr), FABRIC_OK);
    fake->error[FABRIC_OP_PORT_QUERY] = ERR_DEVICE_REMOVED;
    assert_int_equal(fabric_port_query(f, device, 1, &attr), ERR_DEVICE_REMOVED);
    assert_int_equal(f->calls[FABRIC_OP_NOW], 1);
    assert_int_equal(f->calls[FABRIC_OP_PORT_QUERY], 2);
    assert_int_equal(f->errors[FABRIC_OP_PORT_QUERY], 1);
    assert_int_equal(f->errors[FABRIC_OP_NOW], 0);
    assert_int_equal(f->calls[FABRIC_OP_POLL], 0);
}

struct left {
    const bool *destroyed;
    unsigned released, early;
};

static void release(void *memory)
{
    struct left *left = memory;
    left->released++;
    left->early += !*left->destroyed;
}

static void what_is_left_behind_is_released_after_the_end(void **state)
{
    (void)state;
    bool destroyed = false;
    struct left left[2] = {{.destroyed = &destroyed}, {.destroyed = &destroyed}};
    struct fake_fabric *fake = fake_fabric_new(&destroyed);
    fabric_leave(&fake->head, &left[0], release);
    fabric_leave(&fake->head, &left[1], release);
    assert_int_equal(left[0].released + left[1].released, 0);
    assert_int_equal(fabric_destroy(&fake->head), FABRIC_OK);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(left[i].released, 1);
        assert_int_equal(left[i].early, 0);
    }
}

/* Each call with arguments that are right, so that only the position is tested. */
static void every_operation_reaches_its_own_member(void **state)
{
    struct fake_fabric *fake = *state;
    struct fabric *f = &fake->head;
    uint64_t clock;
    struct fabric_dcb dcb;
    struct fabric_port_counters counters;
    char text[FABRIC_ADDRESS_MAX], names[1][FABRIC_NAME_MAX];
    size_t count;
    const struct fabric_recv_wr wr = {0};
    struct fabric_guarantees guarantees;
    assert_int_equal(fabric_guarantees(f, &guarantees), FABRIC_OK);
    assert_int_equal(fabric_realtime(f, &clock), FABRIC_OK);
    assert_int_equal(fabric_entropy(f, text, 8), FABRIC_OK);
    assert_int_equal(fabric_log(f, FABRIC_LOG_INFO, "line"), FABRIC_OK);
    assert_int_equal(fabric_wake(f), FABRIC_OK);
    assert_int_equal(fabric_device_list(f, names, 1, &count), FABRIC_OK);
    assert_int_equal(fabric_device_close(f, device), FABRIC_OK);
    assert_int_equal(fabric_counters_query(f, device, 1, &counters), FABRIC_OK);
    assert_int_equal(fabric_dcb_query(f, "eth0", &dcb), FABRIC_OK);
    assert_int_equal(fabric_mr_deregister(f, (fabric_mr){1}), FABRIC_OK);
    assert_int_equal(fabric_window_revoke(f, (fabric_window){1}), FABRIC_OK);
    assert_int_equal(fabric_cq_destroy(f, (fabric_cq){1}), FABRIC_OK);
    assert_int_equal(fabric_srq_destroy(f, (fabric_srq){1}), FABRIC_OK);
    assert_int_equal(fabric_srq_post_recv(f, (fabric_srq){1}, &wr), FABRIC_OK);
    assert_int_equal(fabric_qp_destroy(f, (fabric_qp){1}), FABRIC_OK);
    assert_int_equal(fabric_ah_destroy(f, (fabric_ah){1}), FABRIC_OK);
    assert_int_equal(fabric_listener_close(f, (fabric_listener){1}), FABRIC_OK);
    assert_int_equal(fabric_stream_peer(f, (fabric_stream){1}, text), FABRIC_OK);
    assert_int_equal(fabric_stream_shutdown(f, (fabric_stream){1}), FABRIC_OK);
    assert_int_equal(fabric_stream_close(f, (fabric_stream){1}, true), FABRIC_OK);
    assert_int_equal(fabric_sysfile_link(f, "/sys/a", text, sizeof(text)), FABRIC_OK);
    assert_int_equal(
        fabric_http_reply(f, (fabric_http_request){1}, &(struct fabric_http_answer){.status = 200}),
        FABRIC_OK);
    assert_int_equal(fabric_http_close(f, (fabric_http){1}), FABRIC_OK);
    static const enum fabric_op ops[] = {
        FABRIC_OP_GUARANTEES,
        FABRIC_OP_REALTIME,
        FABRIC_OP_ENTROPY,
        FABRIC_OP_LOG,
        FABRIC_OP_WAKE,
        FABRIC_OP_DEVICE_LIST,
        FABRIC_OP_DEVICE_CLOSE,
        FABRIC_OP_COUNTERS_QUERY,
        FABRIC_OP_DCB_QUERY,
        FABRIC_OP_MR_DEREGISTER,
        FABRIC_OP_WINDOW_REVOKE,
        FABRIC_OP_CQ_DESTROY,
        FABRIC_OP_SRQ_DESTROY,
        FABRIC_OP_SRQ_POST_RECV,
        FABRIC_OP_QP_DESTROY,
        FABRIC_OP_AH_DESTROY,
        FABRIC_OP_LISTENER_CLOSE,
        FABRIC_OP_STREAM_PEER,
        FABRIC_OP_STREAM_SHUTDOWN,
        FABRIC_OP_STREAM_CLOSE,
        FABRIC_OP_SYSFILE_LINK,
        FABRIC_OP_HTTP_REPLY,
        FABRIC_OP_HTTP_CLOSE,
    };
    for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
        assert_int_equal(fake->called[ops[i]], 1);
}

/* Calls every constructor; returns how many left a handle of theirs behind. */
static size_t construct_all(struct fabric *f, enum fabric_error expected)
{
    static uint8_t byte;
    fabric_timer timer = {77};
    fabric_device opened = {77};
    fabric_mr mr = {77};
    struct fabric_mr_keys keys = {7, 7};
    fabric_window window = {77};
    fabric_cq cq = {77};
    fabric_srq srq = {77};
    fabric_qp qp = {77};
    fabric_ah ah = {77};
    fabric_listener listener = {77};
    fabric_stream stream = {77};
    fabric_http http = {77};
    const struct fabric_http_init http_init = {.address = "0.0.0.0:1"};
    char bound[FABRIC_ADDRESS_MAX];
    const struct fabric_av av = {0};
    const struct fabric_mr_init mr_init = {.addr = &byte, .length = 1};
    const struct fabric_qp_init qp_init = {.send_cq = {1}, .recv_cq = {1}};
    assert_int_equal(fabric_timer_set(f, 1, 2, &timer), expected);
    assert_int_equal(fabric_device_open(f, "fake_0", &opened), expected);
    assert_int_equal(fabric_mr_register(f, device, &mr_init, &mr, &keys), expected);
    assert_int_equal(
        fabric_window_open(f, (fabric_mr){1}, 0, 1, FABRIC_ACCESS_REMOTE_READ, 0, &window),
        expected);
    assert_int_equal(fabric_cq_create(f, device, 1, &cq), expected);
    assert_int_equal(fabric_srq_create(f, device, 1, 1, &srq), expected);
    assert_int_equal(fabric_qp_create(f, device, &qp_init, &qp), expected);
    assert_int_equal(fabric_ah_create(f, device, &av, &ah), expected);
    assert_int_equal(fabric_listen(f, "0.0.0.0:1", 0, &listener, bound), expected);
    assert_int_equal(fabric_connect(f, "10.0.0.1:1", 0, &stream), expected);
    assert_int_equal(fabric_http_listen(f, &http_init, &http, bound), expected);
    assert_int_equal(keys.rkey == 7, expected != FABRIC_OK);
    int made = (timer.id != 77) + (opened.id != 77) + (mr.id != 77) + (window.id != 77) +
               (cq.id != 77) + (srq.id != 77) + (qp.id != 77) + (ah.id != 77) +
               (listener.id != 77) + (stream.id != 77) + (http.id != 77);
    return (size_t)made;
}

static void a_constructor_that_succeeds_gives_a_handle(void **state)
{
    struct fake_fabric *fake = *state;
    assert_int_equal(construct_all(&fake->head, FABRIC_OK), 11);
}

static void a_constructor_that_fails_leaves_everything_untouched(void **state)
{
    struct fake_fabric *fake = *state;
    for (int op = 0; op < FABRIC_OP_COUNT; op++) {
        if (op != FABRIC_OP_DESTROY)
            fake->error[op] = ERR_RESOURCES_EXHAUSTED;
    }
    assert_int_equal(construct_all(&fake->head, ERR_RESOURCES_EXHAUSTED), 0);
}

/* HA-1.2. */
static void poll_hands_events_on_in_order(void **state)
{
    struct fake_fabric *fake = *state;
    struct fabric_event events[4];
    size_t count = 9;
    fake->now = 30;
    fake_event(fake, 10, FABRIC_EVENT_WOKEN);
    fake_completion(fake, 20, (fabric_qp){3}, 42, true);
    fake_event(fake, 40, FABRIC_EVENT_WOKEN);
    assert_int_equal(fabric_poll(&fake->head, events, 4, 0, &count), FABRIC_OK);
    assert_int_equal(count, 2);
    assert_int_equal(events[1].u.wc.wr_id, 42);
    fake->now = 40;
    assert_int_equal(fabric_poll(&fake->head, events, 4, 0, &count), FABRIC_OK);
    assert_int_equal(count, 1);
    assert_int_equal(events[0].time, 40);
}

static void streams_and_files_report_what_was_moved(void **state)
{
    struct fake_fabric *fake = *state;
    char buf[8];
    size_t moved = 99;
    bool end = true;
    const fabric_stream stream = {1};
    assert_int_equal(fabric_stream_send(&fake->head, stream, "abc", 3, &moved), FABRIC_OK);
    assert_int_equal(moved, 3);
    assert_int_equal(fabric_stream_recv(&fake->head, stream, buf, 8, &moved, &end), FABRIC_OK);
    assert_int_equal(moved, 8);
    assert_false(end);
    fake->error[FABRIC_OP_STREAM_SEND] = ERR_PEER_GONE;
    assert_int_equal(fabric_stream_send(&fake->head, stream, "abc", 3, &moved), ERR_PEER_GONE);
    assert_int_equal(moved, 0);
    assert_int_equal(fabric_sysfile_read(&fake->head, "/sys/a", buf, 8, &moved), FABRIC_OK);
    assert_int_equal(fabric_sysfile_list(&fake->head, "/sys", buf, 8, &moved), FABRIC_OK);
    assert_int_equal(fabric_stream_set_cookie(&fake->head, stream, 12), FABRIC_OK);
    assert_int_equal(fake->handed_cookie, 12);
}

/* ------------------------------------------------------------------ what must abort */

#define WRONG(name, statement)                                                                     \
    static void name(void *context)                                                                \
    {                                                                                              \
        struct fake_fabric *fake = context;                                                        \
        struct fabric *f = &fake->head;                                                            \
        statement;                                                                                 \
    }

static uint8_t byte;
static struct fabric_event event_buffer[4];
static size_t number;

WRONG(null_out, fabric_now(f, NULL))
WRONG(no_capacity, fabric_poll(f, event_buffer, 0, 0, &number))
WRONG(two_lines, fabric_log(f, FABRIC_LOG_INFO, "one\ntwo"))
WRONG(no_handle, fabric_device_close(f, (fabric_device){0}))
WRONG(no_qp, fabric_qp_destroy(f, (fabric_qp){0}))
WRONG(no_name, fabric_device_open(f, NULL, &(fabric_device){0}))
WRONG(remote_write_without_local_write,
      fabric_mr_register(f, device,
                         &(struct fabric_mr_init){
                             .addr = &byte, .length = 1, .access = FABRIC_ACCESS_REMOTE_WRITE},
                         &(fabric_mr){0}, &(struct fabric_mr_keys){0}))
WRONG(empty_region, fabric_mr_register(f, device, &(struct fabric_mr_init){.addr = &byte},
                                       &(fabric_mr){0}, &(struct fabric_mr_keys){0}))
WRONG(window_for_nobody, fabric_window_open(f, (fabric_mr){1}, 0, 1, 0, 0, &(fabric_window){0}))
WRONG(window_of_nothing, fabric_window_open(f, (fabric_mr){1}, 0, 0, FABRIC_ACCESS_REMOTE_READ, 0,
                                            &(fabric_window){0}))
WRONG(dct_without_srq,
      fabric_qp_create(f, device, &(struct fabric_qp_init){.type = FABRIC_QP_DCT, .recv_cq = {1}},
                       &(fabric_qp){0}))
WRONG(qp_without_cq, fabric_qp_create(f, device, &(struct fabric_qp_init){0}, &(fabric_qp){0}))
WRONG(psn_of_25_bits,
      fabric_qp_modify(f, (fabric_qp){1},
                       &(struct fabric_qp_attr){.state = FABRIC_QPS_RTS, .sq_psn = 1u << 24}))
WRONG(retry_of_8,
      fabric_qp_modify(f, (fabric_qp){1},
                       &(struct fabric_qp_attr){.state = FABRIC_QPS_RTS, .retry_cnt = 8}))
WRONG(state_of_99, fabric_qp_modify(f, (fabric_qp){1},
                                    &(struct fabric_qp_attr){.state = (enum fabric_qp_state)99}))
WRONG(seventeen_entries,
      fabric_qp_post_send(f, (fabric_qp){1},
                          &(struct fabric_send_wr){.sges = &(struct fabric_sge){0},
                                                   .sge_count = FABRIC_MAX_SGE + 1}))
WRONG(entries_missing,
      fabric_qp_post_recv(f, (fabric_qp){1}, &(struct fabric_recv_wr){.sge_count = 1}))
WRONG(unknown_flag, fabric_qp_post_send(f, (fabric_qp){1}, &(struct fabric_send_wr){.flags = 64}))
WRONG(write_from_nowhere,
      fabric_io_submit(f, &(struct fabric_io){.op = FABRIC_IO_WRITE, .file = {1}, .length = 1}))
WRONG(open_without_path, fabric_io_submit(f, &(struct fabric_io){.op = FABRIC_IO_OPEN}))
WRONG(flush_without_file, fabric_io_submit(f, &(struct fabric_io){.op = FABRIC_IO_FLUSH}))
WRONG(relative_path, fabric_sysfile_read(f, "sys/a", &byte, 1, &number))

static enum fabric_error reply(struct fabric *f, uint32_t status, const char *type)
{
    const struct fabric_http_answer answer = {status, type, "x", 1};
    return fabric_http_reply(f, (fabric_http_request){1}, &answer);
}

WRONG(http_nowhere, fabric_http_listen(f, &(struct fabric_http_init){0}, &(fabric_http){0}, NULL))
WRONG(http_status_of_99, reply(f, 99, "text/plain"))
WRONG(http_type_of_two_lines, reply(f, 200, "text/plain\r\nX: y"))
WRONG(http_body_without_type, reply(f, 200, NULL))

/* HA-1.4. */
static void a_programmer_error_aborts(void **state)
{
    static void (*const wrong[])(void *) = {
        null_out,
        no_capacity,
        two_lines,
        no_handle,
        no_qp,
        no_name,
        empty_region,
        remote_write_without_local_write,
        window_for_nobody,
        window_of_nothing,
        dct_without_srq,
        qp_without_cq,
        psn_of_25_bits,
        retry_of_8,
        state_of_99,
        seventeen_entries,
        entries_missing,
        unknown_flag,
        write_from_nowhere,
        open_without_path,
        relative_path,
        flush_without_file,
        http_nowhere,
        http_status_of_99,
        http_type_of_two_lines,
        http_body_without_type,
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        if (!aborts(wrong[i], *state))
            fail_msg("programmer error %zu passed the seam", i);
    }
}

WRONG(claims_more_events, fake->claimed = 9; fabric_poll(f, event_buffer, 4, 0, &number))
WRONG(events_beside_an_error, fake->error[FABRIC_OP_POLL] = ERR_INTERNAL;
      fake->touches_on_error = true; fake_event(fake, 0, FABRIC_EVENT_WOKEN);
      fabric_poll(f, event_buffer, 4, 0, &number))
WRONG(time_runs_back, uint64_t now; fake->now = 9; fabric_now(f, &now); fake->now = 8;
      fabric_now(f, &now))
WRONG(events_run_back, fake->now = 9; fake_event(fake, 9, FABRIC_EVENT_WOKEN);
      fake_event(fake, 8, FABRIC_EVENT_WOKEN); fabric_poll(f, event_buffer, 4, 0, &number))
WRONG(unknown_event, fake_event(fake, 0, (enum fabric_event_type)99);
      fabric_poll(f, event_buffer, 4, 0, &number))
WRONG(completion_of_nothing, fake_completion(fake, 0, (fabric_qp){0}, 1, true);
      fabric_poll(f, event_buffer, 4, 0, &number))
WRONG(send_that_is_a_receive, fake_completion(fake, 0, (fabric_qp){1}, 1, true);
      fake->events[0].u.wc.opcode = FABRIC_WC_RECV; fabric_poll(f, event_buffer, 4, 0, &number))
WRONG(closed_without_reason, fake_event(fake, 0, FABRIC_EVENT_CLOSED)->u.stream.stream.id = 1;
      fabric_poll(f, event_buffer, 4, 0, &number))
WRONG(half_made, fake->error[FABRIC_OP_CQ_CREATE] = ERR_RESOURCES_EXHAUSTED;
      fake->keeps_handle = true; fabric_cq_create(f, device, 1, &(fabric_cq){0}))
WRONG(made_without_handle, fake->keeps_handle = true;
      fabric_cq_create(f, device, 1, &(fabric_cq){0}))
WRONG(no_such_error, fake->error[FABRIC_OP_DEVICE_QUERY] = (enum fabric_error)9999;
      fabric_device_query(f, device, &(struct fabric_device_attr){0}))
WRONG(fails_what_never_fails, fake->error[FABRIC_OP_QP_DESTROY] = ERR_DEVICE_REMOVED;
      fabric_qp_destroy(f, (fabric_qp){1}))
WRONG(sends_too_much, fake->claimed = 1;
      fabric_stream_send(f, (fabric_stream){1}, "abc", 3, &number))
WRONG(receives_too_much, fake->claimed = 1;
      fabric_stream_recv(f, (fabric_stream){1}, &byte, 1, &number, &(bool){false}))
WRONG(ends_with_data, fake->ends_with_data = true;
      fabric_stream_recv(f, (fabric_stream){1}, &byte, 1, &number, &(bool){false}))
WRONG(reads_too_much, fake->claimed = 1; fabric_sysfile_read(f, "/sys/a", &byte, 1, &number))

static struct fabric_event *fake_request(struct fake_fabric *fake, const char *path)
{
    struct fabric_event *event = fake_event(fake, 0, FABRIC_EVENT_HTTP_REQUEST);
    event->u.http.http.id = event->u.http.request.id = 1;
    event->u.http.method = "GET";
    event->u.http.path = path;
    return event;
}

WRONG(request_without_path, fake_request(fake, "x"); fabric_poll(f, event_buffer, 4, 0, &number))
WRONG(request_of_nobody, fake_request(fake, "/")->u.http.request.id = 0;
      fabric_poll(f, event_buffer, 4, 0, &number))

static void a_backend_that_breaks_the_contract_aborts(void **state)
{
    static void (*const wrong[])(void *) = {
        claims_more_events,     events_beside_an_error, time_runs_back,
        events_run_back,        unknown_event,          completion_of_nothing,
        send_that_is_a_receive, closed_without_reason,  half_made,
        made_without_handle,    no_such_error,          fails_what_never_fails,
        sends_too_much,         receives_too_much,      ends_with_data,
        reads_too_much,         request_without_path,   request_of_nobody,
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        if (!aborts(wrong[i], *state))
            fail_msg("broken promise %zu passed the seam", i);
    }
}

static void every_kind_of_event_that_is_right_passes(void **state)
{
    struct fake_fabric *fake = *state;
    struct fabric_event events[16];
    size_t count;
    fake_completion(fake, 0, (fabric_qp){1}, 1, false);
    fake_completion(fake, 0, (fabric_qp){1}, 1, true);
    fake->events[1].u.wc.status = FABRIC_WC_WR_FLUSH_ERR;
    fake->events[1].u.wc.opcode = FABRIC_WC_RECV; /* means nothing beside an error */
    fake_event(fake, 0, FABRIC_EVENT_ASYNC)->u.async.device = device;
    for (int i = 0; i < 2; i++) {
        enum fabric_event_type type = FABRIC_EVENT_WINDOW_OPENED + (unsigned)i;
        struct fabric_event *window = fake_event(fake, 0, type);
        window->u.window.window.id = 1;
        window->u.window.device.id = 1;
    }
    fake_event(fake, 0, FABRIC_EVENT_RESOLVED)->u.resolved.device.id = 1;
    struct fabric_event *accepted = fake_event(fake, 0, FABRIC_EVENT_ACCEPTED);
    accepted->u.stream.stream.id = 1;
    accepted->u.stream.listener.id = 1;
    fake_event(fake, 0, FABRIC_EVENT_CONNECTED)->u.stream.stream.id = 1;
    fake_event(fake, 0, FABRIC_EVENT_READABLE)->u.stream.stream.id = 1;
    fake_event(fake, 0, FABRIC_EVENT_WRITABLE)->u.stream.stream.id = 1;
    struct fabric_event *closed = fake_event(fake, 0, FABRIC_EVENT_CLOSED);
    closed->u.stream.stream.id = 1;
    closed->u.stream.error = ERR_PEER_GONE;
    fake_event(fake, 0, FABRIC_EVENT_TIMER)->u.timer.timer.id = 1;
    fake_event(fake, 0, FABRIC_EVENT_IO_DONE);
    fake_event(fake, 0, FABRIC_EVENT_WOKEN);
    fake_request(fake, "/v1/health");
    assert_int_equal(fabric_poll(&fake->head, events, 16, 0, &count), FABRIC_OK);
    assert_int_equal(count, 15);
}

static void every_storage_request_that_is_right_passes(void **state)
{
    struct fake_fabric *fake = *state;
    for (int op = FABRIC_IO_OPEN; op <= FABRIC_IO_LIST; op++) {
        const struct fabric_io io = {.op = (enum fabric_io_op)op,
                                     .file = {1},
                                     .path = "a",
                                     .path2 = "b",
                                     .buf = &byte,
                                     .length = 1};
        assert_int_equal(fabric_io_submit(&fake->head, &io), FABRIC_OK);
    }
    assert_int_equal(fake->called[FABRIC_OP_IO_SUBMIT], FABRIC_IO_LIST + 1);
}

static void a_certificate_without_its_key_never_reaches_the_backend(void **state)
{
    struct fake_fabric *fake = *state;
    struct fabric_http_init init = {.address = "0.0.0.0:1", .tls_cert = "/cert.pem"};
    fabric_http http = {77};
    char bound[FABRIC_ADDRESS_MAX];
    assert_int_equal(fabric_http_listen(&fake->head, &init, &http, bound), ERR_INVALID_ARGUMENT);
    init = (struct fabric_http_init){.address = "0.0.0.0:1", .tls_key = "/key.pem"};
    assert_int_equal(fabric_http_listen(&fake->head, &init, &http, bound), ERR_INVALID_ARGUMENT);
    assert_int_equal(http.id, 77);
    assert_int_equal(fake->called[FABRIC_OP_HTTP_LISTEN], 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_fake, free_fake)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(calls_and_errors_are_counted_by_operation),
        cmocka_unit_test(what_is_left_behind_is_released_after_the_end),
        TEST(every_operation_reaches_its_own_member),
        TEST(a_constructor_that_succeeds_gives_a_handle),
        TEST(a_constructor_that_fails_leaves_everything_untouched),
        TEST(poll_hands_events_on_in_order),
        TEST(streams_and_files_report_what_was_moved),
        TEST(a_programmer_error_aborts),
        TEST(a_backend_that_breaks_the_contract_aborts),
        TEST(every_kind_of_event_that_is_right_passes),
        TEST(every_storage_request_that_is_right_passes),
        TEST(a_certificate_without_its_key_never_reaches_the_backend),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
