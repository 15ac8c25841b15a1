/* SPDX-License-Identifier: Apache-2.0 */
/* The pass-through layers over a fabric that is no fake. HA-1.6, HA-5.3. */
#include <string.h>

#include "src/fabric/layer_delay.h"
#include "src/fabric/layer_fault.h"
#include "src/fabric/layer_trace.h"
#include "tests/conformance/kit.h"

/* A program that looks at every result: node 0 writes 64 bytes to node 1 and ends. */
struct program {
    struct kit *kit;
    struct kit_node *a;
    struct kit_qp peer;
    struct kit_qp qp;
};

static enum fabric_error modify_all(struct program *p)
{
    const struct fabric_qp_attr init = kit_attr_init(FABRIC_QP_RC),
                                rtr = kit_attr_rtr(&p->qp, &p->peer), rts = kit_attr_rts(&p->qp);
    enum fabric_error error = fabric_qp_modify(p->a->f, p->qp.qp, &init);
    if (!error)
        error = fabric_qp_modify(p->a->f, p->qp.qp, &rtr);
    return error ? error : fabric_qp_modify(p->a->f, p->qp.qp, &rts);
}

static void join_peer(struct program *p)
{
    const struct fabric_qp_attr init = kit_attr_init(FABRIC_QP_RC),
                                rtr = kit_attr_rtr(&p->peer, &p->qp);
    assert_int_equal(fabric_qp_modify(p->peer.node->f, p->peer.qp, &init), FABRIC_OK);
    assert_int_equal(fabric_qp_modify(p->peer.node->f, p->peer.qp, &rtr), FABRIC_OK);
}

static enum fabric_error use_qp(struct program *p)
{
    const struct fabric_qp_init init = kit_qp_init(p->a, FABRIC_QP_RC);
    struct fabric_qp_info info;
    enum fabric_error error = fabric_qp_create(p->a->f, p->a->device, &init, &p->qp.qp);
    if (error)
        return error;
    error = fabric_qp_query(p->a->f, p->qp.qp, &info);
    p->qp.qp_num = info.qp_num;
    if (!error)
        error = modify_all(p);
    if (!error) {
        join_peer(p);
        error = kit_write(&p->qp, 1, p->peer.node, 0, 64);
    }
    if (!error)
        error = fabric_wc_error(kit_await_wc(p->kit, p->a, 1).status);
    assert_int_equal(fabric_qp_destroy(p->a->f, p->qp.qp), FABRIC_OK);
    return error;
}

static enum fabric_error use_memory(struct program *p)
{
    const struct fabric_mr_init init = {
        .addr = p->a->buffer, .length = KIT_BUFFER, .iova = KIT_IOVA, .access = KIT_ACCESS_ALL};
    enum fabric_error error =
        fabric_mr_register(p->a->f, p->a->device, &init, &p->a->mr, &p->a->keys);
    if (error)
        return error;
    error = fabric_cq_create(p->a->f, p->a->device, 16, &p->a->cq);
    if (!error) {
        error = use_qp(p);
        assert_int_equal(fabric_cq_destroy(p->a->f, p->a->cq), FABRIC_OK);
    }
    assert_int_equal(fabric_mr_deregister(p->a->f, p->a->mr), FABRIC_OK);
    return error;
}

static enum fabric_error run_program(struct program *p, const char *device)
{
    struct fabric_port_attr port;
    enum fabric_error error = fabric_device_open(p->a->f, device, &p->a->device);
    if (error)
        return error;
    error = fabric_port_query(p->a->f, p->a->device, 1, &port);
    if (!error)
        error = use_memory(p);
    assert_int_equal(fabric_device_close(p->a->f, p->a->device), FABRIC_OK);
    return error;
}

/* A world in which node 1 is ready and node 0 has not begun, but knows its own address. */
static struct program make_program(struct kit *kit)
{
    struct program p = {.kit = kit, .a = &kit->nodes[0]};
    kit_open(&kit->nodes[0]);
    kit_open(&kit->nodes[1]);
    const struct fabric_qp_init init = kit_qp_init(&kit->nodes[1], FABRIC_QP_RC);
    p.peer = kit_qp_new(&kit->nodes[1], &init);
    p.qp = (struct kit_qp){.node = p.a, .psn = 7};
    assert_int_equal(fabric_device_close(p.a->f, p.a->device), FABRIC_OK);
    return p;
}

static void a_sweep_of_faults_ends_every_trial_by_name(void **state)
{
    uint64_t nth = 1, fired = 1;
    for (; fired > 0; nth++) {
        struct kit *kit = *state = kit_new_bare(2, FABRIC_CAP_RC);
        struct program p = make_program(kit);
        const struct layer_fault_rule rule = {LAYER_FAULT_ANY, nth, 1, FABRIC_OK,
                                              FABRIC_WC_SUCCESS};
        struct fabric *f;
        assert_int_equal(layer_fault_create(p.a->f, &f), FABRIC_OK);
        kit_adopt(kit, 0, f);
        assert_int_equal(layer_fault_add(f, &rule), FABRIC_OK);
        kit_fill(p.a->buffer, 64, 1);
        enum fabric_error error = run_program(&p, bench_backend.device(kit->bench, 0));
        fired = layer_fault_fired(f);
        assert_int_equal(error != FABRIC_OK, fired > 0);
        assert_int_equal(kit_filled(p.peer.node->buffer, 64, 1), fired == 0);
        kit_free(state);
    }
    assert_true(nth > 8); /* there was something to sweep */
}

static void a_forced_failure_breaks_the_queue_pair_as_a_real_one(void **state)
{
    struct kit *kit = *state = kit_new(2, FABRIC_CAP_RC);
    const struct layer_fault_rule rule = {FABRIC_OP_QP_POST_SEND, 2, 1, FABRIC_OK,
                                          FABRIC_WC_RETRY_EXC_ERR};
    struct kit_node *a = &kit->nodes[0];
    struct kit_qp qa, qb;
    struct fabric *f;
    assert_int_equal(layer_fault_create(a->f, &f), FABRIC_OK);
    kit_adopt(kit, 0, f);
    assert_int_equal(layer_fault_add(f, &rule), FABRIC_OK);
    kit_pair(kit, 0, 1, &qa, &qb);
    for (uint64_t i = 1; i <= 4; i++)
        assert_int_equal(kit_write(&qa, i, &kit->nodes[1], 0, 4096), FABRIC_OK);
    assert_int_equal(kit_await_wc(kit, a, 1).status, FABRIC_WC_SUCCESS);
    assert_int_equal(kit_await_wc(kit, a, 2).status, FABRIC_WC_RETRY_EXC_ERR);
    assert_int_equal(kit_await_wc(kit, a, 3).status, FABRIC_WC_WR_FLUSH_ERR);
    assert_int_equal(kit_await_wc(kit, a, 4).status, FABRIC_WC_WR_FLUSH_ERR);
    assert_int_equal(kit_state(&qa), FABRIC_QPS_ERR);
    assert_int_equal(kit_count(a, FABRIC_EVENT_COMPLETION), 4);
}

static void delayed_completions_come_later_and_in_order(void **state)
{
    struct kit *kit = *state = kit_new(2, FABRIC_CAP_RC);
    const struct layer_delay_rule rule = {1u << FABRIC_EVENT_COMPLETION, 0, KIT_SECOND / 10};
    struct kit_node *a = &kit->nodes[0];
    struct kit_qp qa, qb;
    struct fabric *f;
    assert_int_equal(layer_delay_create(a->f, &f), FABRIC_OK);
    kit_adopt(kit, 0, f);
    assert_int_equal(layer_delay_add(f, &rule), FABRIC_OK);
    kit_pair(kit, 0, 1, &qa, &qb);
    uint64_t start = kit_now(a);
    for (uint64_t i = 0; i < 8; i++)
        assert_int_equal(kit_write(&qa, i, &kit->nodes[1], 0, 4096), FABRIC_OK);
    kit_await_wc(kit, a, 7);
    for (size_t i = 0; i < 8; i++) {
        const struct fabric_event *event = kit_event(a, FABRIC_EVENT_COMPLETION, i);
        assert_int_equal(event->u.wc.wr_id, i);
        assert_true(event->time >= start + KIT_SECOND / 10);
    }
    assert_int_equal(layer_delay_held(f), 0);
}

struct story {
    char text[65536];
    size_t length;
};

static void tell(void *context, const char *text)
{
    struct story *story = context;
    size_t length = strlen(text);
    assert_true(story->length + length + 2 < sizeof(story->text));
    memcpy(story->text + story->length, text, length);
    story->length += length;
    story->text[story->length++] = '\n';
}

static void the_same_run_is_told_in_the_same_words(void **state)
{
    static struct story stories[2];
    memset(stories, 0, sizeof(stories));
    for (size_t i = 0; i < 2; i++) {
        struct kit *kit = *state = kit_new_bare(2, FABRIC_CAP_RC | FABRIC_CAP_VIRTUAL_TIME);
        struct program p = make_program(kit);
        const struct layer_trace_sink sink = {&stories[i], tell};
        struct fabric *f;
        assert_int_equal(layer_trace_create(p.a->f, "n0", &sink, &f), FABRIC_OK);
        kit_adopt(kit, 0, f);
        assert_int_equal(run_program(&p, bench_backend.device(kit->bench, 0)), FABRIC_OK);
        kit_free(state);
    }
    assert_true(stories[0].length > 500);
    assert_string_equal(stories[0].text, stories[1].text);
    assert_non_null(strstr(stories[0].text, "n0 event:completion"));
}

int kit_layer_suite(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_sweep_of_faults_ends_every_trial_by_name),
        CASE(a_forced_failure_breaks_the_queue_pair_as_a_real_one),
        CASE(delayed_completions_come_later_and_in_order),
        CASE(the_same_run_is_told_in_the_same_words),
    };
    return cmocka_run_group_tests_name("layers", tests, NULL, NULL);
}
