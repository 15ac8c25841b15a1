/* SPDX-License-Identifier: Apache-2.0 */
/* MK-J2, MK-J3: what is visible when, and what makes room for it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "src/store/store.h"

static const uint8_t tag[STORE_TAG_BYTES] = {42};

static struct store *make(uint64_t pages, bool evicts)
{
    const struct store_init init = {.capacity = pages * SLAB_ALIGN,
                                    .evicts = evicts,
                                    .start_percent = 70,
                                    .stop_percent = 60,
                                    .seed = 7};
    struct store *store;
    assert_int_equal(store_create(&init, &store), 0);
    return store;
}

static struct store_block *reserve(struct store *s, const char *key, uint64_t length)
{
    struct store_block *b;
    assert_int_equal(store_reserve(s, key, strlen(key), length, &b), 0);
    return b;
}

static void put(struct store *s, const char *key, const char *value)
{
    struct store_block *b = reserve(s, key, strlen(value));
    memcpy(store_data(s, b), value, strlen(value));
    store_commit(s, b, tag);
}

static bool drop(struct store *s, const char *key)
{
    bool found, later;
    const struct media_token token = {0};
    assert_int_equal(store_delete(s, key, strlen(key), token, &found, &later), 0);
    assert_false(later);
    return found;
}

static bool has(struct store *s, const char *key)
{
    return store_exists(s, key, strlen(key));
}

static void a_reservation_is_invisible_until_it_is_committed(void **state)
{
    (void)state;
    struct store *s = make(10, false);
    struct store_block *b = reserve(s, "k", 5);
    assert_false(has(s, "k"));
    assert_null(store_pin(s, "k", 1));
    memcpy(store_data(s, b), "value", 5);
    store_commit(s, b, tag);
    b = store_pin(s, "k", 1);
    assert_non_null(b);
    assert_memory_equal(store_data(s, b), "value", 5);
    assert_int_equal(store_length(b), 5);
    assert_memory_equal(store_tag(b), tag, sizeof tag);
    uint64_t size;
    assert_ptr_equal((uint8_t *)store_memory(s, &size) + store_offset(b), store_data(s, b));
    assert_int_equal(size, 10 * SLAB_ALIGN);
    store_unpin(s, b);
    store_destroy(s);
}

static void an_abandoned_reservation_leaves_nothing(void **state)
{
    (void)state;
    struct store *s = make(10, false);
    struct store_counts n;
    store_abandon(s, reserve(s, "k", 5000));
    store_counts(s, &n);
    assert_int_equal(n.used, 0);
    assert_int_equal(n.blocks, 0);
    assert_false(has(s, "k"));
    store_destroy(s);
}

static void the_last_put_wins_and_a_reader_keeps_the_old_one(void **state)
{
    (void)state;
    struct store *s = make(10, false);
    put(s, "k", "old");
    struct store_block *old = store_pin(s, "k", 1);
    put(s, "k", "new");
    assert_memory_equal(store_data(s, old), "old", 3);
    struct store_block *now = store_pin(s, "k", 1);
    assert_memory_equal(store_data(s, now), "new", 3);
    store_unpin(s, now);
    struct store_counts n;
    store_counts(s, &n);
    assert_int_equal(n.used, 2 * SLAB_ALIGN);
    store_unpin(s, old);
    store_counts(s, &n);
    assert_int_equal(n.used, SLAB_ALIGN);
    assert_int_equal(n.blocks, 1);
    store_destroy(s);
}

static void deleting_twice_is_fine(void **state)
{
    (void)state;
    struct store *s = make(10, false);
    put(s, "k", "value");
    assert_true(drop(s, "k"));
    assert_false(drop(s, "k"));
    assert_false(has(s, "k"));
    store_destroy(s);
    store_destroy(NULL);
}

static void a_full_store_refuses_by_name(void **state)
{
    (void)state;
    struct store *s = make(3, false);
    struct store_block *b;
    put(s, "a", "1");
    put(s, "b", "2");
    put(s, "c", "3");
    assert_int_equal(store_reserve(s, "d", 1, 1, &b), ERR_STORE_FULL);
    assert_true(has(s, "a"));
    assert_int_equal(store_reserve(s, "d", 1, 1 << 20, &b), ERR_STORE_FULL);
    struct store_counts n;
    store_counts(s, &n);
    assert_int_equal(n.refusals, 2);
    store_destroy(s);
}

static void eviction_begins_at_seventy_percent_with_the_least_recently_used(void **state)
{
    (void)state;
    struct store *s = make(100, true);
    char key[16];
    for (int i = 0; i < 70; i++) {
        snprintf(key, sizeof key, "k%d", i);
        put(s, key, "x");
    }
    struct store_counts n;
    store_counts(s, &n);
    assert_int_equal(n.evictions, 0);
    store_unpin(s, store_pin(s, "k0", 2)); /* used: k1 is the oldest now */
    put(s, "more", "x");
    store_counts(s, &n);
    assert_int_equal(n.evictions, 11); /* down to sixty with the new one */
    assert_true(has(s, "k0"));
    assert_false(has(s, "k1"));
    assert_true(has(s, "k12"));
    store_destroy(s);
}

/* MK-I2: nobody waits for a PUT that makes room for many. */
static void eviction_goes_in_steps_down_to_where_it_stops(void **state)
{
    (void)state;
    struct store *s = make(1000, true);
    struct store_counts n;
    char key[16];
    for (int i = 0; i < 700; i++) {
        snprintf(key, sizeof key, "k%d", i);
        put(s, key, "x");
    }
    const uint64_t evictions[] = {64, 102, 102}; /* 701 - 64 = 637; 638 - 38 = 600 */
    for (int i = 0; i < 3; i++) {
        snprintf(key, sizeof key, "more%d", i);
        put(s, key, "x");
        store_counts(s, &n);
        assert_int_equal(n.evictions, evictions[i]);
    }
    struct store_block *b = reserve(s, "large", 300 * SLAB_ALIGN); /* 901 */
    store_counts(s, &n);
    assert_int_equal(n.used, 600 * SLAB_ALIGN); /* a step is as large as what it is for */
    store_abandon(s, b);
    store_destroy(s);
}

static void what_is_being_read_is_never_evicted(void **state)
{
    (void)state;
    struct store *s = make(2, true);
    struct store_block *b;
    put(s, "a", "1");
    struct store_block *pinned = store_pin(s, "a", 1);
    assert_int_equal(store_reserve(s, "b", 1, 2 * SLAB_ALIGN, &b), ERR_STORE_FULL);
    assert_true(has(s, "a"));
    assert_memory_equal(store_data(s, pinned), "1", 1);
    store_unpin(s, pinned);
    assert_int_equal(store_reserve(s, "b", 1, 2 * SLAB_ALIGN, &b), 0);
    store_abandon(s, b);
    assert_false(has(s, "a"));
    store_destroy(s);
}

static void many_keys_are_all_found(void **state)
{
    (void)state;
    struct store *s = make(1000, false);
    char key[16];
    for (int i = 0; i < 1000; i++) {
        snprintf(key, sizeof key, "key %d", i);
        put(s, key, key);
    }
    for (int i = 0; i < 1000; i++) {
        snprintf(key, sizeof key, "key %d", i);
        struct store_block *b = store_pin(s, key, strlen(key));
        assert_non_null(b);
        assert_memory_equal(store_data(s, b), key, strlen(key));
        store_unpin(s, b);
    }
    store_destroy(s);
}

/* What no eviction can make room for is refused before anything was evicted. */
static void a_refusal_evicts_nothing(void **state)
{
    (void)state;
    const struct store_init init = {.capacity = 10 * SLAB_ALIGN,
                                    .evicts = true,
                                    .start_percent = 100,
                                    .stop_percent = 90,
                                    .seed = 7};
    struct store *s;
    struct store_block *b;
    struct store_counts counts;
    assert_int_equal(store_create(&init, &s), 0);
    for (char key = '0'; key <= '9'; key++) {
        assert_int_equal(store_reserve(s, &key, 1, SLAB_ALIGN, &b), 0);
        store_commit(s, b, tag);
    }
    struct store_block *pinned = store_pin(s, "5", 1);
    assert_int_equal(store_reserve(s, "x", 1, 8 * SLAB_ALIGN, &b), ERR_STORE_FULL);
    store_counts(s, &counts);
    assert_int_equal(counts.blocks, 10);
    assert_int_equal(counts.evictions, 0);
    assert_int_equal(counts.used, 10 * SLAB_ALIGN);
    assert_int_equal(store_reserve(s, "x", 1, 5 * SLAB_ALIGN, &b), 0); /* before the pinned one */
    store_abandon(s, b);
    store_unpin(s, pinned);
    store_destroy(s);
}

/* What is old but lies elsewhere stays. */
static void only_the_blocks_of_the_run_make_room_for_it(void **state)
{
    (void)state;
    static const char order[] = "0512346789"; /* of use */
    const struct store_init init = {.capacity = 10 * SLAB_ALIGN,
                                    .evicts = true,
                                    .start_percent = 100,
                                    .stop_percent = 90,
                                    .seed = 7};
    struct store *s;
    struct store_counts counts;
    assert_int_equal(store_create(&init, &s), 0);
    for (char key[2] = "0"; key[0] <= '9'; key[0]++)
        put(s, key, key);
    for (size_t i = 0; order[i]; i++)
        store_unpin(s, store_pin(s, &order[i], 1));
    struct store_block *b = reserve(s, "x", 2 * SLAB_ALIGN);
    assert_int_equal(store_offset(b), 0);
    assert_true(has(s, "5"));
    assert_false(has(s, "0") || has(s, "1"));
    store_counts(s, &counts);
    assert_int_equal(counts.evictions, 2);
    assert_int_equal(counts.used, 10 * SLAB_ALIGN);
    store_commit(s, b, tag);
    put(s, "y", "y"); /* in the place of the oldest, which is still the fifth */
    assert_false(has(s, "5"));
    store_destroy(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_blocks_of_the_run_make_room_for_it),
        cmocka_unit_test(a_reservation_is_invisible_until_it_is_committed),
        cmocka_unit_test(an_abandoned_reservation_leaves_nothing),
        cmocka_unit_test(the_last_put_wins_and_a_reader_keeps_the_old_one),
        cmocka_unit_test(deleting_twice_is_fine),
        cmocka_unit_test(a_full_store_refuses_by_name),
        cmocka_unit_test(eviction_begins_at_seventy_percent_with_the_least_recently_used),
        cmocka_unit_test(eviction_goes_in_steps_down_to_where_it_stops),
        cmocka_unit_test(what_is_being_read_is_never_evicted),
        cmocka_unit_test(many_keys_are_all_found),
        cmocka_unit_test(a_refusal_evicts_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
