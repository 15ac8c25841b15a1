/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "src/cli/commands.h"
#include "tests/support/desk.h"

/* Help needs no device, and has an example at every level. */
static void every_command_has_help_with_an_example(void **state)
{
    struct desk desk;
    (void)state;
    desk_open(&desk);
    desk_expect(&desk, "memkv --help", CLI_DONE, "examples:\n  memkv start", NULL);
    desk_expect(&desk, "memkv help", CLI_DONE, "usage: memkv COMMAND", NULL);
    desk_expect(&desk, "memkv net --help", CLI_DONE, "example:\n  memkv net", NULL);
    for (const struct cli_command *c = cli_commands; c->object; c++) {
        char line[128], example[64];
        assert_non_null(c->examples[0]);
        snprintf(line, sizeof line, "memkv %s %s --help", c->object, c->verb ? c->verb : "");
        snprintf(example, sizeof example, "examples:\n  %.12s", c->examples[0]);
        desk_expect(&desk, line, CLI_DONE, example, NULL);
        assert_true(c->summary[0] && strlen(c->summary) < 70);
    }
    desk_close(&desk);
}

static void a_typing_mistake_is_answered_with_the_nearest_name(void **state)
{
    struct desk desk;
    (void)state;
    desk_open(&desk);
    desk_expect(&desk, "memkv exsits k", CLI_USAGE, NULL,
                "no such command 'exsits'; did you mean "
                "'exists'?");
    desk_expect(&desk, "memkv net verfy", CLI_USAGE, NULL, "did you mean 'verify'?");
    desk_expect(&desk, "memkv get k f --sever x", CLI_USAGE, NULL, "did you mean '--server'?");
    desk_expect(&desk, "memkv put k f --transport tpc", CLI_USAGE, NULL, "did you mean 'tcp'?");
    desk_expect(&desk, "memkv help evn", CLI_USAGE, NULL, "did you mean 'env'?");
    desk_expect(&desk, "memkv explain not_fond", CLI_USAGE, NULL, "did you mean 'not_found'?");
    desk_close(&desk);
}

static void wrong_numbers_of_words_are_refused_with_the_form(void **state)
{
    struct desk desk;
    (void)state;
    desk_open(&desk);
    desk_expect(&desk, "memkv", CLI_USAGE, NULL, "a command is expected");
    desk_expect(&desk, "memkv net", CLI_USAGE, NULL, "net: a command is expected");
    desk_expect(&desk, "memkv put k", CLI_USAGE, NULL, "memkv put KEY FILE");
    desk_expect(&desk, "memkv put a b c", CLI_USAGE, NULL, "found 3 operands");
    desk_expect(&desk, "memkv start now", CLI_USAGE, NULL, "found 1 operand; none is expected");
    desk_expect(&desk, "memkv get k f --server", CLI_USAGE, NULL, "--server wants a value");
    desk_expect(&desk, "memkv get k f --json=1", CLI_USAGE, NULL, "--json takes no value");
    desk_expect(&desk, "memkv get k f --mtu 1 --mtu 2", CLI_USAGE, NULL, "was given twice");
    desk_expect(&desk, "memkv -x", CLI_USAGE, NULL, "unknown option '-x'");
    desk_close(&desk);
}

/* Under --json an error is an object, and the exit code stays honest. */
static void errors_are_objects_under_json(void **state)
{
    struct desk desk;
    (void)state;
    desk_open(&desk);
    desk_expect(&desk, "memkv explain nope --json", CLI_USAGE,
                "{\"ok\":false,\"error\":{\"name\":\"usage\"", "no error has the name");
    desk_expect(&desk, "memkv ptu -j", CLI_USAGE, "\"name\":\"usage\"", "ptu");
    desk_expect(&desk, "memkv start -j --config /none", CLI_CONFIG,
                "\"name\":\"config_invalid\",\"detail\":\"/none: the configuration: there is no "
                "such file or folder (not_found)\"",
                "config_invalid");
    desk_close(&desk);
}

static void a_word_after_two_dashes_is_no_option(void **state)
{
    struct desk desk;
    (void)state;
    desk_open(&desk);
    desk_expect(&desk, "memkv explain -- --all", CLI_USAGE, NULL, "no error has the name '--all'");
    desk_close(&desk);
}

static void the_environment_and_the_exit_codes_are_listed(void **state)
{
    struct desk desk;
    (void)state;
    desk_open(&desk);
    desk_expect(&desk, "memkv help env", CLI_DONE, "MEMKV_RDMA_PKEY_INDEX", NULL);
    desk_expect(&desk, "memkv help env --json", CLI_DONE,
                "{\"name\":\"MEMKV_SERVERS\",\"key\":\"servers\"", NULL);
    desk_expect(&desk, "memkv help exit", CLI_DONE, "130", NULL);
    desk_expect(&desk, "memkv --version", CLI_DONE, "memkv ", NULL);
    desk_close(&desk);
}

/* Lines stay within a narrow terminal. */
static void help_fits_forty_columns(void **state)
{
    struct desk desk;
    (void)state;
    desk_open(&desk);
    desk.columns = 40;
    desk_type(&desk, "memkv net verify --help");
    for (char *rest = desk.out, *line; (line = strtok_r(rest, "\n", &rest)) != NULL;) {
        bool example = strstr(line, "memkv net verify") != NULL;
        if (!example && strlen(line) > 41)
            fail_msg("%zu columns: %s", strlen(line), line);
    }
    desk_close(&desk);
}

/* Whatever was typed, the answer is JSON. */
static void bytes_that_are_no_text_end_no_command(void **state)
{
    static const char *const lines[] = {
        "memkv \xff -j",
        "memkv explain \xff -j",
        "memkv put k \xff -j",
        "memkv exists \xff -j --server \xff:1",
        "memkv start --config \xff",
        "memkv start --set \xff=\xff -j",
        "memkv net verify --transport tcp --server \xff:1 -j",
    };
    struct desk desk;
    (void)state;
    desk_open(&desk);
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        enum cli_exit code = desk_type(&desk, lines[i]);
        assert_true(code == CLI_USAGE || code == CLI_CONFIG);
        json_t *answer = json_loads(desk.out, 0, NULL);
        assert_true(answer != NULL || !strstr(lines[i], "-j"));
        json_decref(answer);
    }
    desk_close(&desk);
}

static void standard_output_that_cannot_be_written_is_an_error(void **state)
{
    static const char *const argv[] = {"memkv", "explain", "--all"};
    char *said = NULL;
    size_t length;
    (void)state;
    for (int held = 0; held < 2; held++) { /* to the end, or nothing: it fails under way */
        struct cli_host host = {.out = fopen("/dev/full", "w"),
                                .err = open_memstream(&said, &length)};
        assert_non_null(host.out);
        assert_int_equal(setvbuf(host.out, NULL, held ? _IOFBF : _IONBF, 65536), 0);
        assert_int_equal(cli_main(&host, 3, argv), CLI_INTERNAL);
        fclose(host.out);
        fclose(host.err);
        assert_non_null(strstr(said, "cannot write to standard output"));
        free(said);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_that_are_no_text_end_no_command),
        cmocka_unit_test(every_command_has_help_with_an_example),
        cmocka_unit_test(a_typing_mistake_is_answered_with_the_nearest_name),
        cmocka_unit_test(wrong_numbers_of_words_are_refused_with_the_form),
        cmocka_unit_test(errors_are_objects_under_json),
        cmocka_unit_test(a_word_after_two_dashes_is_no_option),
        cmocka_unit_test(the_environment_and_the_exit_codes_are_listed),
        cmocka_unit_test(help_fits_forty_columns),
        cmocka_unit_test(standard_output_that_cannot_be_written_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
