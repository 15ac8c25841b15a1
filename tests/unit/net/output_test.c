/* SPDX-License-Identifier: Apache-2.0 */
/* How the commands of this room print and end (MK-H3). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "tests/support/text_sink.h"

static const char *member(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static void every_error_is_one_kind_of_object(void **state)
{
    json_t *object = net_error_object(ERR_NOT_SUPPORTED, "found nothing", NULL);
    (void)state;
    assert_int_equal(json_object_size(object), 6);
    assert_string_equal(member(object, "name"), "not_supported");
    assert_string_equal(member(object, "detail"), "found nothing");
    assert_string_equal(member(object, "text"), error_info(ERR_NOT_SUPPORTED)->text);
    assert_string_equal(member(object, "cause"), error_info(ERR_NOT_SUPPORTED)->cause);
    assert_string_equal(member(object, "fix"), error_info(ERR_NOT_SUPPORTED)->fix);
    assert_int_equal(json_integer_value(json_object_get(object, "exit")), CLI_FABRIC);
    json_decref(object);
    object = net_error_object(ERR_NOT_FOUND, "", "Look elsewhere.");
    assert_string_equal(member(object, "fix"), "Look elsewhere.");
    json_decref(object);
}

/* What people type and what files are called is any bytes. */
static void text_that_is_no_utf_8_is_told_all_the_same(void **state)
{
    static const char *const cases[][2] = {{"plain", "plain"},
                                           {"\xc3\xa4", "\xc3\xa4"},
                                           {"a\xff\xc3\xa4z", "a???z"},
                                           {"\xc3", "?"},
                                           {"", ""}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        json_t *string = net_string(cases[i][0]);
        assert_string_equal(json_string_value(string), cases[i][1]);
        json_decref(string);
    }
}

static void a_field_has_its_key_in_18_columns(void **state)
{
    struct text_sink sink = {0};
    struct net_output out = text_sink_output(&sink);
    (void)state;
    net_field(&out, "device", "%s  port %u", "mlx5_0", 1);
    net_field(&out, "System image GUID", "0x%x", 16);
    assert_string_equal(text_sink_text(&sink), "device            : mlx5_0  port 1\n"
                                               "System image GUID : 0x10\n");
    text_sink_empty(&sink);
}

static void what_is_longer_than_a_line_is_cut_not_overrun(void **state)
{
    struct text_sink sink = {0};
    struct net_output out = text_sink_output(&sink);
    char longer[3000];
    (void)state;
    memset(longer, 'x', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    net_print(&out, "%s", longer);
    assert_int_equal(sink.length, 999);
    text_sink_empty(&sink);
}

static void json_is_one_line_or_indented(void **state)
{
    struct text_sink sink = {0};
    struct net_output out = text_sink_output(&sink);
    json_t *object = json_object();
    (void)state;
    net_set(object, "b", json_integer(1));
    net_set(object, "a", json_null());
    json_incref(object);
    net_print_json(&out, object, false);
    net_print_json(&out, object, true);
    assert_string_equal(text_sink_text(&sink), "{\"b\":1,\"a\":null}\n"
                                               "{\n  \"b\": 1,\n  \"a\": null\n}\n");
    text_sink_empty(&sink);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_error_is_one_kind_of_object),
        cmocka_unit_test(text_that_is_no_utf_8_is_told_all_the_same),
        cmocka_unit_test(a_field_has_its_key_in_18_columns),
        cmocka_unit_test(what_is_longer_than_a_line_is_cut_not_overrun),
        cmocka_unit_test(json_is_one_line_or_indented),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
