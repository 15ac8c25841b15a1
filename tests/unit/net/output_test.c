/* SPDX-License-Identifier: Apache-2.0 */
/* How the commands of this room print and end (MK-H3). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "tests/support/text_sink.h"

static void every_error_has_an_end_of_its_kind(void **state)
{
    static const struct {
        enum fabric_error error;
        enum net_exit end;
    } cases[] = {{FABRIC_OK, 0},           {ERR_NOT_FOUND, 8},        {ERR_TOO_LARGE, 3},
                 {ERR_SYSFILE_INVALID, 3}, {ERR_ACCESS_DENIED, 6},    {ERR_READ_ONLY, 6},
                 {ERR_NOT_SUPPORTED, 6},   {ERR_INVALID_ARGUMENT, 6}, {ERR_RESOURCES_EXHAUSTED, 1}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        assert_int_equal(net_exit_of(cases[i].error), cases[i].end);
    for (enum fabric_error error = 1; error < ERR_COUNT; error++)
        assert_int_not_equal(net_exit_of(error), 0); /* never success on a failure */
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
        cmocka_unit_test(every_error_has_an_end_of_its_kind),
        cmocka_unit_test(a_field_has_its_key_in_18_columns),
        cmocka_unit_test(what_is_longer_than_a_line_is_cut_not_overrun),
        cmocka_unit_test(json_is_one_line_or_indented),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
