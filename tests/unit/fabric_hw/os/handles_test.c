/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "fabric_hw/os/handles.h"
#include "tests/support/aborts.h"

static int things[200];

static void a_handle_finds_its_object_until_it_is_removed(void **state)
{
    struct os_handles handles = {0};
    uint32_t ids[200];
    (void)state;
    for (size_t i = 0; i < 200; i++) {
        ids[i] = os_handles_new(&handles, OS_STREAM, &things[i]);
        assert_int_not_equal(ids[i], 0);
    }
    for (size_t i = 0; i < 200; i++) {
        assert_ptr_equal(os_handles_find(&handles, ids[i], OS_STREAM), &things[i]);
        assert_null(os_handles_find(&handles, ids[i], OS_TIMER));
    }
    os_handles_remove(&handles, ids[7]);
    assert_null(os_handles_find(&handles, ids[7], OS_STREAM));
    assert_int_equal(handles.count, 199);
    assert_null(os_handles_find(&handles, 0, OS_STREAM));
    assert_null(os_handles_find(&handles, UINT32_MAX, OS_STREAM));
    os_handles_free(&handles);
}

/* Though its place is used again, many times. */
static void an_old_handle_never_finds_a_new_object(void **state)
{
    struct os_handles handles = {0};
    uint32_t old = os_handles_new(&handles, OS_TIMER, &things[0]);
    (void)state;
    os_handles_remove(&handles, old);
    for (size_t i = 0; i < 5000; i++) {
        uint32_t id = os_handles_new(&handles, OS_TIMER, &things[1]);
        assert_int_not_equal(id, old);
        assert_null(os_handles_find(&handles, old, OS_TIMER));
        os_handles_remove(&handles, id);
    }
    assert_true(handles.capacity < 200);
    os_handles_free(&handles);
}

static struct os_handles gone;

static void get_what_is_gone(void *context)
{
    os_handles_get(&gone, *(uint32_t *)context, OS_FILE);
}

static void using_a_handle_that_is_gone_aborts(void **state)
{
    uint32_t id = os_handles_new(&gone, OS_FILE, &things[0]);
    (void)state;
    assert_ptr_equal(os_handles_get(&gone, id, OS_FILE), &things[0]);
    os_handles_remove(&gone, id);
    assert_true(aborts(get_what_is_gone, &id));
    os_handles_free(&gone);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_handle_finds_its_object_until_it_is_removed),
        cmocka_unit_test(an_old_handle_never_finds_a_new_object),
        cmocka_unit_test(using_a_handle_that_is_gone_aborts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
