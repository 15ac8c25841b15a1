/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "src/fabric/layer_fault.h"
#include "tests/support/aborts.h"
#include "tests/support/fake_fabric.h"

static const fabric_device device = {1};

struct bench {
    struct fake_fabric *fake;
    struct fabric *f;
    fabric_qp qp;
};

static struct bench bench;

static int make_bench(void **state)
{
    const struct fabric_qp_init init = {.send_cq = {1}, .recv_cq = {1}};
    (void)state;
    bench.fake = fake_fabric_new(NULL);
    assert_int_equal(layer_fault_create(&bench.fake->head, &bench.f), FABRIC_OK);
    assert_int_equal(fabric_qp_create(bench.f, device, &init, &bench.qp), FABRIC_OK);
    bench.fake->qp_state = FABRIC_QPS_RTS;
    return 0;
}

static int free_bench(void **state)
{
    (void)state;
    return (int)fabric_destroy(bench.f);
}

static void add(enum fabric_op op, uint64_t nth, uint64_t repeat, enum fabric_error error,
                enum fabric_wc_status status)
{
    const struct layer_fault_rule rule = {op, nth, repeat, error, status};
    assert_int_equal(layer_fault_add(bench.f, &rule), FABRIC_OK);
}

static enum fabric_error query(void)
{
    struct fabric_port_attr attr;
    return fabric_port_query(bench.f, device, 1, &attr);
}

static void send(uint64_t wr_id, uint32_t flags)
{
    const struct fabric_send_wr wr = {.wr_id = wr_id, .flags = flags};
    assert_int_equal(fabric_qp_post_send(bench.f, bench.qp, &wr), FABRIC_OK);
}

/* Completes post `index` of the fake, as it went down, and polls. */
static struct fabric_wc complete(size_t index)
{
    const struct fake_post *post = &bench.fake->posts[index];
    struct fabric_event event;
    size_t count;
    fake_completion(bench.fake, bench.fake->now, post->qp, post->wr_id, post->is_send);
    assert_int_equal(fabric_poll(bench.f, &event, 1, 0, &count), FABRIC_OK);
    assert_int_equal(count, 1);
    return event.u.wc;
}

static void without_a_rule_everything_passes(void **state)
{
    (void)state;
    assert_int_equal(query(), FABRIC_OK);
    send(7, FABRIC_SEND_SIGNALED);
    assert_int_equal(complete(0).wr_id, 7);
    assert_int_equal(layer_fault_fired(bench.f), 0);
}

/* HA-1.6. */
static void the_nth_call_fails_and_repeat_of_them(void **state)
{
    (void)state;
    add(FABRIC_OP_PORT_QUERY, 3, 2, ERR_DEVICE_REMOVED, FABRIC_WC_SUCCESS);
    static const enum fabric_error expected[] = {FABRIC_OK,          FABRIC_OK, ERR_DEVICE_REMOVED,
                                                 ERR_DEVICE_REMOVED, FABRIC_OK, FABRIC_OK};
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(query(), expected[i]);
    assert_int_equal(layer_fault_fired(bench.f), 2);
    assert_int_equal(bench.fake->called[FABRIC_OP_PORT_QUERY], 4); /* nothing went down */
}

static void repeat_0_fails_for_good_until_cleared(void **state)
{
    (void)state;
    add(FABRIC_OP_PORT_QUERY, 2, 0, FABRIC_OK, FABRIC_WC_SUCCESS);
    assert_int_equal(query(), FABRIC_OK);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(query(), fabric_op_fault(FABRIC_OP_PORT_QUERY));
    layer_fault_clear(bench.f);
    assert_int_equal(query(), FABRIC_OK);
    assert_int_equal(layer_fault_fired(bench.f), 5);
}

static void other_operations_are_left_alone(void **state)
{
    (void)state;
    struct fabric_device_attr attr;
    add(FABRIC_OP_DEVICE_QUERY, 1, 0, ERR_DEVICE_REMOVED, FABRIC_WC_SUCCESS);
    assert_int_equal(query(), FABRIC_OK);
    assert_int_equal(fabric_device_query(bench.f, device, &attr), ERR_DEVICE_REMOVED);
}

/* HA-5.3. A little program of five calls that can fail, run once for each of them. */
static void a_sweep_ends_when_nothing_fires_any_more(void **state)
{
    (void)state;
    size_t trials = 0;
    for (uint64_t nth = 1;; nth++) {
        uint64_t before = layer_fault_fired(bench.f), now;
        size_t failed = 0;
        fabric_cq cq;
        layer_fault_clear(bench.f);
        add(LAYER_FAULT_ANY, nth, 1, FABRIC_OK, FABRIC_WC_SUCCESS);
        assert_int_equal(fabric_now(bench.f, &now), FABRIC_OK); /* never fails, never counts */
        for (size_t i = 0; i < 4; i++)
            failed += query() != FABRIC_OK;
        failed += fabric_cq_create(bench.f, device, 1, &cq) == ERR_RESOURCES_EXHAUSTED;
        assert_int_equal(failed, layer_fault_fired(bench.f) - before);
        if (layer_fault_fired(bench.f) == before)
            break;
        trials++;
    }
    assert_int_equal(trials, 5);
}

static void a_forced_status_comes_back_with_the_callers_wr_id(void **state)
{
    (void)state;
    add(FABRIC_OP_QP_POST_SEND, 2, 1, FABRIC_OK, FABRIC_WC_RETRY_EXC_ERR);
    send(10, FABRIC_SEND_SIGNALED);
    send(11, 0); /* unsignaled: a failure completes all the same */
    send(12, FABRIC_SEND_SIGNALED);
    assert_true(bench.fake->posts[1].signaled);
    assert_int_equal(complete(0).status, FABRIC_WC_SUCCESS);
    struct fabric_wc wc = complete(1);
    assert_int_equal(wc.status, FABRIC_WC_RETRY_EXC_ERR);
    assert_int_equal(wc.wr_id, 11);
    assert_int_equal(bench.fake->qp_state, FABRIC_QPS_ERR);
    assert_int_equal(bench.fake->modified.id, bench.qp.id);
    wc = complete(2); /* what still succeeded below is flushed above */
    assert_int_equal(wc.status, FABRIC_WC_WR_FLUSH_ERR);
    assert_int_equal(wc.wr_id, 12);
    assert_int_equal(layer_fault_fired(bench.f), 1);
}

static void a_rebuilt_queue_pair_is_whole_again(void **state)
{
    (void)state;
    add(FABRIC_OP_QP_POST_SEND, 1, 1, FABRIC_OK, FABRIC_WC_RETRY_EXC_ERR);
    send(10, FABRIC_SEND_SIGNALED);
    assert_int_equal(complete(0).status, FABRIC_WC_RETRY_EXC_ERR);
    const struct fabric_qp_attr init = {.state = FABRIC_QPS_INIT};
    assert_int_equal(fabric_qp_modify(bench.f, bench.qp, &init), FABRIC_OK);
    send(11, FABRIC_SEND_SIGNALED);
    assert_int_equal(complete(1).status, FABRIC_WC_SUCCESS);
}

static void receives_and_any_completion_can_be_forced_too(void **state)
{
    (void)state;
    const struct fabric_recv_wr wr = {.wr_id = 20};
    add(FABRIC_OP_QP_POST_RECV, 1, 1, FABRIC_OK, FABRIC_WC_LOC_LEN_ERR);
    assert_int_equal(fabric_qp_post_recv(bench.f, bench.qp, &wr), FABRIC_OK);
    struct fabric_wc wc = complete(0);
    assert_int_equal(wc.wr_id, 20);
    assert_int_equal(wc.status, FABRIC_WC_LOC_LEN_ERR);
    const struct fabric_qp_attr init = {.state = FABRIC_QPS_INIT};
    assert_int_equal(fabric_qp_modify(bench.f, bench.qp, &init), FABRIC_OK);
    add(FABRIC_OP_POLL, 2, 1, FABRIC_OK, FABRIC_WC_REM_ACCESS_ERR);
    send(21, FABRIC_SEND_SIGNALED);
    send(22, FABRIC_SEND_SIGNALED);
    assert_int_equal(complete(1).status, FABRIC_WC_SUCCESS);
    assert_int_equal(complete(2).status, FABRIC_WC_REM_ACCESS_ERR);
}

static void a_completion_after_destroy_touches_no_dead_handle(void **state)
{
    (void)state;
    add(FABRIC_OP_QP_POST_SEND, 1, 0, FABRIC_OK, FABRIC_WC_RETRY_EXC_ERR);
    send(10, FABRIC_SEND_SIGNALED);
    send(11, FABRIC_SEND_SIGNALED);
    assert_int_equal(fabric_qp_destroy(bench.f, bench.qp), FABRIC_OK);
    assert_int_equal(complete(0).status, FABRIC_WC_RETRY_EXC_ERR);
    assert_int_equal(fabric_device_close(bench.f, device), FABRIC_OK);
    assert_int_equal(complete(1).status, FABRIC_WC_RETRY_EXC_ERR);
    assert_int_equal(bench.fake->called[FABRIC_OP_QP_MODIFY], 0);
}

static void a_refused_post_below_is_forgotten(void **state)
{
    (void)state;
    const struct fabric_send_wr send_wr = {.wr_id = 1};
    const struct fabric_recv_wr recv_wr = {.wr_id = 1};
    add(FABRIC_OP_QP_POST_SEND, 1, 0, FABRIC_OK, FABRIC_WC_RETRY_EXC_ERR);
    add(FABRIC_OP_QP_POST_RECV, 1, 0, FABRIC_OK, FABRIC_WC_RETRY_EXC_ERR);
    bench.fake->error[FABRIC_OP_QP_POST_SEND] = ERR_INVALID_ARGUMENT;
    bench.fake->error[FABRIC_OP_QP_POST_RECV] = ERR_INVALID_ARGUMENT;
    for (size_t i = 0; i < 1000; i++) {
        assert_int_equal(fabric_qp_post_send(bench.f, bench.qp, &send_wr), ERR_INVALID_ARGUMENT);
        assert_int_equal(fabric_qp_post_recv(bench.f, bench.qp, &recv_wr), ERR_INVALID_ARGUMENT);
    }
}

static void posts_can_be_refused(void **state)
{
    (void)state;
    const struct fabric_send_wr send_wr = {.wr_id = 1};
    const struct fabric_recv_wr recv_wr = {.wr_id = 1};
    add(FABRIC_OP_QP_POST_SEND, 1, 1, FABRIC_OK, FABRIC_WC_SUCCESS);
    add(FABRIC_OP_QP_POST_RECV, 1, 1, ERR_DEVICE_REMOVED, FABRIC_WC_SUCCESS);
    assert_int_equal(fabric_qp_post_send(bench.f, bench.qp, &send_wr), ERR_QUEUE_FULL);
    assert_int_equal(fabric_qp_post_recv(bench.f, bench.qp, &recv_wr), ERR_DEVICE_REMOVED);
    assert_int_equal(bench.fake->post_count, 0);
}

static void rules_have_an_end(void **state)
{
    (void)state;
    const struct layer_fault_rule rule = {FABRIC_OP_PORT_QUERY, 1, 1, FABRIC_OK, 0};
    for (size_t i = 0; i < LAYER_FAULT_RULES; i++)
        assert_int_equal(layer_fault_add(bench.f, &rule), FABRIC_OK);
    assert_int_equal(layer_fault_add(bench.f, &rule), ERR_RESOURCES_EXHAUSTED);
}

static void fail_what_never_fails(void *context)
{
    const struct layer_fault_rule rule = {FABRIC_OP_QP_DESTROY, 1, 1, FABRIC_OK, 0};
    (void)context;
    (void)layer_fault_add(bench.f, &rule);
}

static void force_a_status_on_a_query(void *context)
{
    const struct layer_fault_rule rule = {FABRIC_OP_PORT_QUERY, 1, 1, FABRIC_OK,
                                          FABRIC_WC_GENERAL_ERR};
    (void)context;
    (void)layer_fault_add(bench.f, &rule);
}

static void rules_that_mean_nothing_abort(void **state)
{
    (void)state;
    assert_true(aborts(fail_what_never_fails, NULL));
    assert_true(aborts(force_a_status_on_a_query, NULL));
}

static void the_layer_destroys_what_is_below(void **state)
{
    bool destroyed = false;
    struct fabric *f;
    (void)state;
    assert_int_equal(layer_fault_create(&fake_fabric_new(&destroyed)->head, &f), FABRIC_OK);
    assert_int_equal(fabric_wake(f), FABRIC_OK);
    assert_int_equal(fabric_destroy(f), FABRIC_OK);
    assert_true(destroyed);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_bench, free_bench)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(without_a_rule_everything_passes),
        TEST(the_nth_call_fails_and_repeat_of_them),
        TEST(repeat_0_fails_for_good_until_cleared),
        TEST(other_operations_are_left_alone),
        TEST(a_sweep_ends_when_nothing_fires_any_more),
        TEST(a_forced_status_comes_back_with_the_callers_wr_id),
        TEST(a_rebuilt_queue_pair_is_whole_again),
        TEST(receives_and_any_completion_can_be_forced_too),
        TEST(a_completion_after_destroy_touches_no_dead_handle),
        TEST(a_refused_post_below_is_forgotten),
        TEST(posts_can_be_refused),
        TEST(rules_have_an_end),
        TEST(rules_that_mean_nothing_abort),
        cmocka_unit_test(the_layer_destroys_what_is_below),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
