/* SPDX-License-Identifier: Apache-2.0 */
/* Regions and windows. HA-1.4, HA-1.8, MK-A4. */
#include <stdlib.h>
#include <string.h>

#include "tests/conformance/kit.h"

struct lent {
    fabric_window window;
    uint32_t rkey;
};

static fabric_window begin(struct kit_node *node, uint64_t offset, uint64_t length, uint32_t access)
{
    fabric_window window;
    assert_int_equal(
        fabric_window_open(node->f, node->mr, KIT_IOVA + offset, length, access, 77, &window),
        FABRIC_OK);
    return window;
}

/* The key of the nth window that was opened. */
static uint32_t key_of(struct kit *kit, struct kit_node *node, fabric_window window, size_t nth)
{
    const struct fabric_event *event = kit_await(kit, node, FABRIC_EVENT_WINDOW_OPENED, nth);
    assert_int_equal(event->u.window.window.id, window.id);
    assert_int_equal(event->u.window.device.id, node->device.id);
    assert_int_equal(event->u.window.error, FABRIC_OK);
    return event->u.window.rkey;
}

static struct lent lend(struct kit *kit, struct kit_node *node, uint64_t offset, uint64_t length,
                        uint32_t access)
{
    size_t before = kit_count(node, FABRIC_EVENT_WINDOW_OPENED);
    struct lent lent = {.window = begin(node, offset, length, access)};
    lent.rkey = key_of(kit, node, lent.window, before);
    return lent;
}

static void revoke(struct kit *kit, struct kit_node *node, fabric_window window)
{
    size_t before = kit_count(node, FABRIC_EVENT_WINDOW_REVOKED);
    assert_int_equal(fabric_window_revoke(node->f, window), FABRIC_OK);
    kit_await(kit, node, FABRIC_EVENT_WINDOW_REVOKED, before);
}

/* A write of 64 bytes from the start of our buffer to `offset` of the peer's. */
static struct fabric_wc write_with_key(struct kit *kit, const struct kit_qp *qp, uint32_t rkey,
                                       uint64_t offset)
{
    static uint64_t wr_id = 1000;
    const struct fabric_send_wr wr = {.wr_id = ++wr_id,
                                      .opcode = FABRIC_WR_RDMA_WRITE,
                                      .flags = FABRIC_SEND_SIGNALED,
                                      .remote_iova = KIT_IOVA + offset,
                                      .rkey = rkey};
    assert_int_equal(kit_post(qp, &wr, 0, 64), FABRIC_OK);
    return kit_await_wc(kit, qp->node, wr.wr_id);
}

static void a_window_lends_its_range_and_no_byte_more(void **state)
{
    static const struct {
        uint64_t offset;
        bool inside;
    } cases[] = {{4096, true}, {4096 + 64, true}, {4096 + 65, false}, {4095, false}, {0, false}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct kit *kit = *state = kit_new(2, FABRIC_CAP_RC);
        struct kit_node *b = &kit->nodes[1];
        struct kit_qp qa, qb;
        kit_pair(kit, 0, 1, &qa, &qb);
        struct lent lent = lend(kit, b, 4096, 128, FABRIC_ACCESS_REMOTE_WRITE);
        kit_fill(kit->nodes[0].buffer, 64, 1);
        struct fabric_wc wc = write_with_key(kit, &qa, lent.rkey, cases[i].offset);
        assert_int_equal(wc.status, cases[i].inside ? FABRIC_WC_SUCCESS : FABRIC_WC_REM_ACCESS_ERR);
        assert_int_equal(kit_filled(b->buffer + cases[i].offset, 64, 1), cases[i].inside);
        kit_free(state);
    }
}

static void a_window_grants_only_what_was_asked(void **state)
{
    struct kit *kit = *state = kit_new(2, FABRIC_CAP_RC);
    struct kit_qp qa, qb;
    kit_pair(kit, 0, 1, &qa, &qb);
    struct lent lent = lend(kit, &kit->nodes[1], 0, 4096, FABRIC_ACCESS_REMOTE_READ);
    kit_fill(kit->nodes[0].buffer, 64, 1);
    struct fabric_wc wc = write_with_key(kit, &qa, lent.rkey, 0);
    assert_int_equal(wc.status, FABRIC_WC_REM_ACCESS_ERR);
    assert_false(kit_filled(kit->nodes[1].buffer, 64, 1));
}

static void a_region_without_remote_bits_is_lent_by_windows_alone(void **state)
{
    struct kit *kit = *state = kit_new(2, FABRIC_CAP_RC);
    struct kit_node *b = &kit->nodes[1];
    struct kit_qp qa, qb;
    struct fabric_mr_keys keys;
    fabric_mr mr;
    fabric_window window;
    const struct fabric_mr_init init = {.addr = b->buffer,
                                        .length = KIT_BUFFER,
                                        .iova = KIT_IOVA,
                                        .access = FABRIC_ACCESS_LOCAL_WRITE};
    assert_int_equal(fabric_mr_register(b->f, b->device, &init, &mr, &keys), FABRIC_OK);
    assert_int_equal(
        fabric_window_open(b->f, mr, KIT_IOVA, 4096, FABRIC_ACCESS_REMOTE_WRITE, 1, &window),
        FABRIC_OK);
    kit_pair(kit, 0, 1, &qa, &qb);
    kit_fill(kit->nodes[0].buffer, 64, 2);
    assert_int_equal(write_with_key(kit, &qa, key_of(kit, b, window, 0), 0).status,
                     FABRIC_WC_SUCCESS);
    assert_true(kit_filled(b->buffer, 64, 2));
    assert_int_equal(write_with_key(kit, &qa, keys.rkey, 8192).status, FABRIC_WC_REM_ACCESS_ERR);
    assert_false(kit_filled(b->buffer + 8192, 64, 2));
}

static void a_revoked_window_lets_nobody_in(void **state)
{
    struct kit *kit = *state = kit_new(2, FABRIC_CAP_RC);
    struct kit_node *b = &kit->nodes[1];
    struct kit_qp qa, qb;
    kit_pair(kit, 0, 1, &qa, &qb);
    struct lent lent = lend(kit, b, 0, 4096, FABRIC_ACCESS_REMOTE_WRITE);
    revoke(kit, b, lent.window);
    const struct fabric_event *event = kit_event(b, FABRIC_EVENT_WINDOW_REVOKED, 0);
    assert_int_equal(event->u.window.window.id, lent.window.id);
    assert_int_equal(event->u.window.cookie, 77);
    kit_fill(kit->nodes[0].buffer, 64, 3);
    assert_int_equal(write_with_key(kit, &qa, lent.rkey, 0).status, FABRIC_WC_REM_ACCESS_ERR);
    assert_false(kit_filled(b->buffer, 64, 3));
    assert_int_equal(kit_count(b, FABRIC_EVENT_WINDOW_REVOKED), 1);
}

static void nothing_lands_after_the_revocation_was_reported(void **state)
{
    struct kit *kit = *state = kit_new(2, FABRIC_CAP_RC);
    struct kit_node *a = &kit->nodes[0], *b = &kit->nodes[1];
    struct kit_qp qa, qb;
    kit_pair(kit, 0, 1, &qa, &qb);
    struct lent lent = lend(kit, b, 0, KIT_BUFFER, FABRIC_ACCESS_REMOTE_WRITE);
    for (uint64_t i = 0; i < 32; i++) {
        const struct fabric_send_wr wr = {.wr_id = i,
                                          .opcode = FABRIC_WR_RDMA_WRITE,
                                          .flags = FABRIC_SEND_SIGNALED,
                                          .remote_iova = KIT_IOVA,
                                          .rkey = lent.rkey};
        kit_fill(a->buffer, KIT_BUFFER, 1);
        assert_int_equal(kit_post(&qa, &wr, 0, KIT_BUFFER), FABRIC_OK);
    }
    kit_pass(kit, 20000); /* some of them are under way now */
    revoke(kit, b, lent.window);
    memset(b->buffer, 0x5a, KIT_BUFFER);
    kit_await_wc(kit, a, 31);
    kit_pass(kit, KIT_SECOND);
    for (size_t i = 0; i < KIT_BUFFER; i++)
        assert_int_equal(b->buffer[i], 0x5a);
    assert_int_equal(kit_count(a, FABRIC_EVENT_COMPLETION), 32);
}

struct seen {
    uint32_t rkey;
    uint64_t revoked; /* not before this time, ns; 0: an empty place */
};
#define SEEN (1u << 19)

static struct seen *place_of(struct seen *seen, uint32_t rkey)
{
    uint32_t at = rkey * 2654435761u % SEEN;
    while (seen[at].revoked && seen[at].rkey != rkey)
        at = (at + 1) % SEEN;
    return &seen[at];
}

/* Where waiting costs nothing, more of them than a fabric would remember by number. */
static void a_key_value_is_not_used_again_within_its_quarantine(void **state)
{
    struct kit *kit = *state = kit_new(1, 0);
    struct kit_node *node = &kit->nodes[0];
    size_t openings = kit->caps & FABRIC_CAP_VIRTUAL_TIME ? SEEN * 3 / 5 : 256;
    struct seen *seen = calloc(SEEN, sizeof(*seen));
    bool kept = seen != NULL;
    uint64_t begin = kit_now(node), now = begin;
    for (size_t i = 0; i < openings && kept && now - begin < FABRIC_KEY_QUARANTINE; i++) {
        node->event_count = 0;
        struct lent lent = lend(kit, node, 0, 4096, FABRIC_ACCESS_REMOTE_READ);
        struct seen *place = place_of(seen, lent.rkey);
        now = kit_now(node);
        kept = !place->revoked || now - place->revoked >= FABRIC_KEY_QUARANTINE;
        *place = (struct seen){lent.rkey, now};
        revoke(kit, node, lent.window);
    }
    free(seen);
    assert_true(kept);
}

static void windows_may_overlap(void **state)
{
    struct kit *kit = *state = kit_new(2, FABRIC_CAP_RC);
    struct kit_qp qa, qb;
    kit_pair(kit, 0, 1, &qa, &qb);
    struct lent one = lend(kit, &kit->nodes[1], 0, 4096, FABRIC_ACCESS_REMOTE_WRITE);
    struct lent two = lend(kit, &kit->nodes[1], 32, 4096, FABRIC_ACCESS_REMOTE_WRITE);
    revoke(kit, &kit->nodes[1], one.window);
    kit_fill(kit->nodes[0].buffer, 64, 4);
    assert_int_equal(write_with_key(kit, &qa, two.rkey, 64).status, FABRIC_WC_SUCCESS);
    assert_true(kit_filled(kit->nodes[1].buffer + 64, 64, 4));
}

static void a_window_must_lie_in_its_region(void **state)
{
    struct kit *kit = *state = kit_new(1, 0);
    struct kit_node *a = &kit->nodes[0];
    static const struct {
        uint64_t iova, length;
    } cases[] = {{KIT_IOVA - 1, 2},
                 {KIT_IOVA, KIT_BUFFER + 1},
                 {KIT_IOVA, UINT64_C(1) << 40},
                 {KIT_IOVA + KIT_BUFFER, 1},
                 {KIT_IOVA + 1, UINT64_MAX},
                 {0, 1},
                 {UINT64_MAX, 1}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        fabric_window window = {0};
        assert_int_equal(fabric_window_open(a->f, a->mr, cases[i].iova, cases[i].length,
                                            FABRIC_ACCESS_REMOTE_READ, 0, &window),
                         ERR_INVALID_ARGUMENT);
        assert_int_equal(window.id, 0);
    }
}

static void a_window_to_write_needs_a_region_that_is_writable_here(void **state)
{
    struct kit *kit = *state = kit_new(1, 0);
    struct kit_node *a = &kit->nodes[0];
    const struct fabric_mr_init init = {.addr = a->buffer, .length = 4096, .iova = KIT_IOVA};
    struct fabric_mr_keys keys;
    fabric_mr mr;
    fabric_window window;
    assert_int_equal(fabric_mr_register(a->f, a->device, &init, &mr, &keys), FABRIC_OK);
    assert_int_equal(
        fabric_window_open(a->f, mr, KIT_IOVA, 1, FABRIC_ACCESS_REMOTE_WRITE, 0, &window),
        ERR_INVALID_ARGUMENT);
    assert_int_equal(
        fabric_window_open(a->f, mr, KIT_IOVA, 1, FABRIC_ACCESS_REMOTE_READ, 0, &window),
        FABRIC_OK);
}

static void a_deregistered_region_is_reached_by_nobody(void **state)
{
    struct kit *kit = *state = kit_new(2, FABRIC_CAP_RC);
    struct kit_node *a = &kit->nodes[0], *b = &kit->nodes[1];
    struct kit_qp qa, qb, qc, qd;
    kit_pair(kit, 0, 1, &qa, &qb);
    kit_pair(kit, 0, 1, &qc, &qd);
    kit_fill(a->buffer, 64, 5);
    assert_int_equal(fabric_mr_deregister(b->f, b->mr), FABRIC_OK);
    assert_int_equal(write_with_key(kit, &qa, b->keys.rkey, 0).status, FABRIC_WC_REM_ACCESS_ERR);
    assert_false(kit_filled(b->buffer, 64, 5));
    assert_int_equal(fabric_mr_deregister(a->f, a->mr), FABRIC_OK);
    assert_int_equal(write_with_key(kit, &qc, b->keys.rkey, 0).status,
                     kit_due(FABRIC_WC_LOC_PROT_ERR));
}

static void addr_and_iova_agree_as_the_fabric_asks(void **state)
{
    struct kit *kit = *state = kit_new(1, 0);
    struct kit_node *a = &kit->nodes[0];
    struct fabric_guarantees guarantees;
    struct fabric_mr_keys keys;
    fabric_mr mr = {0};
    struct fabric_mr_init init = {.addr = a->buffer + 1, .length = 64, .iova = KIT_IOVA};
    assert_int_equal(fabric_guarantees(a->f, &guarantees), FABRIC_OK);
    enum fabric_error expected = guarantees.iova_align > 1 ? ERR_INVALID_ARGUMENT : FABRIC_OK;
    assert_int_equal(fabric_mr_register(a->f, a->device, &init, &mr, &keys), expected);
    init.iova++;
    assert_int_equal(fabric_mr_register(a->f, a->device, &init, &mr, &keys), FABRIC_OK);
}

static void device_memory_is_refused_by_name(void **state)
{
    struct kit *kit = *state = kit_new(1, 0);
    struct kit_node *a = &kit->nodes[0];
    const struct fabric_mr_init init = {.kind = FABRIC_MEM_DMABUF, .length = 64};
    struct fabric_mr_keys keys;
    fabric_mr mr = {0};
    assert_int_equal(fabric_mr_register(a->f, a->device, &init, &mr, &keys), ERR_NOT_SUPPORTED);
    assert_int_equal(mr.id, 0);
}

static void a_revocation_ends_also_when_the_device_vanishes_or_is_closed(void **state)
{
    for (int closed = 0; closed < 2; closed++) {
        struct kit *kit = *state = kit_new(1, closed ? 0 : FABRIC_CAP_DEVICE_REMOVE);
        struct kit_node *a = &kit->nodes[0];
        struct lent lent = lend(kit, a, 0, 4096, FABRIC_ACCESS_REMOTE_READ);
        struct lent kept = lend(kit, a, 0, 4096, FABRIC_ACCESS_REMOTE_READ);
        assert_int_equal(fabric_window_revoke(a->f, lent.window), FABRIC_OK);
        if (closed)
            assert_int_equal(fabric_device_close(a->f, a->device), FABRIC_OK);
        else
            kit_inject(kit, 0, BENCH_DEVICE_REMOVE);
        kit_await(kit, a, FABRIC_EVENT_WINDOW_REVOKED, 0);
        if (!closed)
            revoke(kit, a, kept.window);
        kit_pass(kit, KIT_SECOND);
        assert_int_equal(kit_count(a, FABRIC_EVENT_WINDOW_REVOKED), closed ? 1 : 2);
        kit_free(state);
    }
}

static void an_opened_window_is_told_once_with_its_cookie(void **state)
{
    struct kit *kit = *state = kit_new(1, 0);
    struct kit_node *a = &kit->nodes[0];
    struct fabric_device_attr attr;
    assert_int_equal(fabric_device_query(a->f, a->device, &attr), FABRIC_OK);
    assert_true(attr.max_window_size >= KIT_BUFFER);
    fabric_window one = begin(a, 0, 4096, FABRIC_ACCESS_REMOTE_READ);
    assert_int_equal(kit_count(a, FABRIC_EVENT_WINDOW_OPENED), 0);
    fabric_window two = begin(a, 0, 4096, FABRIC_ACCESS_REMOTE_READ);
    kit_pass(kit, KIT_SECOND);
    assert_int_equal(kit_count(a, FABRIC_EVENT_WINDOW_OPENED), 2);
    bool in_order = kit_event(a, FABRIC_EVENT_WINDOW_OPENED, 0)->u.window.window.id == one.id;
    for (size_t i = 0; i < 2; i++) {
        const struct fabric_event *event = kit_event(a, FABRIC_EVENT_WINDOW_OPENED, i);
        assert_int_equal(event->u.window.window.id, (i == 0) == in_order ? one.id : two.id);
        assert_int_equal(event->u.window.cookie, 77);
        assert_int_equal(event->u.window.error, FABRIC_OK);
    }
}

static void a_window_revoked_before_it_was_opened_is_only_told_to_be_gone(void **state)
{
    struct kit *kit = *state = kit_new(1, 0);
    struct kit_node *a = &kit->nodes[0];
    fabric_window window = begin(a, 0, 4096, FABRIC_ACCESS_REMOTE_WRITE);
    revoke(kit, a, window);
    kit_pass(kit, KIT_SECOND);
    assert_int_equal(kit_count(a, FABRIC_EVENT_WINDOW_OPENED), 0);
    assert_int_equal(kit_count(a, FABRIC_EVENT_WINDOW_REVOKED), 1);
    assert_int_equal(fabric_mr_deregister(a->f, a->mr), FABRIC_OK);
}

/* With an error the handle is gone, so that the region may go. */
static void an_opening_that_loses_its_device_says_so(void **state)
{
    for (int closed = 0; closed < 2; closed++) {
        struct kit *kit = *state = kit_new(1, closed ? 0 : FABRIC_CAP_DEVICE_REMOVE);
        struct kit_node *a = &kit->nodes[0];
        fabric_window window = begin(a, 0, 4096, FABRIC_ACCESS_REMOTE_READ);
        if (closed)
            assert_int_equal(fabric_device_close(a->f, a->device), FABRIC_OK);
        else
            kit_inject(kit, 0, BENCH_DEVICE_REMOVE);
        const struct fabric_event *event = kit_await(kit, a, FABRIC_EVENT_WINDOW_OPENED, 0);
        assert_int_equal(event->u.window.window.id, window.id);
        assert_int_equal(event->u.window.error, ERR_DEVICE_REMOVED);
        assert_int_equal(event->u.window.rkey, 0);
        if (!closed)
            assert_int_equal(fabric_mr_deregister(a->f, a->mr), FABRIC_OK);
        kit_pass(kit, KIT_SECOND);
        assert_int_equal(kit_count(a, FABRIC_EVENT_WINDOW_OPENED), 1);
        assert_int_equal(kit_count(a, FABRIC_EVENT_WINDOW_REVOKED), 0);
        kit_free(state);
    }
}

int kit_memory_suite(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_window_lends_its_range_and_no_byte_more),
        CASE(a_window_grants_only_what_was_asked),
        CASE(a_region_without_remote_bits_is_lent_by_windows_alone),
        CASE(a_revoked_window_lets_nobody_in),
        CASE(nothing_lands_after_the_revocation_was_reported),
        CASE(a_key_value_is_not_used_again_within_its_quarantine),
        CASE(windows_may_overlap),
        CASE(a_window_must_lie_in_its_region),
        CASE(a_window_to_write_needs_a_region_that_is_writable_here),
        CASE(a_deregistered_region_is_reached_by_nobody),
        CASE(addr_and_iova_agree_as_the_fabric_asks),
        CASE(device_memory_is_refused_by_name),
        CASE(a_revocation_ends_also_when_the_device_vanishes_or_is_closed),
        CASE(an_opened_window_is_told_once_with_its_cookie),
        CASE(a_window_revoked_before_it_was_opened_is_only_told_to_be_gone),
        CASE(an_opening_that_loses_its_device_says_so),
    };
    return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
