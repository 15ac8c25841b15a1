/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/config/yaml.h"

static struct yaml_errors errors;

static struct yaml_tree *parse(const char *text)
{
    yaml_errors_init(&errors, "f.yaml");
    return yaml_parse(text, strlen(text), &errors);
}

/* `text` is refused with exactly one error, and that is it. */
static void refused(const char *text, const char *expected)
{
    struct yaml_tree *tree = parse(text);
    assert_null(tree);
    assert_int_equal(errors.count, 1);
    assert_string_equal(errors.items[0].text, expected);
}

static void every_value_knows_its_place(void **state)
{
    (void)state;
    struct yaml_tree *tree = parse("# note\na: 1\nlist:\n  - x\n  - {b: \"two words\"}\n");
    assert_non_null(tree);
    const struct yaml_value *root = yaml_root(tree);
    assert_int_equal(yaml_kind(root), YAML_KIND_MAPPING);
    assert_int_equal(yaml_count(root), 2);
    assert_string_equal(yaml_text(yaml_key(root, 1)), "list");
    const struct yaml_value *list = yaml_find(root, "list");
    assert_int_equal(yaml_kind(list), YAML_KIND_SEQUENCE);
    const struct yaml_value *b = yaml_find(yaml_item(list, 1), "b");
    assert_string_equal(yaml_text(b), "two words");
    assert_true(yaml_is_quoted(b));
    assert_int_equal(yaml_mark(b).line, 5);
    assert_int_equal(yaml_mark(b).column, 9);
    assert_null(yaml_find(root, "absent"));
    assert_null(yaml_find(b, "absent"));
    yaml_tree_free(tree);
    yaml_tree_free(NULL);
}

static void what_yaml_allows_and_people_trip_over_is_refused(void **state)
{
    (void)state;
    refused("a: &x 1\n", "f.yaml:1:4: found an anchor (&); anchors are not allowed");
    refused("a: *x\n", "f.yaml:1:4: found the alias '*x'; aliases are not allowed");
    refused("a: !!int 1\n",
            "f.yaml:1:4: found the tag 'tag:yaml.org,2002:int'; tags are not allowed");
    refused("<<: {a: 1}\n", "f.yaml:1:1: found a merge key (<<); merging is not allowed");
    refused("a: 1\n---\nb: 2\n", "f.yaml:2:1: found a second document; one is allowed");
    refused("a:\n", "f.yaml:1:3: found an empty value; write it, or leave the key out");
    refused("a: ~\n", "f.yaml:1:4: found an empty value; write it, or leave the key out");
    refused("a:\n\tb: 1\n", "f.yaml:2:1: found a TAB in the indentation; only spaces are allowed");
    refused("", "f.yaml:1:1: found nothing; a mapping is expected");
    refused("{[a]: 1}\n", "f.yaml:1:2: found a list as a key; a key is a single word");
}

static void a_duplicate_key_is_refused_with_both_places(void **state)
{
    (void)state;
    refused("a: 1\nb: 2\na: 3\n",
            "f.yaml:3:1: found the key 'a' again; it stands at line 1, column 1 already");
}

static void bad_utf8_has_a_line_and_a_column(void **state)
{
    (void)state;
    assert_null(parse("a: \xc3\xa4\nb: \xff\n"));
    assert_int_equal(errors.items[0].mark.line, 2);
    assert_int_equal(errors.items[0].mark.column, 4);
    assert_non_null(strstr(errors.items[0].text, "only UTF-8 is allowed"));
}

static void libyamls_own_complaints_keep_their_place(void **state)
{
    (void)state;
    assert_null(parse("a: [1, 2\nb: 3\n"));
    assert_int_equal(errors.count, 1);
    assert_int_equal(errors.items[0].mark.line, 2);
    assert_null(parse("a: 'x\n"));
    assert_null(parse("@\n"));
    assert_int_equal(errors.items[0].mark.column, 1);
}

static void depth_and_size_are_bounded(void **state)
{
    (void)state;
    char deep[256] = "";
    for (int i = 0; i < YAML_MAX_DEPTH + 1; i++)
        strcat(deep, "[");
    assert_null(parse(deep));
    assert_non_null(strstr(errors.items[0].text, "more than 32 levels"));
    char *big = malloc(YAML_MAX_BYTES + 1);
    memset(big, '#', YAML_MAX_BYTES + 1);
    yaml_errors_init(&errors, "f.yaml");
    assert_null(yaml_parse(big, YAML_MAX_BYTES + 1, &errors));
    assert_non_null(strstr(errors.items[0].text, "at most 1048576 are allowed"));
    free(big);
}

static void a_nested_part_keeps_its_lines_and_columns(void **state)
{
    (void)state;
    struct yaml_tree *tree = parse("x: \xc3\xa4\nnode:\n  config:\n    port: 1\n    wrong: 2\n"
                                   "  other: {a: 1, b: {c: 2}}\n");
    const struct yaml_value *node = yaml_find(yaml_root(tree), "node");
    char *text = yaml_source(yaml_find(node, "config"));
    struct yaml_tree *part = parse(text);
    assert_non_null(part);
    assert_int_equal(yaml_count(yaml_root(part)), 2);
    assert_int_equal(yaml_mark(yaml_key(yaml_root(part), 1)).line, 5);
    assert_int_equal(yaml_mark(yaml_key(yaml_root(part), 1)).column, 5);
    yaml_tree_free(part);
    free(text);
    text = yaml_source(yaml_find(yaml_find(node, "other"), "b"));
    part = parse(text);
    assert_string_equal(yaml_text(yaml_find(yaml_root(part), "c")), "2");
    assert_int_equal(yaml_mark(yaml_root(part)).line, 6);
    yaml_tree_free(part);
    free(text);
    yaml_tree_free(tree);
}

static void errors_beyond_the_last_are_dropped(void **state)
{
    (void)state;
    yaml_errors_init(&errors, "f.yaml");
    for (int i = 0; i < YAML_MAX_ERRORS + 5; i++)
        yaml_complain(&errors, (struct yaml_mark){1, 1}, "again");
    assert_int_equal(errors.count, YAML_MAX_ERRORS);
}

static void many_keys_grow_the_tree(void **state)
{
    (void)state;
    char text[4096] = "";
    for (int i = 0; i < 100; i++)
        snprintf(text + strlen(text), 32, "k%d: [a, b, c, d, e]\n", i);
    struct yaml_tree *tree = parse(text);
    assert_int_equal(yaml_count(yaml_root(tree)), 100);
    assert_int_equal(yaml_count(yaml_find(yaml_root(tree), "k99")), 5);
    yaml_tree_free(tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_value_knows_its_place),
        cmocka_unit_test(what_yaml_allows_and_people_trip_over_is_refused),
        cmocka_unit_test(a_duplicate_key_is_refused_with_both_places),
        cmocka_unit_test(bad_utf8_has_a_line_and_a_column),
        cmocka_unit_test(libyamls_own_complaints_keep_their_place),
        cmocka_unit_test(depth_and_size_are_bounded),
        cmocka_unit_test(a_nested_part_keeps_its_lines_and_columns),
        cmocka_unit_test(errors_beyond_the_last_are_dropped),
        cmocka_unit_test(many_keys_grow_the_tree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
