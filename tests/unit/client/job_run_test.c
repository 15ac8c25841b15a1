/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of jobs when memory or places run out. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "src/client/client.h"
#include "src/client/job.h"
#include "tests/support/memkv_pair.h"
#include "tests/support/small_world_inside.h"

static bool no_pages;   /* aligned memory is out */
static unsigned denied; /* this allocation from now on fails; 0: none */
static void *(*volatile allocate)(size_t size) = malloc;

/* In place of the C library's, for the whole program. */
void *aligned_alloc(size_t alignment, size_t size)
{
    void *memory = NULL;
    return no_pages || posix_memalign(&memory, alignment, size) ? NULL : memory;
}

void *calloc(size_t count, size_t size)
{
    bool deny = denied > 0 && --denied == 0;
    void *memory = deny ? NULL : allocate(count * size + 1);
    return memory ? memset(memory, 0, count * size) : NULL;
}

static struct program *driver(struct small_world *w)
{
    return w->nodes[PAIR_CLIENT]->state;
}

static uint32_t registered(struct small_world *w)
{
    uint32_t count = 0;
    for (const struct client_memory *m = driver(w)->client->memories; m; m = m->next)
        count++;
    return count;
}

/* A job that waited for memory would wait for ever: nobody gives it back. */
static void without_memory_a_job_ends_with_an_error(void **state)
{
    (void)state;
    struct small_world *w = pair_new("tcp");
    no_pages = true;
    const char *line = pair_do(w, "\"op\":\"put\",\"key\":\"k\",\"size\":100000,\"seed\":7");
    no_pages = false;
    pair_has(line, "resources_exhausted");
    pair_round(w, "tcp_by_choice"); /* and the next one has what it needs */
    small_world_free(w);
}

/* Whichever allocation fails, the batch ends by name and its memory is given back. */
static void a_batch_that_fails_leaves_nothing_registered(void **state)
{
    (void)state;
    unsigned failed = 0;
    for (unsigned nth = 1; nth <= 8; nth++) {
        struct small_world *w = pair_new("tcp");
        pair_round(w, "tcp_by_choice");
        uint32_t before = registered(w);
        denied = nth;
        small_command(w, PAIR_CLIENT,
                      "{\"id\":7771,\"op\":\"put_many\",\"key\":\"k\",\"count\":40,\"size\":5000}");
        denied = 0;
        const char *line = small_until(w, PAIR_CLIENT, "\"id\":7771", 5 * SECOND);
        assert_non_null(line);
        failed += strstr(line, "\"ok\":false") != NULL;
        assert_int_equal(registered(w), before);
        small_world_free(w);
    }
    assert_true(failed >= 5);
}

/* Made once: what changes it meanwhile is not undone by the next try. */
static void a_batch_that_waits_is_not_made_again(void **state)
{
    (void)state;
    struct small_world *w = pair_new("tcp");
    pair_round(w, "tcp_by_choice");
    small_command(w, PAIR_CLIENT, /* leaves room for few */
                  "{\"id\":7771,\"op\":\"exists_many\",\"key\":\"k\",\"count\":1000}");
    small_command(w, PAIR_CLIENT,
                  "{\"id\":7772,\"op\":\"put_many\",\"key\":\"k\",\"count\":50,\"size\":100}");
    struct client_job *waits = driver(w)->jobs[1];
    assert_non_null(waits);
    assert_int_equal(waits->next, 0);
    waits->batch.data[0] ^= 1;
    pair_has(small_until(w, PAIR_CLIENT, "\"id\":7772", 5 * SECOND), "\"ok\":true");
    pair_has(pair_do(w, "\"op\":\"get\",\"key\":\"k#0\",\"size\":100,\"seed\":0"),
             "\"equal\":false");
    pair_has(pair_do(w, "\"op\":\"get\",\"key\":\"k#1\",\"size\":100,\"seed\":1"),
             "\"equal\":true");
    small_world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_memory_a_job_ends_with_an_error),
        cmocka_unit_test(a_batch_that_fails_leaves_nothing_registered),
        cmocka_unit_test(a_batch_that_waits_is_not_made_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
