/* SPDX-License-Identifier: Apache-2.0 */
/* Proves HA-3.1, HA-4.3: fault words as they are typed on a command line. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "src/scenario/fault_line.h"
#include "src/scenario/topology_read.h"

struct bench {
    struct yaml_tree *tree;
    struct arena arena;
    struct topology *topology;
    struct fault_line line;
    struct fault_complaint complaint;
};

static int setup(void **state)
{
    static const char text[] = "nodes: {n1: {}, n2: {devices: [mlx5_0, mlx5_1]}}\n";
    struct bench *b = calloc(1, sizeof *b);
    struct yaml_errors errors;
    assert_non_null(b);
    yaml_errors_init(&errors, "pair");
    b->tree = yaml_parse(text, strlen(text), &errors);
    b->topology = b->tree ? topology_read(yaml_root(b->tree), &b->arena, &errors) : NULL;
    assert_non_null(b->topology);
    *state = b;
    return 0;
}

static int teardown(void **state)
{
    struct bench *b = *state;
    yaml_tree_free(b->tree);
    arena_free(&b->arena);
    free(b);
    return 0;
}

/* The line is cut at its blanks. */
static bool type(struct bench *b, const char *line)
{
    static char copy[256];
    char *words[8], *rest = copy;
    size_t count = 0;
    strcpy(copy, line);
    for (char *word; (word = strtok_r(rest, " ", &rest));)
        words[count++] = word;
    return fault_line_read(b->topology, words, count, &b->line, &b->complaint);
}

static void refused(struct bench *b, const char *line, size_t word, size_t column, const char *text)
{
    assert_false(type(b, line));
    if (!strstr(b->complaint.text, text))
        fail_msg("%s: %s", line, b->complaint.text);
    assert_int_equal(b->complaint.word, word);
    assert_int_equal(b->complaint.column, column);
}

static void values_without_a_name_are_what_the_word_needs_in_its_order(void **state)
{
    struct bench *b = *state;
    assert_true(type(b, "pkey_set n2 3 0x8005 device=mlx5_1 port=1"));
    assert_int_equal(b->line.fault.word, TESTBED_PKEY_SET);
    assert_string_equal(b->line.fault.node, "n2");
    assert_string_equal(b->line.fault.device, "mlx5_1");
    assert_int_equal(b->line.fault.index, 3);
    assert_int_equal(b->line.fault.value, 0x8005);
    assert_int_equal(b->line.fault.port, 1);
    assert_true(b->line.fault.on);
    fault_line_free(&b->line);
    assert_true(type(b, "lid_swap n1 n2"));
    assert_string_equal(b->line.fault.peer, "n2");
    fault_line_free(&b->line);
    assert_true(type(b, "delay duration=5ms node=n1"));
    assert_int_equal(b->line.fault.duration, 5000000);
    fault_line_free(&b->line);
    assert_true(type(b, "gid_add n1 2 fe80::1:2"));
    assert_int_equal(b->line.fault.gid.raw[15], 2);
    fault_line_free(&b->line);
    assert_true(type(b, "cut n1 on=false"));
    assert_false(b->line.fault.on);
    fault_line_free(&b->line);
}

static void what_is_typed_wrong_is_told_with_its_place_and_the_nearest_name(void **state)
{
    struct bench *b = *state;
    refused(b, "pkey_sett n1", 0, 0, "did you mean pkey_set");
    refused(b, "loss n1 pmm=3", 2, 0, "did you mean 'ppm'");
    refused(b, "loss n1 ppm=x", 2, 4, "ppm: found 'x'");
    refused(b, "loss n1 1000001", 2, 0, "from 0 to 1000000");
    refused(b, "loss n9 3", 1, 0, "did you mean 'n1'");
    refused(b, "port_down n2 device=mlx5_2", 2, 7, "did you mean 'mlx5_");
    refused(b, "port_down n1 n2", 2, 0, "takes no further value");
    refused(b, "port_down n1 port=", 2, 0, "an empty value");
    refused(b, "sm_stop sn", 1, 0, "does not have");
    refused(b, "port_down n1 node=n2", 2, 0, "node");
}

static void what_is_missing_is_missing_at_the_end(void **state)
{
    struct bench *b = *state;
    refused(b, "loss", 1, 0, "'node' is missing");
    refused(b, "loss n1", 2, 0, "'ppm' is missing");
    refused(b, "pkey_set n1 pkey=0x8001 port=1", 4, 0, "'index' is missing");
}

static void a_value_is_no_way_to_say_more(void **state)
{
    struct bench *b = *state;
    char word[] = "port_down", value[] = "n1\nport: 2", alias[] = "*n1";
    char *lines[] = {word, value}, *aliases[] = {word, alias};
    assert_false(fault_line_read(b->topology, lines, 2, &b->line, &b->complaint));
    assert_non_null(strstr(b->complaint.text, "control character"));
    assert_int_equal(b->complaint.word, 1);
    assert_false(fault_line_read(b->topology, aliases, 2, &b->line, &b->complaint));
    assert_int_equal(b->complaint.word, 1);
}

static void the_usage_has_what_is_needed_first(void **state)
{
    char text[128] = "";
    FILE *file = fmemopen(text, sizeof text, "w");
    (void)state;
    assert_non_null(file);
    fault_line_usage(file, fault_word_by_name("pkey_set"));
    fclose(file);
    assert_string_equal(text, "pkey_set NODE INDEX PKEY [device=...] [port=...]");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(values_without_a_name_are_what_the_word_needs_in_its_order),
        TEST(what_is_typed_wrong_is_told_with_its_place_and_the_nearest_name),
        TEST(what_is_missing_is_missing_at_the_end), TEST(a_value_is_no_way_to_say_more),
        TEST(the_usage_has_what_is_needed_first)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
