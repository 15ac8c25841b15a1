/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "src/config/environment.h"

#define KEY "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"

struct variable {
    const char *name, *value;
};

static const char *lookup(void *context, const char *name)
{
    for (const struct variable *v = context; v->name; v++) {
        if (strcmp(v->name, name) == 0)
            return v->value;
    }
    return NULL;
}

static struct yaml_errors errors;

/* A client's configuration of a file and variables; false with complaints in `errors`. */
static bool client(const char *file, struct variable *variables, const struct config_setting *flag,
                   struct client_config *out)
{
    struct config_settings settings = {.count = 0};
    yaml_errors_init(&errors, "client.yaml");
    if (flag)
        assert_true(config_setting_add(&settings, flag));
    if (!config_read_environment(&settings, false, lookup, variables, &errors))
        return false;
    struct yaml_tree *tree = config_merge(file, file ? strlen(file) : 0, &settings, false, &errors);
    bool ok = tree && config_read_client(tree, &settings, out, &errors);
    yaml_tree_free(tree);
    return ok;
}

/* MK-D1, MK-K2: flags win over the environment, which wins over the file. */
static void the_higher_layer_wins(void **state)
{
    static const char file[] = "servers: [\"a:1\"]\nauth_key: " KEY "\npkey_index: 1\nmtu: 2048\n";
    struct variable variables[] = {{"MEMKV_RDMA_PKEY_INDEX", "7"},
                                   {"MEMKV_SERVERS", "b:2, c:3"},
                                   {"MEMKV_TRANSPORT", "tcp"},
                                   {NULL, NULL}};
    const struct config_setting flag = {"transport", "rdma", CONFIG_FLAG, "transport"};
    struct client_config c;
    (void)state;
    assert_true(client(file, variables, &flag, &c));
    assert_int_equal(c.rdma.pkey_index, 7);
    assert_int_equal(c.rdma.mtu, 2048);
    assert_int_equal(c.transport, CONFIG_TRANSPORT_RDMA);
    assert_int_equal(c.server_count, 2);
    assert_string_equal(c.servers[1], "c:3");
}

static void the_environment_alone_is_enough(void **state)
{
    struct variable variables[] = {{"MEMKV_SERVERS", "a:1"},
                                   {"MEMKV_AUTH_KEY", KEY},
                                   {"MEMKV_RDMA_DEVICES", "mlx5_0,mlx5_1:2"},
                                   {"MEMKV_TIMEOUT", "3 s"},
                                   {NULL, NULL}};
    struct client_config c;
    (void)state;
    assert_true(client(NULL, variables, NULL, &c));
    assert_int_equal(c.rdma.device_count, 2);
    assert_int_equal(c.rdma.devices[1].port, 2);
    assert_int_equal(c.timeout, 3000000000u);
    assert_true(c.auth_key_set);
    variables[1].name = "MEMKV_MTU"; /* nothing stands in a file, so no line is named */
    assert_false(client(NULL, variables, NULL, &c));
    assert_null(strstr(errors.items[errors.count - 1].text, ":1:1:"));
    assert_non_null(strstr(errors.items[errors.count - 1].text, "auth_key or auth_key_file"));
}

/* MK-K2, CASE-I4: set and empty is an error, never zero. */
static void an_empty_variable_is_an_error(void **state)
{
    struct client_config c;
    (void)state;
    for (size_t i = 0; config_variable(i); i++) {
        struct variable variables[] = {
            {"MEMKV_SERVERS", "a:1"}, {"MEMKV_AUTH_KEY", KEY}, {NULL, NULL}, {NULL, NULL}};
        variables[i == 1 ? 0 : i == 3 ? 1 : 2] = (struct variable){config_variable(i)->name, ""};
        assert_false(client(NULL, variables, NULL, &c));
        assert_int_equal(errors.count, 1);
        assert_non_null(strstr(errors.items[0].text, config_variable(i)->name));
        assert_non_null(strstr(errors.items[0].text, "it is set but empty"));
    }
}

static void a_wrong_value_names_its_variable_and_not_the_file(void **state)
{
    static const char file[] = "servers: [\"a:1\"]\nauth_key: " KEY "\n";
    struct variable variables[] = {{"MEMKV_RDMA_GID_INDEX", "-3"}, {NULL, NULL}};
    const struct config_setting flag = {"mtu", "9000", CONFIG_FLAG, "mtu"};
    struct client_config c;
    (void)state;
    assert_false(client(file, variables, NULL, &c));
    assert_int_equal(strncmp(errors.items[0].text, "MEMKV_RDMA_GID_INDEX: gid_index", 31), 0);
    assert_false(client(file, variables + 1, &flag, &c));
    assert_int_equal(strncmp(errors.items[0].text, "--mtu: mtu: found '9000'", 24), 0);
}

/* The environment's key file stands in place of the file's key, not beside it. */
static void a_rival_of_a_lower_layer_goes(void **state)
{
    static const char file[] = "servers: [\"a:1\"]\nauth_key: " KEY "\npkey: 0x8001\n";
    struct variable variables[] = {
        {"MEMKV_AUTH_KEY_FILE", "/k"}, {"MEMKV_RDMA_PKEY_INDEX", "2"}, {NULL, NULL}};
    struct client_config c;
    (void)state;
    assert_true(client(file, variables, NULL, &c));
    assert_string_equal(c.auth_key_file, "/k");
    assert_false(c.auth_key_set);
    assert_int_equal(c.rdma.pkey, 0);
    variables[1] = (struct variable){"MEMKV_AUTH_KEY", KEY};
    assert_false(client(file, variables, NULL, &c)); /* both in one layer */
}

static void the_origin_of_each_value_is_known(void **state)
{
    static const char file[] = "network: {auth_key: " KEY "}\nrdma: {pkey_index: 1}\n";
    struct variable variables[] = {{"MEMKV_RDMA_MTU", "1024"}, {NULL, NULL}};
    struct config_settings settings = {.count = 0};
    const struct config_setting flag = {"storage.eviction.enabled", "false", CONFIG_FLAG, "x"};
    (void)state;
    yaml_errors_init(&errors, "config.yaml");
    assert_true(config_setting_add(&settings, &flag));
    assert_true(config_read_environment(&settings, true, lookup, variables, &errors));
    struct yaml_tree *tree = config_merge(file, sizeof file - 1, &settings, true, &errors);
    struct server_config c;
    assert_true(config_read_server(tree, &settings, &c, &errors));
    assert_false(c.eviction_enabled);
    assert_int_equal(c.rdma.mtu, 1024);
    assert_int_equal(config_origin_of(tree, &settings, "rdma.pkey_index"), CONFIG_FILE);
    assert_int_equal(config_origin_of(tree, &settings, "rdma.mtu"), CONFIG_ENVIRONMENT);
    assert_int_equal(config_origin_of(tree, &settings, "storage.eviction.enabled"), CONFIG_FLAG);
    assert_int_equal(config_origin_of(tree, &settings, "memory.max_size"), CONFIG_DEFAULT);
    yaml_tree_free(tree);
}

/* Flags or options as given, in order, over an empty file; false with complaints in `errors`. */
static bool server_flags(const char *const (*flags)[2], size_t count)
{
    struct config_settings settings = {.count = 0};
    struct server_config out;
    yaml_errors_init(&errors, "config.yaml");
    for (size_t i = 0; i < count; i++) {
        const struct config_setting one = {flags[i][0], flags[i][1], CONFIG_FLAG, "set"};
        assert_true(config_setting_add(&settings, &one));
    }
    struct yaml_tree *tree = config_merge("{}", 2, &settings, true, &errors);
    bool ok = tree && config_read_server(tree, &settings, &out, &errors);
    yaml_tree_free(tree);
    return ok;
}

static void a_setting_cannot_be_a_value_and_a_section(void **state)
{
    static const char *const cases[][2][2] = {{{"rdma.mtu", "1024"}, {"rdma", "x"}},
                                              {{"rdma", "x"}, {"rdma.mtu", "1024"}},
                                              {{"rdma.devices.x", "1"}, {"rdma.devices", "a"}}};
    static const char *const section[][2] = {{"network", "x"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_false(server_flags(cases[i], 2));
        assert_int_equal(errors.count, 1);
        assert_non_null(strstr(errors.items[0].text, "is no key of the configuration"));
    }
    assert_false(server_flags(section, 1)); /* in place of the one that is always there */
    assert_string_equal(errors.items[0].text, "--set: found a single value; a mapping is expected");
}

static void an_item_that_is_too_long_is_refused(void **state)
{
    char longest[CONFIG_PATH_MAX + 8];
    const char *flags[][2] = {{"network.auth_key", KEY}, {"storage.devices", longest}};
    (void)state;
    memset(longest, 'a', sizeof longest);
    memcpy(longest, "b, ", 3);
    longest[3 + CONFIG_PATH_MAX] = 0;
    assert_false(server_flags(flags, 2));
    assert_int_equal(errors.count, 1);
    assert_non_null(strstr(errors.items[0].text, "at most 255 are allowed"));
    longest[3 + CONFIG_PATH_MAX - 1] = 0;
    assert_true(server_flags(flags, 2));
}

/* Names are told in JSON, and a file with such bytes is refused, too. */
static void bytes_that_are_no_text_are_refused(void **state)
{
    const char *flags[][2] = {{"network.auth_key", KEY}, {"storage.path", "/a/\xff"}};
    const char *keys[][2] = {{"network.auth_key", KEY}, {"storage.\xff", "1"}};
    (void)state;
    assert_false(server_flags(flags, 2));
    assert_string_equal(errors.items[0].text, "--set: found bytes that are no UTF-8");
    assert_false(server_flags(keys, 2));
    flags[1][1] = "/a/\xc3\xa4";
    assert_true(server_flags(flags, 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_that_are_no_text_are_refused),
        cmocka_unit_test(an_item_that_is_too_long_is_refused),
        cmocka_unit_test(a_setting_cannot_be_a_value_and_a_section),
        cmocka_unit_test(the_higher_layer_wins),
        cmocka_unit_test(the_environment_alone_is_enough),
        cmocka_unit_test(an_empty_variable_is_an_error),
        cmocka_unit_test(a_wrong_value_names_its_variable_and_not_the_file),
        cmocka_unit_test(a_rival_of_a_lower_layer_goes),
        cmocka_unit_test(the_origin_of_each_value_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
