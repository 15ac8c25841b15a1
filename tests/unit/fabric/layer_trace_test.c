/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "src/fabric/layer_delay.h"
#include "src/fabric/layer_fault.h"
#include "src/fabric/layer_trace.h"
#include "tests/support/fake_fabric.h"

static char story[16384];
static struct fake_fabric *fake;
static struct fabric *f;
static uint8_t secret[8] = {0x5e, 0xc2, 0xe7};

static void collect(void *context, const char *text)
{
    (void)context;
    assert_true(strlen(story) + strlen(text) + 2 < sizeof(story));
    strcat(story, text);
    strcat(story, "\n");
}

static int make_bench(void **state)
{
    const struct layer_trace_sink sink = {NULL, collect};
    (void)state;
    story[0] = '\0';
    fake = fake_fabric_new(NULL);
    fake->now = 1500;
    assert_int_equal(layer_trace_create(&fake->head, "n1", &sink, &f), FABRIC_OK);
    return 0;
}

static int free_bench(void **state)
{
    (void)state;
    return (int)fabric_destroy(f);
}

/* HA-1.6, HA-2.7. */
static void operations_are_told_with_handles_and_results(void **state)
{
    (void)state;
    fabric_device device;
    fabric_cq cq;
    struct fabric_port_attr port;
    uint16_t pkey;
    bool pending;
    const struct fabric_qp_attr init = {.state = FABRIC_QPS_INIT};
    assert_int_equal(fabric_device_open(f, "mlx5_0", &device), FABRIC_OK);
    assert_int_equal(fabric_cq_create(f, device, 16, &cq), FABRIC_OK);
    assert_int_equal(fabric_pkey_query(f, device, 1, 3, &pkey), FABRIC_OK);
    fake->error[FABRIC_OP_PORT_QUERY] = ERR_DEVICE_REMOVED;
    assert_int_equal(fabric_port_query(f, device, 1, &port), ERR_DEVICE_REMOVED);
    fake->error[FABRIC_OP_CQ_CREATE] = ERR_RESOURCES_EXHAUSTED;
    assert_int_equal(fabric_cq_create(f, device, 16, &cq), ERR_RESOURCES_EXHAUSTED);
    assert_int_equal(fabric_qp_modify(f, (fabric_qp){9}, &init), FABRIC_OK);
    assert_int_equal(fabric_timer_cancel(f, (fabric_timer){4}, &pending), FABRIC_OK);
    assert_int_equal(fabric_stream_close(f, (fabric_stream){5}, true), FABRIC_OK);
    assert_string_equal(story,
                        "000000001500 n1 device_open name=mlx5_0 out=1 -> ok\n"
                        "000000001500 n1 cq_create device=1 depth=16 out=2 -> ok\n"
                        "000000001500 n1 pkey_query device=1 port_num=1 index=3 out=0xffff -> ok\n"
                        "000000001500 n1 port_query device=1 port_num=1 -> device_removed\n"
                        "000000001500 n1 cq_create device=1 depth=16 -> resources_exhausted\n"
                        "000000001500 n1 qp_modify qp=9 state=INIT -> ok\n"
                        "000000001500 n1 timer_cancel timer=4 was_pending=0 -> ok\n"
                        "000000001500 n1 stream_close stream=5 reset=1 -> ok\n");
}

static void posts_and_requests_are_told_with_sizes(void **state)
{
    (void)state;
    struct fabric_sge sges[2] = {{secret, 5, 0x1111}, {secret, 3, 0x1111}};
    const struct fabric_send_wr write = {.wr_id = 0x77777777,
                                         .opcode = FABRIC_WR_RDMA_WRITE,
                                         .flags = FABRIC_SEND_SIGNALED,
                                         .sges = sges,
                                         .sge_count = 2,
                                         .remote_iova = 0x1000,
                                         .rkey = 0x3333,
                                         .ah = {8},
                                         .dct_num = 0x12,
                                         .dc_access_key = 0x4444};
    const struct fabric_recv_wr recv = {.sges = sges, .sge_count = 1};
    const struct fabric_io io = {.op = FABRIC_IO_OPEN, .path = "store", .cookie = 0x77777777};
    const struct fabric_io flush = {.op = FABRIC_IO_FLUSH, .file = {2}};
    assert_int_equal(fabric_qp_post_send(f, (fabric_qp){3}, &write), FABRIC_OK);
    assert_int_equal(fabric_qp_post_recv(f, (fabric_qp){3}, &recv), FABRIC_OK);
    assert_int_equal(fabric_io_submit(f, &io), FABRIC_OK);
    assert_int_equal(fabric_io_submit(f, &flush), FABRIC_OK);
    assert_string_equal(story, "000000001500 n1 qp_post_send qp=3 RDMA_WRITE bytes=8 flags=0x2 "
                               "remote_iova=0x1000 ah=8 dct_num=0x000012 -> ok\n"
                               "000000001500 n1 qp_post_recv qp=3 bytes=5 -> ok\n"
                               "000000001500 n1 io_submit open path=store offset=0 length=0 -> ok\n"
                               "000000001500 n1 io_submit flush file=2 offset=0 length=0 -> ok\n");
}

/* HA-1.8. */
static void neither_keys_nor_addresses_are_told(void **state)
{
    (void)state;
    const struct fabric_mr_init init = {
        .addr = secret, .length = 8, .access = FABRIC_ACCESS_LOCAL_WRITE};
    struct fabric_mr_keys keys;
    fabric_mr mr;
    fabric_window window;
    fabric_timer timer;
    assert_int_equal(fabric_mr_register(f, (fabric_device){1}, &init, &mr, &keys), FABRIC_OK);
    assert_int_equal(
        fabric_window_open(f, mr, 0x1000, 8, FABRIC_ACCESS_REMOTE_READ, 0x77777777, &window),
        FABRIC_OK);
    assert_int_equal(fabric_timer_set(f, 2000, 0x77777777, &timer), FABRIC_OK);
    assert_int_equal(fabric_entropy(f, secret, 8), FABRIC_OK);
    assert_string_equal(story,
                        "000000001500 n1 mr_register device=1 length=8 access=0x1 out=1 -> ok\n"
                        "000000001500 n1 window_open mr=1 iova=4096 length=8 access=4 out=2 -> ok\n"
                        "000000001500 n1 timer_set deadline=2000 out=3 -> ok\n"
                        "000000001500 n1 entropy length=8 -> ok\n");
}

static void poll_and_expect(size_t expected)
{
    struct fabric_event events[16];
    size_t count;
    assert_int_equal(fabric_poll(f, events, 16, 0, &count), FABRIC_OK);
    assert_int_equal(count, expected);
}

static void events_are_told_at_their_time_and_empty_polls_are_not(void **state)
{
    (void)state;
    poll_and_expect(0);
    assert_string_equal(story, "");
    fake_completion(fake, 100, (fabric_qp){3}, 0x77777777, true);
    fake_completion(fake, 200, (fabric_qp){3}, 0x77777777, false);
    fake->events[1].u.wc.byte_len = 64;
    struct fabric_event *event = fake_event(fake, 300, FABRIC_EVENT_ASYNC);
    event->u.async.device.id = 1;
    event->u.async.port_num = 2;
    event->u.async.type = FABRIC_ASYNC_LID_CHANGE;
    event = fake_event(fake, 400, FABRIC_EVENT_ASYNC);
    event->u.async.device.id = 1;
    event->u.async.qp.id = 3;
    event->u.async.type = FABRIC_ASYNC_QP_FATAL;
    event = fake_event(fake, 500, FABRIC_EVENT_WINDOW_REVOKED);
    event->u.window.window.id = 6;
    event->u.window.device.id = 1;
    event = fake_event(fake, 600, FABRIC_EVENT_ACCEPTED);
    event->u.stream.stream.id = 7;
    event->u.stream.listener.id = 8;
    event = fake_event(fake, 700, FABRIC_EVENT_CLOSED);
    event->u.stream.stream.id = 7;
    event->u.stream.error = ERR_PEER_GONE;
    fake_event(fake, 800, FABRIC_EVENT_TIMER)->u.timer.timer.id = 9;
    event = fake_event(fake, 900, FABRIC_EVENT_IO_DONE);
    event->u.io = (struct fabric_io_done){.op = FABRIC_IO_READ, .length = 4096};
    fake_event(fake, 1000, FABRIC_EVENT_WOKEN);
    event = fake_event(fake, 1100, FABRIC_EVENT_HTTP_REQUEST);
    event->u.http.http.id = 4;
    event->u.http.request.id = 5;
    event->u.http.method = "GET";
    event->u.http.path = "/v1/health";
    poll_and_expect(11);
    assert_string_equal(story, "000000000100 n1 event:completion qp=3 send SUCCESS\n"
                               "000000000200 n1 event:completion qp=3 recv SUCCESS bytes=64\n"
                               "000000000300 n1 event:async LID_CHANGE device=1 port_num=2\n"
                               "000000000400 n1 event:async QP_FATAL device=1 qp=3\n"
                               "000000000500 n1 event:window_revoked window=6\n"
                               "000000000600 n1 event:accepted stream=7 listener=8\n"
                               "000000000700 n1 event:closed stream=7 -> peer_gone\n"
                               "000000000800 n1 event:timer timer=9\n"
                               "000000000900 n1 event:io_done read length=4096 -> ok\n"
                               "000000001000 n1 event:woken\n"
                               "000000001100 n1 event:http_request request=5 GET /v1/health\n");
}

static void layers_stack_in_any_order(void **state)
{
    const struct layer_fault_rule rule = {FABRIC_OP_DEVICE_OPEN, 1, 1, ERR_NOT_FOUND, 0};
    const struct layer_trace_sink sink = {NULL, collect};
    struct fabric *fault, *delay, *top;
    bool destroyed;
    fabric_device device = {0};
    (void)state;
    story[0] = '\0';
    assert_int_equal(layer_fault_create(&fake_fabric_new(&destroyed)->head, &fault), FABRIC_OK);
    assert_int_equal(layer_delay_create(fault, &delay), FABRIC_OK);
    assert_int_equal(layer_trace_create(delay, "n2", &sink, &top), FABRIC_OK);
    assert_int_equal(layer_fault_add(fault, &rule), FABRIC_OK);
    assert_int_equal(fabric_device_open(top, "mlx5_0", &device), ERR_NOT_FOUND);
    assert_int_equal(fabric_device_open(top, "mlx5_0", &device), FABRIC_OK);
    assert_int_equal(fabric_wake(top), FABRIC_OK);
    assert_int_equal(top->errors[FABRIC_OP_DEVICE_OPEN], 1);
    assert_int_equal(fabric_destroy(top), FABRIC_OK);
    assert_true(destroyed);
    assert_string_equal(story, "000000000000 n2 device_open name=mlx5_0 -> not_found\n"
                               "000000000000 n2 device_open name=mlx5_0 out=1 -> ok\n"
                               "000000000000 n2 destroy -> ok\n");
}

static void a_long_line_is_cut(void **state)
{
    char path[FABRIC_PATH_MAX], line[1001];
    (void)state;
    memset(line, 'x', 1000);
    line[1000] = '\0';
    memset(path, 'y', sizeof(path) - 1);
    path[sizeof(path) - 1] = '\0';
    assert_int_equal(fabric_log(f, FABRIC_LOG_INFO, line), FABRIC_OK);
    assert_int_equal(strlen(story), LAYER_TRACE_LINE - 1 + 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_bench, free_bench)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(operations_are_told_with_handles_and_results),
        TEST(posts_and_requests_are_told_with_sizes),
        TEST(neither_keys_nor_addresses_are_told),
        TEST(events_are_told_at_their_time_and_empty_polls_are_not),
        cmocka_unit_test(layers_stack_in_any_order),
        TEST(a_long_line_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
