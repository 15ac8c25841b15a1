/* SPDX-License-Identifier: Apache-2.0 */
/* System files that are missing, empty, binary, huge or senseless have a name each. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "src/fabric/sysfile.h"
#include "tests/support/tree_fabric.h"

static const char description[] = "[/sys/a]\n"
                                  "line:   100 Gb/sec (4X EDR) \n"
                                  "empty:\n"
                                  "blank:    \n"
                                  "binary * 9 \\x\n"
                                  "huge * 100000 x\n"
                                  "full * 127 x\n"
                                  "over * 128 x\n"
                                  "locked ! access_denied\n"
                                  "hole ! invalid_argument\n"
                                  "decimal: 65535\n"
                                  "hex: 0xffff\n"
                                  "big: 65536\n"
                                  "wrap: 99999999999999999999\n"
                                  "word: ten\n"
                                  "x: 0x\n"
                                  "driver -> ../../bus/pci/drivers/mlx5_core\n";

static enum fabric_error line(struct tree_fabric *tree, const char *path, char *out)
{
    strcpy(out, "untouched");
    return sysfile_line(&tree->head, path, out);
}

static void a_line_loses_its_newline_and_the_blanks_around_it(void **state)
{
    struct tree_fabric *tree = tree_fabric_new(description);
    char text[SYSFILE_LINE];
    (void)state;
    assert_int_equal(line(tree, "/sys/a/line", text), FABRIC_OK);
    assert_string_equal(text, "100 Gb/sec (4X EDR)");
    tree_fabric_close(tree);
}

static void what_is_no_line_has_a_name_and_leaves_the_place_alone(void **state)
{
    static const struct {
        const char *path;
        enum fabric_error error;
    } cases[] = {{"/sys/a/none", ERR_NOT_FOUND},        {"/sys/a/empty", ERR_SYSFILE_INVALID},
                 {"/sys/a/blank", ERR_SYSFILE_INVALID}, {"/sys/a/binary", ERR_SYSFILE_INVALID},
                 {"/sys/a/huge", ERR_TOO_LARGE},        {"/sys/a/over", ERR_TOO_LARGE},
                 {"/sys/a/locked", ERR_ACCESS_DENIED},  {"/sys/a/hole", ERR_INVALID_ARGUMENT}};
    struct tree_fabric *tree = tree_fabric_new(description);
    char text[SYSFILE_LINE];
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        assert_int_equal(line(tree, cases[i].path, text), cases[i].error);
        assert_string_equal(text, "untouched");
    }
    assert_int_equal(line(tree, "/sys/a/full", text), FABRIC_OK);
    assert_int_equal(strlen(text), 127);
    assert_int_equal(tree->bytes_read,
                     9 + 127 + 4); /* the newline of blank lines, never the huge */
    tree_fabric_close(tree);
}

static void two_lines_are_not_one(void **state)
{
    struct tree_fabric *tree = tree_fabric_new("");
    char text[SYSFILE_LINE];
    (void)state;
    tree_set_text(tree, "/sys/two", "one\ntwo\n");
    assert_int_equal(line(tree, "/sys/two", text), ERR_SYSFILE_INVALID);
    tree_set(tree, "/sys/nul", "a\0b\n", 4);
    assert_int_equal(line(tree, "/sys/nul", text), ERR_SYSFILE_INVALID);
    tree_fabric_close(tree);
}

static void a_path_that_is_too_long_is_not_even_tried(void **state)
{
    struct tree_fabric *tree = tree_fabric_new("");
    char path[FABRIC_PATH_MAX + 8] = "/sys/", text[FABRIC_NAME_MAX];
    static char names[SYSFILE_NAMES];
    size_t length;
    (void)state;
    memset(path + 5, 'x', sizeof(path) - 6);
    assert_int_equal(sysfile_line(&tree->head, path, names), ERR_TOO_LARGE);
    assert_int_equal(sysfile_names(&tree->head, path, names, &length), ERR_TOO_LARGE);
    assert_int_equal(sysfile_link_name(&tree->head, path, text), ERR_TOO_LARGE);
    assert_int_equal(tree->head.calls[FABRIC_OP_SYSFILE_READ], 0);
    assert_int_equal(tree->head.calls[FABRIC_OP_SYSFILE_LIST], 0);
    tree_fabric_close(tree);
}

static void numbers_are_decimal_or_hexadecimal_and_bounded(void **state)
{
    static const char *const wrong[] = {"big", "wrap", "word", "x", "line", "empty"};
    struct tree_fabric *tree = tree_fabric_new(description);
    uint64_t value = 7;
    char path[64];
    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        snprintf(path, sizeof(path), "/sys/a/%s", wrong[i]);
        assert_int_equal(sysfile_number(&tree->head, path, 65535, &value), ERR_SYSFILE_INVALID);
        assert_int_equal(value, 7);
    }
    assert_int_equal(sysfile_number(&tree->head, "/sys/a/decimal", 65535, &value), FABRIC_OK);
    assert_int_equal(value, 65535);
    value = 0;
    assert_int_equal(sysfile_number(&tree->head, "/sys/a/hex", 65535, &value), FABRIC_OK);
    assert_int_equal(value, 65535);
    assert_true(sysfile_parse("18446744073709551615", UINT64_MAX, &value));
    assert_true(value == UINT64_MAX);
    assert_false(sysfile_parse("18446744073709551616", UINT64_MAX, &value));
    assert_false(sysfile_parse("0x1ffffffffffffffff", UINT64_MAX, &value));
    tree_fabric_close(tree);
}

static void hardware_addresses_have_exactly_so_many_bytes(void **state)
{
    uint8_t bytes[3];
    (void)state;
    assert_true(sysfile_parse_bytes("80:0a:FF", bytes, 3));
    assert_memory_equal(bytes, "\x80\x0a\xff", 3);
    assert_false(sysfile_parse_bytes("80:0a", bytes, 3));
    assert_false(sysfile_parse_bytes("80:0a:ff:01", bytes, 3));
    assert_false(sysfile_parse_bytes("80-0a-ff", bytes, 3));
    assert_false(sysfile_parse_bytes("80:0g:ff", bytes, 3));
}

static void names_can_be_shown_and_stand_in_a_path(void **state)
{
    char name[FABRIC_NAME_MAX + 1];
    (void)state;
    assert_true(sysfile_name_ok("mlx5_0"));
    assert_false(sysfile_name_ok(""));
    assert_false(sysfile_name_ok("a/b"));
    assert_false(sysfile_name_ok("a b"));
    assert_false(sysfile_name_ok("a\x1b"));
    memset(name, 'x', sizeof(name));
    name[FABRIC_NAME_MAX] = '\0';
    assert_false(sysfile_name_ok(name));
    name[FABRIC_NAME_MAX - 1] = '\0';
    assert_true(sysfile_name_ok(name));
}

static void links_folders_and_their_names_are_found(void **state)
{
    struct tree_fabric *tree = tree_fabric_new(description);
    char name[FABRIC_NAME_MAX], names[SYSFILE_NAMES];
    size_t length = 0;
    (void)state;
    assert_int_equal(sysfile_link_name(&tree->head, "/sys/a/driver", name), FABRIC_OK);
    assert_string_equal(name, "mlx5_core");
    assert_int_equal(sysfile_link_name(&tree->head, "/sys/a/line", name), ERR_NOT_FOUND);
    assert_true(sysfile_folder(&tree->head, "/sys/a"));
    assert_false(sysfile_folder(&tree->head, "/sys/b"));
    assert_int_equal(sysfile_names(&tree->head, "/sys/a", names, &length), FABRIC_OK);
    assert_string_equal(names, "big");
    for (int i = 0; i < 3000; i++) {
        char path[32];
        snprintf(path, sizeof(path), "/sys/many/%d", i);
        tree_set_text(tree, path, "");
    }
    assert_int_equal(sysfile_names(&tree->head, "/sys/many", names, &length), ERR_TOO_LARGE);
    assert_true(sysfile_folder(&tree->head, "/sys/many"));
    tree_fabric_close(tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_loses_its_newline_and_the_blanks_around_it),
        cmocka_unit_test(what_is_no_line_has_a_name_and_leaves_the_place_alone),
        cmocka_unit_test(two_lines_are_not_one),
        cmocka_unit_test(a_path_that_is_too_long_is_not_even_tried),
        cmocka_unit_test(numbers_are_decimal_or_hexadecimal_and_bounded),
        cmocka_unit_test(hardware_addresses_have_exactly_so_many_bytes),
        cmocka_unit_test(names_can_be_shown_and_stand_in_a_path),
        cmocka_unit_test(links_folders_and_their_names_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
