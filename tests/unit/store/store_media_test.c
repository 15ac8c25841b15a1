/* SPDX-License-Identifier: Apache-2.0 */
/* MK-J1 to MK-J4: an index whose blocks are on media and, some of them, in memory. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "src/store/store.h"
#include "tests/support/disk_fabric.h"

#define BLOCK 40960u

static struct sim *sim;
static struct disk *disk;
static struct disk_fabric *fabric;
static struct store *store;
static struct store_init init;
static struct store_result last; /* of those with a token */
static uint64_t ended[4];        /* tokens, in the order in which they ended */
static unsigned ended_count;
static enum fabric_error drive_error;

static void take_results(void)
{
    struct store_result r;
    while (store_next(store, &r)) {
        if (r.kind == STORE_DRIVE)
            drive_error = r.error;
        else
            last = r;
        if (r.kind != STORE_DRIVE && r.kind != STORE_OPENED)
            ended[ended_count++ % 4] = r.token.id;
    }
}

static void settle(void)
{
    struct fabric_io_done done;
    take_results();
    while (disk_fabric_wait(fabric, &done)) {
        store_event(store, &done);
        take_results();
    }
}

static enum fabric_error begin(void)
{
    fabric = disk_fabric_new(sim, disk);
    init.media.each.fabric = disk_fabric_head(fabric);
    assert_int_equal(store_create(&init, &store), FABRIC_OK);
    settle();
    assert_int_equal(last.kind, STORE_OPENED);
    return last.error;
}

static void stop(void)
{
    store_destroy(store);
    fabric_destroy(disk_fabric_head(fabric));
    store = NULL;
}

static int up(void **state)
{
    (void)state;
    sim = sim_create(3);
    disk = disk_create(sim, &(struct disk_config){0});
    ended_count = 0;
    drive_error = FABRIC_OK;
    init = (struct store_init){
        .capacity = 3 * BLOCK,
        .evicts = true,
        .start_percent = 70,
        .stop_percent = 60,
        .seed = 7,
        .media = {.count = 2,
                  .paths = {"/mnt/a/lane-0", "/mnt/b/lane-0"},
                  .cookie = UINT64_C(9) << 56,
                  .each = {.makes = true, .size = 1u << 20, .block_size = 16384, .lanes = 1}}};
    return 0;
}

static int down(void **state)
{
    (void)state;
    if (store)
        stop();
    disk_destroy(disk);
    sim_destroy(sim);
    return 0;
}

static enum fabric_error start_put(const char *key, char value, uint64_t token)
{
    static const uint8_t tag[STORE_TAG_BYTES] = {42};
    struct store_block *b;
    bool later;
    enum fabric_error error = store_reserve(store, key, strlen(key), BLOCK, &b);
    if (error)
        return error;
    memset(store_data(store, b), value, BLOCK);
    store_set_maker(b, 5);
    const struct media_token t = {.id = token};
    assert_int_equal(store_save(store, b, tag, t, &later), FABRIC_OK);
    assert_true(later);
    return FABRIC_OK;
}

static enum fabric_error put(const char *key, char value)
{
    enum fabric_error error = start_put(key, value, 1);
    settle();
    return error ? error : last.error;
}

/* The value's letter, 0 when there is none; `error` of loading it. */
static char get(const char *key, enum fabric_error *error)
{
    bool later;
    struct store_block *b = store_pin(store, key, strlen(key));
    *error = FABRIC_OK;
    if (!b)
        return 0;
    *error = store_load(store, b, (struct media_token){.id = 2}, &later);
    settle();
    *error = !*error && later ? last.error : *error;
    const char *data = store_data(store, b);
    char found = *error ? '?' : data[0];
    if (!*error)
        assert_int_equal(memcmp(data, data + 1, BLOCK - 1), 0);
    store_unpin(store, b);
    settle();
    return found;
}

static char value_of(const char *key)
{
    enum fabric_error error;
    char found = get(key, &error);
    assert_int_equal(error, FABRIC_OK);
    return found;
}

static struct store_counts counts(void)
{
    struct store_counts n;
    store_counts(store, &n);
    return n;
}

static void a_block_is_visible_when_it_is_saved(void **state)
{
    (void)state;
    assert_int_equal(begin(), FABRIC_OK);
    assert_int_equal(start_put("k", 'a', 1), FABRIC_OK);
    assert_false(store_exists(store, "k", 1));
    settle();
    assert_int_equal(last.kind, STORE_SAVED);
    assert_int_equal(last.error, FABRIC_OK);
    assert_int_equal(value_of("k"), 'a');
    stop();
    assert_int_equal(begin(), FABRIC_OK);
    assert_int_equal(counts().blocks, 1);
    assert_int_equal(counts().resident, 0);
    struct store_block *b = store_pin(store, "k", 1);
    assert_int_equal(store_maker(b), 5);
    assert_int_equal(store_tag(b)[0], 42);
    store_unpin(store, b);
    assert_int_equal(value_of("k"), 'a');
    assert_int_equal(counts().resident, BLOCK);
}

static void begin_piecewise(const char *key, char value, uint64_t arrived)
{
    static const uint8_t tag[STORE_TAG_BYTES] = {42};
    struct store_block *b;
    bool later;
    assert_int_equal(store_reserve(store, key, strlen(key), BLOCK, &b), FABRIC_OK);
    memset(store_data(store, b), value, BLOCK);
    store_arrived(store, b, arrived / 3);
    store_arrived(store, b, arrived - arrived / 3);
    assert_int_equal(store_save(store, b, tag, (struct media_token){.id = 1}, &later), FABRIC_OK);
    settle();
    assert_int_equal(last.error, FABRIC_OK);
}

static void what_arrived_in_pieces_is_saved_with_the_checksum_of_all_of_it(void **state)
{
    struct store_block *b;
    (void)state;
    assert_int_equal(begin(), FABRIC_OK);
    begin_piecewise("all", 'a', BLOCK);
    begin_piecewise("part", 'p', BLOCK / 2);
    begin_piecewise("none", 'n', 0);
    assert_int_equal(store_reserve(store, "not", 3, BLOCK, &b), FABRIC_OK);
    memset(store_data(store, b), 'x', BLOCK);
    store_arrived(store, b, 100);
    store_abandon(store, b);
    stop();
    assert_int_equal(begin(), FABRIC_OK);
    assert_int_equal(value_of("all"), 'a');
    assert_int_equal(value_of("part"), 'p');
    assert_int_equal(value_of("none"), 'n');
    assert_int_equal(value_of("not"), 0);
    assert_int_equal(counts().checksums, 0);
}

static void memory_holds_what_was_used_last(void **state)
{
    (void)state;
    static const char keys[] = "abcdefgh";
    assert_int_equal(begin(), FABRIC_OK);
    for (unsigned i = 0; keys[i]; i++)
        assert_int_equal(put((char[]){keys[i], 0}, keys[i]), FABRIC_OK);
    assert_int_equal(counts().blocks, 8);
    assert_int_equal(counts().resident, 3 * BLOCK);
    assert_int_equal(counts().evictions, 0);
    for (unsigned i = 0; keys[i]; i++)
        assert_int_equal(value_of((char[]){keys[i], 0}), keys[i]);
    struct store_block *h = store_pin(store, "h", 1), *g = store_pin(store, "g", 1);
    struct store_block *f = store_pin(store, "f", 1), *a = store_pin(store, "a", 1);
    bool later;
    assert_int_equal(store_load(store, a, (struct media_token){0}, &later), ERR_QUEUE_FULL);
    store_unpin(store, f);
    assert_int_equal(store_load(store, a, (struct media_token){0}, &later), FABRIC_OK);
    settle();
    assert_int_equal(*(char *)store_data(store, a), 'a');
    assert_int_equal(*(char *)store_data(store, g), 'g');
    assert_int_equal(*(char *)store_data(store, h), 'h');
    store_unpin(store, a);
    store_unpin(store, g);
    store_unpin(store, h);
}

static void a_block_that_no_memory_holds_is_refused(void **state)
{
    (void)state;
    enum fabric_error error;
    assert_int_equal(begin(), FABRIC_OK);
    assert_int_equal(put("k", 'k'), FABRIC_OK);
    stop();
    init.capacity = BLOCK - SLAB_ALIGN;
    assert_int_equal(begin(), FABRIC_OK);
    struct store_block *b = store_pin(store, "k", 1);
    bool later;
    error = store_load(store, b, (struct media_token){0}, &later);
    assert_int_equal(error, ERR_RESOURCES_EXHAUSTED);
    store_unpin(store, b);
    stop();
    init.capacity = 3 * BLOCK;
    assert_int_equal(begin(), FABRIC_OK);
    assert_int_equal(value_of("k"), 'k');
}

static void two_who_wait_for_a_block_are_both_told(void **state)
{
    (void)state;
    assert_int_equal(begin(), FABRIC_OK);
    assert_int_equal(put("k", 'k'), FABRIC_OK);
    stop();
    assert_int_equal(begin(), FABRIC_OK);
    bool first, second;
    struct store_block *b = store_pin(store, "k", 1);
    assert_ptr_equal(store_pin(store, "k", 1), b);
    ended_count = 0;
    assert_int_equal(store_load(store, b, (struct media_token){.id = 7}, &first), FABRIC_OK);
    assert_int_equal(store_load(store, b, (struct media_token){.id = 8}, &second), FABRIC_OK);
    assert_true(first && second);
    settle();
    assert_int_equal(ended_count, 2);
    assert_int_equal(ended[0] + ended[1], 15);
    store_unpin(store, b);
    store_unpin(store, b);
}

static void what_began_first_on_a_key_ends_first(void **state)
{
    (void)state;
    bool found, later;
    for (uint64_t seed = 0; seed < 20; seed++) {
        down(NULL);
        up(NULL);
        sim_random_below(sim, seed + 1);
        assert_int_equal(begin(), FABRIC_OK);
        assert_int_equal(start_put("k", 'a', 1), FABRIC_OK);
        assert_int_equal(start_put("k", 'b', 2), FABRIC_OK);
        store_delete(store, "k", 1, (struct media_token){.id = 3}, &found, &later);
        assert_int_equal(start_put("k", 'd', 4), FABRIC_OK);
        settle();
        assert_int_equal(ended_count, 4);
        for (unsigned i = 0; i < 4; i++)
            assert_int_equal(ended[i], i + 1);
        assert_int_equal(value_of("k"), 'd');
        assert_int_equal(counts().used, BLOCK);
        stop();
        assert_int_equal(begin(), FABRIC_OK);
        assert_int_equal(value_of("k"), 'd');
        assert_int_equal(counts().blocks, 1);
    }
}

static void a_deletion_is_durable_when_it_is_told(void **state)
{
    (void)state;
    bool found, later;
    assert_int_equal(begin(), FABRIC_OK);
    assert_int_equal(put("k", 'a'), FABRIC_OK);
    store_delete(store, "k", 1, (struct media_token){0}, &found, &later);
    assert_true(later);
    assert_false(store_exists(store, "k", 1));
    settle();
    assert_int_equal(last.kind, STORE_DELETED);
    assert_true(last.found);
    store_delete(store, "k", 1, (struct media_token){0}, &found, &later);
    settle();
    assert_int_equal(last.kind, STORE_DELETED);
    assert_false(last.found);
    assert_int_equal(counts().used, 0);
    stop();
    disk_power_cut(disk);
    assert_int_equal(begin(), FABRIC_OK);
    assert_int_equal(counts().blocks, 0);
}

static void eviction_begins_at_its_percentage_and_survives(void **state)
{
    (void)state;
    assert_int_equal(begin(), FABRIC_OK);
    const uint64_t start = counts().capacity * 70 / 100;
    unsigned puts = 0;
    for (; counts().evictions == 0; puts++) {
        assert_true(counts().used <= start);
        assert_int_equal(put((char[]){(char)('A' + puts), 0}, 'x'), FABRIC_OK);
        assert_true(puts < 40);
    }
    const struct store_counts n = counts();
    assert_true(n.used <= counts().capacity * 60 / 100);
    assert_true(n.blocks + n.evictions == puts);
    assert_false(store_exists(store, "A", 1));
    stop();
    assert_int_equal(begin(), FABRIC_OK);
    assert_int_equal(counts().blocks, n.blocks);
    assert_int_equal(counts().used, n.used);
}

static void without_eviction_a_full_medium_refuses(void **state)
{
    (void)state;
    init.evicts = false;
    init.media.count = 1;
    assert_int_equal(begin(), FABRIC_OK);
    const unsigned room = (unsigned)(counts().capacity / BLOCK);
    for (unsigned i = 0; i < room; i++)
        assert_int_equal(put((char[]){(char)('A' + i), 0}, 'x'), FABRIC_OK);
    assert_int_equal(put("z", 'z'), ERR_STORE_FULL);
    assert_int_equal(counts().refusals, 1);
    assert_int_equal(value_of("A"), 'x');
}

static void a_full_medium_makes_room_for_a_save(void **state)
{
    (void)state;
    init.start_percent = 100; /* so that only the medium itself is full */
    init.stop_percent = 99;
    init.media.count = 1;
    assert_int_equal(begin(), FABRIC_OK);
    for (unsigned i = 0; i < 60; i++)
        assert_int_equal(put((char[]){(char)(' ' + i), 0}, 'x'), FABRIC_OK);
    assert_true(counts().evictions >= 60 - counts().capacity / BLOCK);
    assert_true(store_exists(store, (char[]){' ' + 59}, 1));
}

static void a_medium_that_fails_takes_its_share(void **state)
{
    (void)state;
    unsigned served = 0, refused = 0;
    assert_int_equal(begin(), FABRIC_OK);
    for (unsigned i = 0; i < 8; i++)
        assert_int_equal(put((char[]){(char)('a' + i), 0}, 'x'), FABRIC_OK);
    stop();
    init.media.paths[1] = "/none/such/lane-0";
    assert_int_equal(begin(), FABRIC_OK);
    assert_int_equal(drive_error, ERR_MEDIA_FAILED);
    assert_int_equal(counts().drives_online, 1);
    assert_int_equal(counts().drives_offline, 1);
    for (unsigned i = 0; i < 8; i++) {
        enum fabric_error error = put((char[]){(char)('a' + i), 0}, 'y');
        assert_true(!error || error == ERR_MEDIA_FAILED);
        served += !error;
        refused += error != 0;
    }
    assert_true(served && refused);
    stop();
    init.media.paths[1] = "/mnt/b/lane-0";
    assert_int_equal(begin(), FABRIC_OK);
    assert_int_equal(counts().blocks, 8);
}

static void a_block_whose_bytes_changed_is_dropped(void **state)
{
    (void)state;
    enum fabric_error error;
    init.media.count = 1;
    assert_int_equal(begin(), FABRIC_OK);
    assert_int_equal(put("k", 'a'), FABRIC_OK);
    stop();
    assert_int_equal(begin(), FABRIC_OK);
    struct fabric_io io = {.op = FABRIC_IO_OPEN, .path = "/mnt/a/lane-0"};
    struct fabric_io_done done;
    fabric_io_submit(disk_fabric_head(fabric), &io);
    assert_true(disk_fabric_wait(fabric, &done));
    io = (struct fabric_io){.op = FABRIC_IO_WRITE, .file = done.file, .buf = "?", .length = 1};
    io.offset = MEDIA_PAGE * (2 + 4 * MEDIA_HALF_MIN) + BLOCK - 1;
    fabric_io_submit(disk_fabric_head(fabric), &io);
    assert_true(disk_fabric_wait(fabric, &done));
    assert_int_equal(get("k", &error), '?');
    assert_int_equal(error, ERR_CHECKSUM);
    assert_false(store_exists(store, "k", 1));
    assert_int_equal(counts().checksums, 1);
    assert_int_equal(counts().used, 0);
}

static void one_that_another_server_has_is_refused(void **state)
{
    (void)state;
    assert_int_equal(begin(), FABRIC_OK);
    struct store *first = store;
    struct disk_fabric *its = fabric;
    assert_int_equal(begin(), ERR_BUSY);
    stop();
    store = first;
    fabric = its;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, up, down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_block_is_visible_when_it_is_saved),
        TEST(what_arrived_in_pieces_is_saved_with_the_checksum_of_all_of_it),
        TEST(memory_holds_what_was_used_last),
        TEST(a_block_that_no_memory_holds_is_refused),
        TEST(two_who_wait_for_a_block_are_both_told),
        TEST(what_began_first_on_a_key_ends_first),
        TEST(a_deletion_is_durable_when_it_is_told),
        TEST(eviction_begins_at_its_percentage_and_survives),
        TEST(without_eviction_a_full_medium_refuses),
        TEST(a_full_medium_makes_room_for_a_save),
        TEST(a_medium_that_fails_takes_its_share),
        TEST(a_block_whose_bytes_changed_is_dropped),
        TEST(one_that_another_server_has_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
