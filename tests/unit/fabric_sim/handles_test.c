/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "fabric_sim/handles.h"
#include "tests/support/aborts.h"

#define MANY 5000

static void numbers_come_from_a_counter_and_never_again(void **state)
{
    struct handles handles = {0};
    int object = 0;
    (void)state;
    for (uint32_t i = 1; i <= MANY; i++) {
        assert_int_equal(handles_new(&handles, HANDLE_QP, &object), i);
        handles_remove(&handles, i);
    }
    assert_null(handles_find(&handles, MANY, HANDLE_QP));
    assert_int_equal(handles.count, 0);
    handles_free(&handles);
}

/* Removing entries leaves every other one where it can be found. */
static void what_is_left_is_still_found(void **state)
{
    static int objects[MANY + 1];
    struct handles handles = {0};
    (void)state;
    assert_null(handles_find(&handles, 1, HANDLE_CQ));
    for (uint32_t i = 1; i <= MANY; i++)
        (void)handles_new(&handles, HANDLE_CQ, &objects[i]);
    for (uint32_t i = 1; i <= MANY; i += i % 3 ? 1 : 2)
        handles_remove(&handles, i);
    uint32_t left = 0;
    for (uint32_t i = 1; i <= MANY; i++) {
        const int *found = handles_find(&handles, i, HANDLE_CQ);
        assert_true(!found || found == &objects[i]);
        left += found != NULL;
    }
    assert_int_equal(left, handles.count);
    assert_in_range(left, 1, MANY - 1);
    handles_free(&handles);
}

static void a_number_is_of_one_kind(void **state)
{
    struct handles handles = {0};
    int object = 0;
    (void)state;
    handles_put(&handles, 77, HANDLE_DEVICE, &object);
    assert_ptr_equal(handles_find(&handles, 77, HANDLE_DEVICE), &object);
    assert_null(handles_find(&handles, 77, HANDLE_QP));
    assert_ptr_equal(handles_get(&handles, 77, HANDLE_DEVICE), &object);
    handles_free(&handles);
}

static void get_what_is_gone(void *context)
{
    (void)handles_get(context, 3, HANDLE_QP);
}

static void put_twice(void *context)
{
    int object = 0;
    handles_put(context, 1, HANDLE_QP, &object);
}

static void remove_what_is_not_there(void *context)
{
    handles_remove(context, 3);
}

static void wrong_handles_abort(void **state)
{
    struct handles handles = {0};
    int object = 0;
    (void)state;
    (void)handles_new(&handles, HANDLE_QP, &object);
    assert_true(aborts(get_what_is_gone, &handles));
    assert_true(aborts(put_twice, &handles));
    assert_true(aborts(remove_what_is_not_there, &handles));
    handles_free(&handles);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_come_from_a_counter_and_never_again),
        cmocka_unit_test(what_is_left_is_still_found),
        cmocka_unit_test(a_number_is_of_one_kind),
        cmocka_unit_test(wrong_handles_abort),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
