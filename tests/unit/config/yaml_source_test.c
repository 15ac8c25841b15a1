/* SPDX-License-Identifier: Apache-2.0 */
/* A part of a tree as text: the same values, at the same lines and columns. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "src/config/yaml.h"

static struct yaml_errors errors;

static struct yaml_tree *parse(const char *text)
{
    yaml_errors_init(&errors, "x.yaml");
    struct yaml_tree *tree = yaml_parse(text, strlen(text), &errors);
    if (!tree)
        fail_msg("%s in %s", errors.items[0].text, text);
    return tree;
}

static void same(const struct yaml_value *a, const struct yaml_value *b)
{
    assert_int_equal(yaml_kind(a), yaml_kind(b));
    assert_int_equal(yaml_count(a), yaml_count(b));
    if (yaml_kind(a) == YAML_KIND_SCALAR) {
        assert_string_equal(yaml_text(a), yaml_text(b));
        assert_int_equal(yaml_mark(a).line, yaml_mark(b).line);
        assert_int_equal(yaml_mark(a).column, yaml_mark(b).column);
    }
    for (size_t i = 0; i < yaml_count(a); i++) {
        if (yaml_kind(a) == YAML_KIND_MAPPING)
            same(yaml_key(a, i), yaml_key(b, i));
        same(yaml_item(a, i), yaml_item(b, i));
    }
}

/* The part under `key`, or all of it, comes back as it was. */
static void comes_back(const char *text, const char *key)
{
    struct yaml_tree *tree = parse(text);
    const struct yaml_value *value = key ? yaml_find(yaml_root(tree), key) : yaml_root(tree);
    assert_non_null(value);
    char *source = yaml_source(value);
    assert_non_null(source);
    struct yaml_tree *again = parse(source);
    same(value, yaml_root(again));
    yaml_tree_free(again);
    free(source);
    yaml_tree_free(tree);
}

static void a_part_keeps_its_lines_and_columns(void **state)
{
    (void)state;
    comes_back("a: {x: 1,\n    y: [2, 3]}\nb: 4\n", "a");
    comes_back("first: 0\n\nconfig:\n  network:\n    address: 0.0.0.0:9900\n  list:\n    - one\n"
               "    - {two: 3}\n",
               "config");
    comes_back("deep:\n  - a\n  -\n    - b\n", "deep");
}

static void texts_that_need_quotes_get_them(void **state)
{
    (void)state;
    comes_back("{a: \"x: y\", b: \"# no comment\", c: \"\", d: \"[\", e: \"a, b\"}\n", NULL);
    comes_back("{a: \"a\\\"b\\\\c\\td\\u0001\", b: \"true\", c: ' padded ', d: \"-\"}\n", NULL);
}

static void characters_of_several_bytes_are_one_column(void **state)
{
    (void)state;
    comes_back("{name: \"\xc3\xa9\xc3\xa9\", after: 1}\n", NULL);
}

static void a_number_in_quotes_stays_a_text(void **state)
{
    (void)state;
    struct yaml_tree *tree = parse("{a: \"12\", b: 12}\n");
    char *source = yaml_source(yaml_root(tree));
    assert_string_equal(source, "{a: \"12\", b: 12}\n");
    free(source);
    yaml_tree_free(tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_part_keeps_its_lines_and_columns),
        cmocka_unit_test(texts_that_need_quotes_get_them),
        cmocka_unit_test(characters_of_several_bytes_are_one_column),
        cmocka_unit_test(a_number_in_quotes_stays_a_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
