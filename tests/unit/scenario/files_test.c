/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/fabric/fabric.h"
#include "src/scenario/files.h"

static void a_folder_is_searched_in_the_order_of_names(void **state)
{
    (void)state;
    char root[] = "/tmp/scenario-files-XXXXXX", path[128], detail[FILES_DETAIL];
    static const char *const names[] = {"b.yaml", "a/z.yaml", "a/y.yaml", "a/x.txt",
                                        ".hidden.yaml"};
    struct file_list list = {0};
    assert_non_null(mkdtemp(root));
    snprintf(path, sizeof path, "%s/a", root);
    assert_int_equal(mkdir(path, 0700), 0);
    for (size_t i = 0; i < 5; i++) {
        snprintf(path, sizeof path, "%s/%s", root, names[i]);
        fclose(fopen(path, "w"));
    }
    assert_true(file_list_add(&list, root, detail));
    assert_int_equal(list.count, 3);
    assert_non_null(strstr(list.paths[0], "/a/y.yaml"));
    assert_non_null(strstr(list.paths[1], "/a/z.yaml"));
    assert_non_null(strstr(list.paths[2], "/b.yaml"));
    file_list_free(&list);
    for (size_t i = 0; i < 5; i++) {
        snprintf(path, sizeof path, "%s/%s", root, names[i]);
        unlink(path);
    }
    snprintf(path, sizeof path, "%s/a", root);
    rmdir(path);
    rmdir(root);
}

static void what_cannot_be_read_is_said(void **state)
{
    (void)state;
    char detail[FILES_DETAIL] = "";
    struct text text = {0};
    struct file_list list = {0};
    assert_false(file_read("/nowhere/x", &text, detail));
    assert_non_null(strstr(detail, "cannot open /nowhere/x: No such file"));
    assert_false(file_read("/tmp", &text, detail));
    assert_non_null(strstr(detail, "cannot read /tmp"));
    assert_false(file_read("/dev/zero", &text, detail));
    assert_non_null(strstr(detail, "larger than 64 MiB"));
    assert_int_equal(text.length, 0);
    assert_false(file_list_add(&list, "/nowhere", detail));
    file_list_free(&list);
}

static void a_path_is_beside_the_scenario_unless_it_is_absolute(void **state)
{
    (void)state;
    char detail[FILES_DETAIL], node[FABRIC_PATH_MAX];
    struct text a = {0}, b = {0}, c = {0};
    assert_true(file_read_beside("scenarios/sm/x.yaml", "../../LICENSE", &a, detail));
    assert_true(file_read_beside("x.yaml", "LICENSE", &b, detail));
    assert_string_equal(a.data, b.data);
    assert_true(file_read_beside("scenarios/sm/x.yaml", "/dev/null", &c, detail));
    assert_int_equal(c.length, 0);
    file_node_path("../../LICENSE", node);
    assert_string_equal(node, "/files/LICENSE");
    file_node_path("LICENSE", node);
    assert_string_equal(node, "/files/LICENSE");
    text_free(&a);
    text_free(&b);
    text_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_folder_is_searched_in_the_order_of_names),
        cmocka_unit_test(what_cannot_be_read_is_said),
        cmocka_unit_test(a_path_is_beside_the_scenario_unless_it_is_absolute),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
