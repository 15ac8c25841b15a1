/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "fabric_sim/hca/state.h"

#define MANY 5000u

static uint32_t target(struct hca_state *s)
{
    struct qp_state *qp = table_take(&s->arena, &s->device->qps);
    assert_non_null(qp);
    return qp->slot.id;
}

static struct hca_state begin(void)
{
    struct hca_state s;
    state_create(&s, NULL, 0, hca_profile_find("mlx5"));
    return s;
}

static struct dcr_name name_of(uint32_t of, uint32_t i)
{
    return (struct dcr_name){.target = of, .initiator = 1000 + i / 3, .dlid = (uint16_t)(i % 3)};
}

/* The longest way to a responder, in steps. */
static uint32_t longest_chain(const struct hca_state *s)
{
    const uint32_t *buckets = hca_arena_at(&s->arena, s->device->dcr_buckets);
    uint32_t longest = 0;
    for (uint32_t i = 0; i < s->device->dcr_bucket_count; i++) {
        uint32_t length = 0;
        for (uint32_t number = buckets[i]; number; length++) {
            const struct dcr_state *dcr = table_at(&s->arena, &s->device->dcrs, number - 1);
            number = dcr->hash_next;
        }
        longest = length > longest ? length : longest;
    }
    return longest;
}

static void many_initiators_are_found_in_a_few_steps(void **state)
{
    (void)state;
    struct hca_state s = begin();
    uint32_t one = target(&s), two = target(&s);
    for (uint32_t i = 0; i < MANY; i++) {
        struct dcr_name a = name_of(one, i), b = name_of(two, i);
        assert_null(state_dcr_find(&s, &a));
        assert_non_null(state_dcr_add(&s, &a));
        assert_non_null(state_dcr_add(&s, &b));
    }
    assert_int_equal(state_qp(&s, one)->dcr_count, MANY);
    assert_true(longest_chain(&s) < 12);
    for (uint32_t i = 0; i < MANY; i++) {
        struct dcr_name a = name_of(one, i), b = name_of(two, i);
        const struct dcr_state *of_one = state_dcr_find(&s, &a), *of_two = state_dcr_find(&s, &b);
        assert_true(of_one && of_two && of_one != of_two);
        assert_int_equal(of_one->target, one);
        assert_int_equal(of_one->initiator, a.initiator);
    }
    state_close(&s);
}

static void they_stay_in_the_order_in_which_they_came(void **state)
{
    (void)state;
    struct hca_state s = begin();
    uint32_t of = target(&s);
    const struct qp_state *qp = state_qp(&s, of);
    for (uint32_t i = 0; i < 10; i++) {
        struct dcr_name name = name_of(of, i);
        state_dcr_add(&s, &name);
    }
    static const uint32_t gone[] = {0, 9, 4, 5};
    for (size_t i = 0; i < 4; i++) {
        struct dcr_name name = name_of(of, gone[i]);
        state_dcr_drop(&s, state_dcr_find(&s, &name));
        assert_null(state_dcr_find(&s, &name));
    }
    static const uint32_t left[] = {1, 2, 3, 6, 7, 8};
    uint32_t number = qp->dcr_first, before = 0;
    for (size_t i = 0; i < 6; i++) {
        struct dcr_name name = name_of(of, left[i]);
        const struct dcr_state *dcr = state_dcr_find(&s, &name);
        assert_non_null(dcr);
        assert_int_equal(slot_index(&dcr->slot) + 1, number);
        assert_int_equal(dcr->previous, before);
        before = number;
        number = dcr->next;
    }
    assert_int_equal(number, 0);
    assert_int_equal(qp->dcr_last, before);
    assert_int_equal(qp->dcr_count, 6);
    state_close(&s);
}

static void the_gid_counts_where_there_is_a_grh_and_not_elsewhere(void **state)
{
    (void)state;
    struct hca_state s = begin();
    uint32_t of = target(&s);
    struct dcr_name name = {.target = of, .initiator = 7, .dlid = 0, .is_global = true};
    struct dcr_state *made[3];
    for (uint8_t i = 0; i < 3; i++) {
        name.dgid.raw[15] = i;
        made[i] = state_dcr_add(&s, &name);
    }
    for (uint8_t i = 0; i < 3; i++) {
        name.dgid.raw[15] = i;
        assert_ptr_equal(state_dcr_find(&s, &name), made[i]);
    }
    name.is_global = false;
    assert_null(state_dcr_find(&s, &name));
    const struct dcr_state *local = state_dcr_add(&s, &name);
    name.dgid.raw[15] = 99; /* means nothing without a GRH */
    assert_ptr_equal(state_dcr_find(&s, &name), local);
    state_close(&s);
}

static void what_was_dropped_gives_its_memory_back(void **state)
{
    (void)state;
    struct hca_state s = begin();
    uint32_t of = target(&s);
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < 1000; i++) {
        struct dcr_name name = name_of(of, i);
        struct dcr_state *dcr = state_dcr_add(&s, &name);
        const struct transport_state *transport = hca_arena_at(&s.arena, dcr->transport);
        assert_int_equal(transport->rsp.epsn, 0);
        assert_int_equal(transport->path.dest_qp, name.initiator);
        state_dcr_drop(&s, dcr);
        bytes = i == 500 ? s.arena.head->bytes : bytes;
    }
    assert_int_equal(s.arena.head->bytes, bytes);
    assert_int_equal(s.device->dcrs.live, 0);
    state_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_initiators_are_found_in_a_few_steps),
        cmocka_unit_test(they_stay_in_the_order_in_which_they_came),
        cmocka_unit_test(the_gid_counts_where_there_is_a_grh_and_not_elsewhere),
        cmocka_unit_test(what_was_dropped_gives_its_memory_back)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
