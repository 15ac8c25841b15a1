/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <string.h>

#include "tests/support/desk.h"

/* MK-H3: the codes never change. */
static void each_kind_of_error_has_its_code(void **state)
{
    static const struct {
        enum fabric_error error;
        int code;
    } cases[] = {
        {FABRIC_OK, 0},          {ERR_INTERNAL, 1},       {ERR_INVALID_ARGUMENT, 2},
        {ERR_CONFIG_INVALID, 3}, {ERR_MTU_INVALID, 3},    {ERR_ADDRESS_IN_USE, 3},
        {ERR_TLS_INVALID, 3},    {ERR_UNREACHABLE, 4},    {ERR_PEER_GONE, 4},
        {ERR_TIMEOUT, 4},        {ERR_DRAINING, 4},       {ERR_AUTH_FAILED, 5},
        {ERR_REPLAYED, 5},       {ERR_NO_LID, 6},         {ERR_SUBNET_MISMATCH, 6},
        {ERR_RDMA_REQUIRED, 6},  {ERR_RETRY_EXCEEDED, 6}, {ERR_PKEY_LIMITED_PAIR, 6},
        {ERR_TAG_MISMATCH, 7},   {ERR_CHECKSUM, 7},       {ERR_NOT_FOUND, 8},
        {ERR_STORE_FULL, 9},     {ERR_READ_ONLY, 9},      {ERR_TOO_LARGE, 9},
        {ERR_CANCELLED, 130},    {ERR_ACCESS_DENIED, 3},  {ERR_SYSFILE_INVALID, 3},
        {ERR_NOT_SUPPORTED, 6},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(cli_exit_of(cases[i].error), cases[i].code);
}

static void every_error_has_a_code_that_is_listed(void **state)
{
    (void)state;
    for (int error = 1; error < ERR_COUNT; error++) {
        enum cli_exit code = cli_exit_of((enum fabric_error)error);
        size_t i = 0;
        while (cli_exit_info(i) && cli_exit_info(i)->code != code)
            i++;
        assert_non_null(cli_exit_info(i));
        assert_int_not_equal(code, CLI_DONE);
    }
}

/* MK-H4: every named error, with meaning, cause and fix. */
static void every_error_is_explained(void **state)
{
    struct desk desk;
    (void)state;
    desk_open(&desk);
    for (int error = 1; error < ERR_COUNT; error++) {
        const struct error_info *info = error_info((enum fabric_error)error);
        char line[96];
        snprintf(line, sizeof line, "memkv explain %s --json", info->name);
        desk_expect(&desk, line, CLI_DONE, info->name, NULL);
        json_t *object = json_loads(desk.out, 0, NULL);
        assert_string_equal(json_string_value(json_object_get(object, "text")), info->text);
        assert_string_equal(json_string_value(json_object_get(object, "cause")), info->cause);
        assert_string_equal(json_string_value(json_object_get(object, "fix")), info->fix);
        json_decref(object);
    }
    desk_expect(&desk, "memkv explain subnet_mismatch", CLI_DONE, "  to do  ", NULL);
    desk_expect(&desk, "memkv explain", CLI_USAGE, NULL, "or --all");
    desk_expect(&desk, "memkv explain --all no_lid", CLI_USAGE, NULL, "do not go together");
    desk_close(&desk);
}

/* One row for each error: this is the documentation's table. */
static void the_table_of_the_documentation_has_every_error(void **state)
{
    struct desk desk;
    size_t rows = 0;
    (void)state;
    desk_open(&desk);
    desk_expect(&desk, "memkv explain --markdown", CLI_DONE, "| `no_lid` |", NULL);
    for (const char *at = desk.out; (at = strchr(at, '\n')) != NULL; at++)
        rows++;
    assert_int_equal(rows, 2 + ERR_COUNT - 1);
    desk_close(&desk);
}

static void a_completion_script_names_commands_options_and_errors(void **state)
{
    struct desk desk;
    (void)state;
    desk_open(&desk);
    desk_expect(&desk, "memkv completion bash", CLI_DONE, "complete -F _memkv memkv", NULL);
    desk_expect(&desk, "memkv completion bash", CLI_DONE, "'net'|'help net') words=\"show verify",
                NULL);
    desk_expect(&desk, "memkv completion bash", CLI_DONE, " pkey_limited_pair", NULL);
    desk_expect(&desk, "memkv completion bash", CLI_DONE, "--check-config", NULL);
    desk_expect(&desk, "memkv completion fish", CLI_USAGE, NULL, "bash is expected");
    desk_close(&desk);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_of_error_has_its_code),
        cmocka_unit_test(every_error_has_a_code_that_is_listed),
        cmocka_unit_test(every_error_is_explained),
        cmocka_unit_test(the_table_of_the_documentation_has_every_error),
        cmocka_unit_test(a_completion_script_names_commands_options_and_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
