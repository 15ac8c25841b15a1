/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/config/yaml_edit.h"

static struct yaml_errors errors;

static struct yaml_tree *parse(const char *text)
{
    yaml_errors_init(&errors, "x.yaml");
    struct yaml_tree *tree = yaml_parse(text, strlen(text), &errors);
    if (!tree)
        fail_msg("%s", errors.items[0].text);
    return tree;
}

static void reads_as(const struct yaml_value *value, const char *expected)
{
    char *text = yaml_source(value);
    assert_non_null(text);
    assert_string_equal(text, expected);
    free(text);
}

static void a_scalar_takes_another_text_and_keeps_its_mark(void **state)
{
    (void)state;
    struct yaml_tree *tree = parse("{a: one, b: two}\n");
    struct yaml_value *b = yaml_find_edit(yaml_root_edit(tree), "b");
    assert_non_null(b);
    yaml_set_text(b, "2: x", true);
    assert_string_equal(yaml_text(b), "2: x");
    assert_true(yaml_is_quoted(b));
    assert_int_equal(yaml_mark(b).column, 13);
    reads_as(yaml_root(tree), "{a: one, b: \"2: x\"}\n");
    assert_null(yaml_find_edit(yaml_root_edit(tree), "c"));
    assert_null(yaml_find_edit(b, "c"));
    yaml_tree_free(tree);
}

static void a_key_goes_with_its_value_alone(void **state)
{
    (void)state;
    struct yaml_tree *tree = parse("{a: 1, b: [2, 3], c: 4}\n");
    struct yaml_value *root = yaml_root_edit(tree);
    yaml_remove(root, "nobody");
    assert_int_equal(yaml_count(root), 3);
    yaml_remove(root, "b");
    assert_int_equal(yaml_count(root), 2);
    assert_null(yaml_find(root, "b"));
    assert_string_equal(yaml_text(yaml_find(root, "c")), "4");
    yaml_remove(root, "c");
    yaml_remove(root, "a");
    assert_int_equal(yaml_count(root), 0);
    yaml_tree_free(tree);
}

static void what_is_added_stands_at_the_end(void **state)
{
    (void)state;
    struct yaml_tree *tree = parse("a: 1\n");
    struct yaml_value *root = yaml_root_edit(tree);
    yaml_add_text(yaml_add_mapping(root, "network"), "auth_key", "00ff");
    assert_string_equal(yaml_text(yaml_key(root, 1)), "network");
    assert_string_equal(yaml_text(yaml_find(yaml_find(root, "network"), "auth_key")), "00ff");
    assert_int_equal(yaml_mark(yaml_item(root, 1)).line, 1);
    yaml_tree_free(tree);
}

/* Drops what has `drop`, upper-cases the first letter of every scalar, refuses "bad". */
static bool keep(void *context, struct yaml_value *item, bool *stays)
{
    (void)context;
    *stays = !yaml_find(item, "drop");
    return true;
}

static bool scalar(void *context, struct yaml_value *value)
{
    char text[64];
    ++*(unsigned *)context;
    snprintf(text, sizeof text, "%s", yaml_text(value));
    text[0] = (char)(text[0] >= 'a' ? text[0] - 'a' + 'A' : text[0]);
    yaml_set_text(value, text, false);
    return strcmp(text, "Bad") != 0;
}

static void an_edit_sees_keys_and_values_of_what_stays(void **state)
{
    (void)state;
    unsigned seen = 0;
    const struct yaml_edit edit = {keep, scalar, &seen};
    struct yaml_tree *tree = parse("{list: [one, {drop: me}, {k: two}], gone: {drop: too}}\n");
    assert_true(yaml_edit(yaml_root_edit(tree), &edit));
    const struct yaml_value *list = yaml_find(yaml_root(tree), "List");
    assert_int_equal(yaml_count(yaml_root(tree)), 1);
    assert_int_equal(yaml_count(list), 2);
    assert_string_equal(yaml_text(yaml_item(list, 0)), "One");
    assert_string_equal(yaml_text(yaml_find(yaml_item(list, 1), "K")), "Two");
    assert_int_equal(seen, 4);
    yaml_tree_free(tree);
}

static void a_refusal_does_not_stop_the_rest(void **state)
{
    (void)state;
    unsigned seen = 0;
    const struct yaml_edit edit = {keep, scalar, &seen};
    struct yaml_tree *tree = parse("[bad, one]\n");
    assert_false(yaml_edit(yaml_root_edit(tree), &edit));
    assert_int_equal(seen, 2);
    yaml_tree_free(tree);
}

static void keys_that_became_equal_are_complained_about(void **state)
{
    (void)state;
    struct yaml_tree *tree = parse("{a: {x: 1, X: 2}}\n");
    unsigned seen = 0;
    const struct yaml_edit edit = {keep, scalar, &seen};
    assert_true(yaml_check_keys(yaml_root(tree), &errors));
    assert_true(yaml_edit(yaml_root_edit(tree), &edit));
    assert_false(yaml_check_keys(yaml_root(tree), &errors));
    assert_int_equal(errors.items[0].mark.column, 12);
    yaml_tree_free(tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_scalar_takes_another_text_and_keeps_its_mark),
        cmocka_unit_test(a_key_goes_with_its_value_alone),
        cmocka_unit_test(what_is_added_stands_at_the_end),
        cmocka_unit_test(an_edit_sees_keys_and_values_of_what_stays),
        cmocka_unit_test(a_refusal_does_not_stop_the_rest),
        cmocka_unit_test(keys_that_became_equal_are_complained_about),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
