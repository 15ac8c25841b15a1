/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "src/config/yaml.h"
#include "src/scenario/matrix.h"
#include "src/scenario/scenario.h"

#define MATRIX                                                                                     \
    "matrix:\n"                                                                                    \
    "  role: [server, client]\n"                                                                   \
    "  transport:\n"                                                                               \
    "    rc: {mode: rdma, mtu: 2048}\n"                                                            \
    "    tcp: {mode: tcp, mtu: 4096}\n"

struct fixture {
    struct arena arena;
    struct yaml_errors errors;
    struct yaml_tree *tree;
    struct matrix *matrix;
};

static void read_text(struct fixture *f, const char *text)
{
    memset(f, 0, sizeof *f);
    yaml_errors_init(&f->errors, "x");
    f->tree = yaml_parse(text, strlen(text), &f->errors);
    assert_non_null(f->tree);
    f->matrix = matrix_read(yaml_root(f->tree), &f->arena, &f->errors);
}

static void forget(struct fixture *f)
{
    arena_free(&f->arena);
    yaml_tree_free(f->tree);
}

/* What `steps` is in a cell. */
static char *applied(const char *text, size_t cell)
{
    struct fixture f;
    read_text(&f, text);
    assert_non_null(f.matrix);
    struct yaml_value *steps = yaml_find_edit(yaml_root_edit(f.tree), "steps");
    char *source = NULL;
    if (matrix_apply(f.matrix, cell, steps, &f.errors))
        source = yaml_source(steps);
    else
        source = strdup(f.errors.items[0].text);
    forget(&f);
    return source;
}

static void becomes(const char *text, size_t cell, const char *wanted)
{
    char *found = applied(text, cell);
    assert_string_equal(found + strspn(found, "\n "), wanted);
    free(found);
}

static void refused(const char *text, const char *wanted)
{
    struct fixture f;
    read_text(&f, text);
    assert_null(f.matrix);
    assert_string_equal(f.errors.items[0].text, wanted);
    forget(&f);
}

static void every_combination_is_a_cell_in_the_order_of_the_file(void **state)
{
    (void)state;
    struct fixture f;
    read_text(&f, MATRIX "except: [{role: client, transport: [tcp]}]\n");
    assert_int_equal(matrix_cells(f.matrix), 3);
    assert_string_equal(matrix_cell_name(f.matrix, 0), "role=server transport=rc");
    assert_string_equal(matrix_cell_name(f.matrix, 1), "role=server transport=tcp");
    assert_string_equal(matrix_cell_name(f.matrix, 2), "role=client transport=rc");
    forget(&f);
    read_text(&f, "steps: [a]\n");
    assert_int_equal(matrix_cells(f.matrix), 1);
    assert_string_equal(matrix_cell_name(f.matrix, 0), "");
    forget(&f);
}

static void variables_are_replaced_in_values_and_keys(void **state)
{
    (void)state;
    becomes(MATRIX "steps: [{put: \"${role}\", mtu: \"${transport.mtu}\"}]\n", 1,
            "[{put: server,    mtu: 4096}]\n");
    becomes(MATRIX "steps: [\"at ${role}, ${transport} (${transport.mode})\"]\n", 2,
            "[\"at client, rc (rdma)\"]\n");
    becomes(MATRIX "steps: [{\"${role}\": 1, a: 2}]\n", 0, "[{server:    1, a: 2}]\n");
    becomes(MATRIX "steps: [{\"${role}\": 1, server: 2}]\n", 0,
            "x:6:24: found the key 'server' again; it stands at line 6, column 10 already");
}

static void what_exists_only_elsewhere_is_left_out(void **state)
{
    (void)state;
    const char *text = MATRIX "steps: [{a: 1, only: {role: client}}, {b: 1}, "
                              "{c: 1, only: {role: server, transport: [rc, tcp]}}]\n";
    char *source = applied(text, 1);
    assert_null(strstr(source, "a: 1"));
    assert_non_null(strstr(source, "b: 1"));
    assert_non_null(strstr(source, "c: 1"));
    assert_null(strstr(source, "only"));
    free(source);
    source = applied(text, 2);
    assert_non_null(strstr(source, "a: 1"));
    assert_null(strstr(source, "c: 1"));
    free(source);
}

static void an_unknown_name_is_refused_with_the_nearest(void **state)
{
    (void)state;
    becomes(MATRIX "steps: [\"${rolle}\"]\n", 0,
            "x:6:9: variable: found 'rolle'; did you mean 'role'?");
    becomes(MATRIX "steps: [\"${transport.mod}\"]\n", 0,
            "x:6:9: variable: found 'transport.mod'; did you mean 'transport.mode'?");
    becomes(MATRIX "steps: [\"${role\"]\n", 0, "x:6:9: found '${' without '}'");
    becomes(MATRIX "steps: [{a: 1, only: {rol: client}}]\n", 0,
            "x:6:23: matrix: found 'rol'; did you mean 'role'?");
    becomes(MATRIX "steps: [{a: 1, only: {role: clint}}]\n", 0,
            "x:6:29: role: found 'clint'; did you mean 'client'?");
    becomes("steps: [\"${role}\"]\n", 0, "x:1:9: found the variable 'role' without a matrix");
    becomes("steps: [{a: 1, only: {a: b}}]\n", 0, "x:1:22: only: found without matrix");
}

static void a_matrix_that_is_none_is_refused_at_its_place(void **state)
{
    (void)state;
    refused("matrix: x\n", "x:1:9: matrix: a mapping from names to labels is expected");
    refused("matrix: {a: []}\n", "x:1:13: a list of labels, or a mapping from labels, is expected");
    refused("matrix: {a: [b, b]}\n", "x:1:17: found a label again; each stands once");
    refused("matrix: {a: [\"b c\"]}\n",
            "x:1:14: a label without blanks, '=', ',', '$' and braces is expected");
    refused("matrix: {a: {b: c}}\n", "x:1:17: a mapping from names to single values is expected");
    refused("matrix: {a: [b]}\nexcept: [{a: b}]\n", "x:2:9: except: nothing is left of the matrix");
    refused("matrix: {a: [b]}\nexcept: [{c: b}]\n", "x:2:11: matrix: found 'c'; did you mean 'a'?");
    refused("except: [{c: b}]\n", "x:1:9: except: found without matrix");
    refused("matrix: {\"a.b\": [c]}\n",
            "x:1:10: a name without blanks, '=', ',', '.', '$', braces is expected");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_combination_is_a_cell_in_the_order_of_the_file),
        cmocka_unit_test(variables_are_replaced_in_values_and_keys),
        cmocka_unit_test(what_exists_only_elsewhere_is_left_out),
        cmocka_unit_test(an_unknown_name_is_refused_with_the_nearest),
        cmocka_unit_test(a_matrix_that_is_none_is_refused_at_its_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
