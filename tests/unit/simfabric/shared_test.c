/* SPDX-License-Identifier: Apache-2.0 */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fabric_sim/simfabric/shared.h"

static int setup(void **state)
{
    struct shared_page *page =
        mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(page != MAP_FAILED);
    assert_false(shared_is_page(page, sizeof(*page)));
    assert_true(shared_create(page));
    assert_true(shared_is_page(page, sizeof(*page)));
    assert_false(shared_is_page(page, sizeof(*page) - 1));
    *state = page;
    return 0;
}

static int teardown(void **state)
{
    return munmap(*state, sizeof(struct shared_page));
}

static void doorbells_are_heard_in_the_order_in_which_they_rang(void **state)
{
    struct shared_page *page = *state;
    struct shared_doorbell bell;
    assert_true(shared_lock(page));
    for (uint32_t round = 0; round < 3; round++) {
        for (uint32_t i = 0; i < SHARED_DOORBELLS - 1; i++)
            assert_false(shared_ring(page, round, i));
        for (uint32_t i = 0; i < SHARED_DOORBELLS - 1; i++) {
            assert_true(shared_hear(page, &bell));
            assert_int_equal(bell.device, round);
            assert_int_equal(bell.qp, i);
        }
        assert_false(shared_hear(page, &bell));
    }
    assert_false(shared_take_all(page));
    shared_unlock(page);
}

static void a_sleeping_daemon_is_woken_once(void **state)
{
    struct shared_page *page = *state;
    assert_true(shared_lock(page));
    page->asleep = true;
    assert_true(shared_ring(page, 0, 1));
    assert_false(shared_ring(page, 0, 2));
    shared_unlock(page);
}

static void a_doorbell_without_room_makes_all_be_looked_at_once(void **state)
{
    struct shared_page *page = *state;
    assert_true(shared_lock(page));
    for (uint32_t i = 0; i <= SHARED_DOORBELLS; i++)
        shared_ring(page, 0, i);
    assert_true(shared_take_all(page));
    assert_false(shared_take_all(page));
    shared_unlock(page);
}

static void the_lock_of_a_killed_program_is_taken_over_and_all_are_looked_at(void **state)
{
    struct shared_page *page = *state;
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)shared_lock(page);
        _exit(0); /* holding it */
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    for (int i = 0; i < 2; i++) {
        assert_true(shared_lock(page));
        assert_int_equal(shared_take_all(page), i == 0);
        shared_unlock(page);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(doorbells_are_heard_in_the_order_in_which_they_rang, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_sleeping_daemon_is_woken_once, setup, teardown),
        cmocka_unit_test_setup_teardown(a_doorbell_without_room_makes_all_be_looked_at_once, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(
            the_lock_of_a_killed_program_is_taken_over_and_all_are_looked_at, setup, teardown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
