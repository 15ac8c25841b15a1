/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "src/config/yaml.h"

struct all {
    const char *string;
    int64_t integer;
    uint64_t hex, number, size, duration;
    bool boolean;
    int choice;
    const struct yaml_value *list, *map, *any, *scalar;
    int64_t inner;
};

#define AT(member) offsetof(struct all, member)

static const char *const choices[] = {"auto", "rdma", "tcp", NULL};
static const struct yaml_field inner[] = {
    {.name = "inner", .type = YAML_TYPE_INTEGER, .offset = AT(inner)},
    {.name = NULL},
};
static const struct yaml_field fields[] = {
    {.name = "string", .type = YAML_TYPE_STRING, .offset = AT(string), .min = 1, .max = 8},
    {.name = "integer", .type = YAML_TYPE_INTEGER, .offset = AT(integer), .min = -5, .max = 15},
    {.name = "hex", .type = YAML_TYPE_HEX, .offset = AT(hex), .min = 1, .max = 0xffff},
    {.name = "number", .type = YAML_TYPE_NUMBER, .offset = AT(number)},
    {.name = "size", .type = YAML_TYPE_SIZE, .offset = AT(size), .min = 1, .max = 1 << 30},
    {.name = "duration", .type = YAML_TYPE_DURATION, .offset = AT(duration)},
    {.name = "boolean", .type = YAML_TYPE_BOOLEAN, .offset = AT(boolean)},
    {.name = "choice", .type = YAML_TYPE_ENUM, .offset = AT(choice), .names = choices},
    {.name = "list", .type = YAML_TYPE_SEQUENCE, .offset = AT(list)},
    {.name = "map", .type = YAML_TYPE_MAPPING, .offset = AT(map)},
    {.name = "any", .type = YAML_TYPE_ANY, .offset = AT(any)},
    {.name = "scalar", .type = YAML_TYPE_SCALAR, .offset = AT(scalar)},
    {.name = "section", .type = YAML_TYPE_SECTION, .fields = inner},
    {.name = NULL},
};

static struct yaml_errors errors;
static struct all out;

static bool read(const char *text)
{
    yaml_errors_init(&errors, "f");
    memset(&out, 0, sizeof out);
    struct yaml_tree *tree = yaml_parse(text, strlen(text), &errors);
    bool ok = tree && yaml_read_fields(yaml_root(tree), fields, &out, &errors);
    yaml_tree_free(tree);
    assert_int_equal(ok, errors.count == 0);
    return ok;
}

static void refused(const char *text, const char *expected)
{
    assert_false(read(text));
    if (!strstr(errors.items[0].text, expected))
        fail_msg("expected %s in %s", expected, errors.items[0].text);
}

static void each_type_is_read(void **state)
{
    (void)state;
    assert_true(read("string: abc\ninteger: -5\nhex: 0x8Fff\nnumber: 33055\nsize: 2 MiB\n"
                     "duration: 100ms\nboolean: true\nchoice: tcp\nlist: [a]\nmap: {a: 1}\n"
                     "any: x\nscalar: y\nsection: {inner: 7}\n"));
    assert_int_equal(out.integer, -5);
    assert_int_equal(out.hex, 0x8fff);
    assert_int_equal(out.number, 33055);
    assert_int_equal(out.size, 2 << 20);
    assert_int_equal(out.duration, 100000000);
    assert_true(out.boolean);
    assert_int_equal(out.choice, 2);
    assert_int_equal(out.inner, 7);
    assert_true(read("number: 0x10\nsize: 4096\nduration: 2 h\nboolean: false\n"));
    assert_int_equal(out.number, 16);
    assert_int_equal(out.size, 4096);
    assert_true(out.duration == 7200ull * 1000000000ull);
    assert_true(read("duration: 0\n"));
}

static void numbers_that_yaml_reads_otherwise_are_refused(void **state)
{
    (void)state;
    refused("integer: 010\n", "f:1:10: integer: found '010' with a leading zero");
    refused("integer: 1_0\n", "with an underscore; a whole number from -5 to 15 is expected");
    refused("integer: 1:30\n", "with a colon");
    refused("integer: \"1\"\n", "in quotes");
    refused("integer: 1.5\n", "found '1.5'; a whole");
    refused("integer: +1\n", "found '+1'");
    refused("integer: 16\n", "from -5 to 15");
    refused("integer: -6\n", "from -5 to 15");
    refused("integer: 99999999999999999999\n", "whole number");
    refused("integer: [1]\n", "found a list; a whole number");
    refused("number: -1\n", "found '-1'; a number");
    refused("number: 01\n", "leading zero");
    refused("number: \"1\"\n", "in quotes");
    refused("number: 99999999999999999999\n", "a number");
    refused("number: {a: 1}\n", "found a mapping");
}

static void hexadecimal_needs_its_prefix(void **state)
{
    (void)state;
    refused("hex: 8001\n", "without 0x in front; a hexadecimal number from 0x1 to 0xffff");
    refused("hex: 0x\n", "found '0x'");
    refused("hex: 0x12g\n", "found '0x12g'");
    refused("hex: 0x10000\n", "to 0xffff");
    refused("hex: 0x0\n", "from 0x1");
    refused("hex: 0x11112222333344445\n", "hexadecimal");
    refused("hex: [1]\n", "found a list");
}

static void sizes_and_times_need_their_own_units(void **state)
{
    (void)state;
    refused("size: 2 MB\n", "found '2 MB'; a size from 1 to 1 GiB in KiB, MiB or GiB");
    refused("size: 2 mib\n", "found '2 mib'");
    refused("size: 0\n", "a size from 1");
    refused("size: 2 GiB\n", "to 1 GiB");
    refused("size: 999999999999 GiB\n", "to 1 GiB");
    refused("size: 010 KiB\n", "leading zero");
    refused("size: x\n", "found 'x'");
    refused("size: [1]\n", "found a list");
    refused("duration: 5\n", "without a unit; a time of 0 or more in ns, us");
    refused("duration: 5 d\n", "in ns, us, ms, s, m or h");
    refused("duration: 1:30\n", "with a colon");
}

static void only_true_and_false_are_booleans(void **state)
{
    (void)state;
    refused("boolean: yes\n", "found 'yes'; true or false is expected");
    refused("boolean: True\n", "found 'True'");
    refused("boolean: \"true\"\n", "in quotes");
    refused("boolean: [true]\n", "found a list");
}

static void a_near_miss_is_suggested(void **state)
{
    (void)state;
    refused("choice: tpc\n", "one of auto, rdma, tcp is expected; did you mean 'tcp'?");
    refused("choice: infiniband\n", "one of auto, rdma, tcp is expected");
    refused("choice: [a]\n", "found a list");
    refused("strnig: a\n", "f:1:1: found the unknown key 'strnig'; did you mean 'string'?");
    refused("xyzzy: a\n", "allowed: string, integer");
    refused("section: {iner: 1}\n", "did you mean 'inner'");
    refused("section: 1\n", "found a single value; a mapping is expected");
}

static void kinds_and_lengths_are_checked(void **state)
{
    (void)state;
    refused("list: a\n", "list: found a single value; a list is expected");
    refused("map: [a]\n", "map: found a list; a mapping is expected");
    refused("scalar: [a]\n", "a single value is expected");
    refused("string: [a]\n", "text is expected");
    refused("string: \"\"\n", "found 0 bytes; 1 to 8 are allowed");
    refused("string: 123456789\n", "found 9 bytes");
}

static void every_mistake_is_reported_and_what_is_missing(void **state)
{
    (void)state;
    static const struct yaml_field needed[] = {
        {.name = "string", .type = YAML_TYPE_STRING, .offset = AT(string), .required = true},
        {.name = NULL},
    };
    assert_false(read("integer: x\nboolean: x\nwrong: 1\n"));
    assert_int_equal(errors.count, 3);
    yaml_errors_init(&errors, "f");
    struct yaml_tree *tree = yaml_parse("{}", 2, &errors);
    assert_false(yaml_read_fields(yaml_root(tree), needed, &out, &errors));
    assert_string_equal(errors.items[0].text, "f:1:1: the key 'string' is missing here");
    yaml_tree_free(tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_type_is_read),
        cmocka_unit_test(numbers_that_yaml_reads_otherwise_are_refused),
        cmocka_unit_test(hexadecimal_needs_its_prefix),
        cmocka_unit_test(sizes_and_times_need_their_own_units),
        cmocka_unit_test(only_true_and_false_are_booleans),
        cmocka_unit_test(a_near_miss_is_suggested),
        cmocka_unit_test(kinds_and_lengths_are_checked),
        cmocka_unit_test(every_mistake_is_reported_and_what_is_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
