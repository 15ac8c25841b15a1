/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "src/scenario/cases.h"
#include "src/scenario/files.h"

#define MATRIX "tests/unit/scenario/files/matrix.yaml"
#define GOOD "tests/unit/scenario/files/good.yaml"

static char detail[FILES_DETAIL];

static void each_cell_is_a_case_and_a_file_without_matrix_is_one(void **state)
{
    (void)state;
    struct case_list list = {0};
    assert_true(case_list_add(&list, MATRIX, NULL, detail));
    assert_true(case_list_add(&list, GOOD, NULL, detail));
    assert_int_equal(list.count, 5);
    assert_string_equal(list.cases[0].name, "role=server transport=rc");
    assert_string_equal(list.cases[3].name, "role=client transport=tcp");
    assert_int_equal(list.cases[3].cell, 3);
    assert_string_equal(list.cases[4].name, "");
    assert_string_equal(list.cases[4].file, GOOD);
    case_list_free(&list);
}

static void a_filter_wants_every_word_whole(void **state)
{
    (void)state;
    struct case_list list = {0};
    assert_true(case_list_add(&list, MATRIX, "transport=tcp role=client", detail));
    assert_int_equal(list.count, 1);
    assert_int_equal(list.cases[0].cell, 3);
    assert_true(case_list_add(&list, MATRIX, "transport=rc,", detail));
    assert_int_equal(list.count, 3);
    assert_true(case_list_add(&list, MATRIX, "transport=r", detail));
    assert_true(case_list_add(&list, MATRIX, "port=rc", detail));
    assert_int_equal(list.count, 3);
    case_list_free(&list);
}

static void shards_are_disjoint_and_miss_nothing(void **state)
{
    (void)state;
    size_t seen = 0;
    for (uint64_t part = 1; part <= 3; part++) {
        struct case_list list = {0};
        assert_true(case_list_add(&list, MATRIX, NULL, detail));
        case_list_shard(&list, part, 3);
        for (size_t i = 0; i < list.count; i++)
            assert_int_equal(list.cases[i].cell % 3, part - 1);
        seen += list.count;
        case_list_free(&list);
    }
    assert_int_equal(seen, 4);
}

static void what_cannot_be_read_is_a_case_and_what_is_not_there_is_none(void **state)
{
    (void)state;
    struct case_list list = {0};
    assert_true(case_list_add(&list, "tests/bad/nothing-left.yaml", "role=server", detail));
    assert_int_equal(list.count, 1);
    assert_false(case_list_add(&list, "tests/none.yaml", NULL, detail));
    assert_non_null(strstr(detail, "cannot find tests/none.yaml"));
    case_list_free(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_cell_is_a_case_and_a_file_without_matrix_is_one),
        cmocka_unit_test(a_filter_wants_every_word_whole),
        cmocka_unit_test(shards_are_disjoint_and_miss_nothing),
        cmocka_unit_test(what_cannot_be_read_is_a_case_and_what_is_not_there_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
