/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "fabric_sim/simfabric/objects.h"

static void a_handle_is_good_for_its_client_and_kind_alone(void **state)
{
    (void)state;
    struct objects objects = {0};
    struct object *pd = objects_add(&objects, OBJECT_PD, 1);
    assert_non_null(pd);
    assert_int_not_equal(pd->handle, 0);
    assert_ptr_equal(objects_find(&objects, pd->handle, OBJECT_PD, 1), pd);
    assert_null(objects_find(&objects, pd->handle, OBJECT_PD, 2));
    assert_null(objects_find(&objects, pd->handle, OBJECT_CQ, 1));
    assert_null(objects_find(&objects, 0, OBJECT_PD, 1));
    assert_null(objects_find(&objects, UINT32_MAX, OBJECT_PD, 1));
    assert_ptr_equal(objects_get(&objects, pd->handle), pd);
    objects_free(&objects);
}

static void the_handle_of_an_ended_object_names_nothing_when_its_place_is_taken(void **state)
{
    (void)state;
    struct objects objects = {0};
    uint32_t old[100];
    for (int i = 0; i < 100; i++) {
        struct object *object = objects_add(&objects, OBJECT_MR, 1);
        old[i] = object->handle;
        objects_drop(&objects, object);
    }
    for (int i = 0; i < 100; i++)
        assert_non_null(objects_add(&objects, OBJECT_MR, 1));
    for (int i = 0; i < 100; i++)
        assert_null(objects_find(&objects, old[i], OBJECT_MR, 1));
    objects_free(&objects);
}

static void the_objects_of_a_client_are_counted_and_found_by_kind(void **state)
{
    (void)state;
    struct objects objects = {0};
    for (int i = 0; i < 200; i++)
        assert_non_null(objects_add(&objects, i % 2 ? OBJECT_CQ : OBJECT_QP, i % 4 < 2 ? 1 : 70));
    assert_int_equal(objects_count(&objects, 1), 100);
    assert_int_equal(objects_count(&objects, 70), 100);
    assert_int_equal(objects_count(&objects, 500), 0);
    uint32_t position = 0, found = 0;
    struct object *object;
    while ((object = objects_next(&objects, OBJECT_CQ, 70, &position))) {
        objects_drop(&objects, object);
        found++;
    }
    assert_int_equal(found, 50);
    assert_int_equal(objects_count(&objects, 70), 50);
    objects_free(&objects);
}

static void one_client_cannot_take_everything(void **state)
{
    (void)state;
    struct objects objects = {0};
    for (uint32_t i = 0; i < OBJECTS_PER_CLIENT; i++)
        assert_non_null(objects_add(&objects, OBJECT_PD, 1));
    assert_null(objects_add(&objects, OBJECT_PD, 1));
    assert_non_null(objects_add(&objects, OBJECT_PD, 2));
    objects_free(&objects);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_handle_is_good_for_its_client_and_kind_alone),
        cmocka_unit_test(the_handle_of_an_ended_object_names_nothing_when_its_place_is_taken),
        cmocka_unit_test(the_objects_of_a_client_are_counted_and_found_by_kind),
        cmocka_unit_test(one_client_cannot_take_everything)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
