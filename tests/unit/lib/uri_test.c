/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "lib/uri.h"

static struct lib_uri out;
static struct memkv_error error;

static void reads(const char *uri, const char *servers, const char *prefix)
{
    if (lib_uri_read(uri, &out, &error))
        fail_msg("%s: %s", uri, error.text);
    assert_string_equal(out.settings[0], servers);
    assert_string_equal(out.prefix, prefix);
}

static void refuses(const char *uri, const char *where, const char *what)
{
    assert_int_equal(lib_uri_read(uri, &out, &error), MEMKV_ERR_CONFIG_INVALID);
    if (!strstr(error.text, where) || !strstr(error.text, what))
        fail_msg("'%s' and '%s' are expected in: %s", where, what, error.text);
}

static void a_uri_names_servers_and_a_namespace(void **state)
{
    (void)state;
    reads("memkv://node1:9900/model-7", "servers=node1:9900", "model-7/");
    assert_null(out.settings[1]);
    reads("memkv://node1:9900", "servers=node1:9900", "");
    reads("memkv://node1:9900/", "servers=node1:9900", "");
    reads("memkv://a:1,b:2/x", "servers=a:1,b:2", "x/");
    reads("memkv://[2001:db8::1]:9900/x", "servers=[2001:db8::1]:9900", "x/");
}

static void keys_of_one_namespace_are_never_those_of_another(void **state)
{
    (void)state;
    reads("memkv://a:1/ab", "servers=a:1", "ab/");
    reads("memkv://a:1/ab/", "servers=a:1", "ab/");
    reads("memkv://a:1/tenant/ab", "servers=a:1", "tenant/ab/");
}

static void a_query_is_settings(void **state)
{
    (void)state;
    reads("memkv://a:1/x?timeout=2s&auth_key_file=/etc/k", "servers=a:1", "x/");
    assert_string_equal(out.settings[1], "timeout=2s");
    assert_string_equal(out.settings[2], "auth_key_file=/etc/k");
    assert_null(out.settings[3]);
    reads("memkv://a:1?timeout=2s", "servers=a:1", "");
    assert_string_equal(out.settings[1], "timeout=2s");
}

static void percent_stands_for_a_byte(void **state)
{
    (void)state;
    reads("memkv://a:1/a%20b%2fc?auth_key_file=%2Fx%26y", "servers=a:1", "a b/c/");
    assert_string_equal(out.settings[1], "auth_key_file=/x&y");
    refuses("memkv://a:1/x%2", "column 14", "hexadecimal");
    refuses("memkv://a:1/x%", "column 14", "hexadecimal");
    refuses("memkv://a:1/x%g0", "column 14", "hexadecimal");
    refuses("memkv://a:1/x%00", "column 14", "control");
    refuses("memkv://a:1/x\n", "column 14", "control");
}

static void what_is_no_uri_of_memkv_is_refused_with_its_column(void **state)
{
    (void)state;
    refuses(NULL, "column 1:", "memkv://");
    refuses("", "column 1:", "memkv://");
    refuses("redis://a:1", "column 1:", "memkv://");
    refuses("memkv://", "column 9", "a server");
    refuses("memkv:///x", "column 9", "a server");
    refuses("memkv://a:1/x#y", "column 14", "fragment");
    refuses("memkv://a:1?", "column 13", "KEY=VALUE");
    refuses("memkv://a:1?timeout", "column 13", "KEY=VALUE");
    refuses("memkv://a:1?timeout=1s&=3", "column 24", "KEY=VALUE");
    refuses("memkv://a:1?timeout=", "column 13", "KEY=VALUE");
}

static void a_secret_is_refused_and_not_repeated(void **state)
{
    (void)state;
    refuses("memkv://a:1?auth_key=c0ffee", "column 13", "auth_key_file");
    assert_null(strstr(error.text, "c0ffee"));
    refuses("memkv://me:c0ffee@a:1/x", "column 18", "auth_key_file");
    assert_null(strstr(error.text, "c0ffee"));
}

static void sizes_are_bounded(void **state)
{
    static char uri[MEMKV_PLUGIN_MAX_URI + 2];
    (void)state;
    memset(uri, 'x', sizeof uri - 1);
    memcpy(uri, "memkv://", 8);
    refuses(uri, "column 4097", "too long");
    uri[MEMKV_PLUGIN_MAX_URI] = '\0';
    assert_int_equal(lib_uri_read(uri, &out, &error), 0);
    strcpy(uri, "memkv://a:1?a=b");
    for (size_t i = 1; i < LIB_URI_SETTINGS; i++)
        strcat(uri, "&a=b");
    assert_int_equal(lib_uri_read(uri, &out, &error), 0);
    assert_non_null(out.settings[LIB_URI_SETTINGS]);
    assert_null(out.settings[LIB_URI_SETTINGS + 1]);
    strcat(uri, "&a=b");
    refuses(uri, "column", "32 settings");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_uri_names_servers_and_a_namespace),
        cmocka_unit_test(keys_of_one_namespace_are_never_those_of_another),
        cmocka_unit_test(a_query_is_settings),
        cmocka_unit_test(percent_stands_for_a_byte),
        cmocka_unit_test(what_is_no_uri_of_memkv_is_refused_with_its_column),
        cmocka_unit_test(a_secret_is_refused_and_not_repeated),
        cmocka_unit_test(sizes_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
