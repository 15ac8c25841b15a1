/* SPDX-License-Identifier: Apache-2.0 */
/* memkv net ipoib from its options to its words and its end (MK-L1 to L5). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "fabric_sim/fabric.h"
#include "src/net/ipoib.h"
#include "tests/support/sim_bed.h"
#include "tests/support/text_sink.h"
#include "tests/support/tree_fabric.h"

#define TREE(name) "tests/net/trees/" name "/tree"

static struct text_sink sink;

static enum cli_exit run(struct fabric *f, struct net_ipoib_options options)
{
    struct net_output out = text_sink_output(&sink);
    text_sink_empty(&sink);
    return net_ipoib_run(f, &options, &out, &out);
}

static bool says(const char *text)
{
    return strstr(text_sink_text(&sink), text) != NULL;
}

static void without_apply_the_plan_is_shown_in_order_and_nothing_is_touched(void **state)
{
    (void)state;
    struct tree_fabric *tree = tree_fabric_open(TREE("mlx5-infiniband"));
    struct net_ipoib_options options = {.interface = "ib0", .connected = true, .mtu = 65520};
    assert_int_equal(run(&tree->head, options), CLI_DONE);
    const char *mode = strstr(text_sink_text(&sink), "write connected to");
    const char *mtu = strstr(text_sink_text(&sink), "write 65520 to");
    assert_true(mode && mtu && mode < mtu);
    assert_true(says("to do it          : add --apply"));
    assert_true(says("hardware address  : "
                     "80:00:00:68:fe:80:00:00:00:00:00:00:ec:0d:9a:03:00:7d:7d:1a\n"));
    assert_int_equal(tree->head.calls[FABRIC_OP_SYSFILE_WRITE], 0);
    tree_fabric_close(tree);
}

static void with_apply_it_is_done_and_read_back(void **state)
{
    (void)state;
    struct tree_fabric *tree = tree_fabric_open(TREE("mlx5-infiniband"));
    struct net_ipoib_options options = {
        .interface = "ib0", .connected = true, .mtu = 65520, .apply = true};
    assert_int_equal(run(&tree->head, options), CLI_DONE);
    assert_true(says("done              : MTU 65520 was there already: not written"));
    assert_true(says("now               : connected mode, MTU 65520"));
    assert_string_equal(tree->written, "mode=connected;");
    options.json = true;
    assert_int_equal(run(&tree->head, options), CLI_DONE);
    json_t *object = json_loads(text_sink_text(&sink), 0, NULL);
    assert_true(json_is_null(json_object_get(object, "error")));
    assert_int_equal(json_integer_value(json_object_get(json_object_get(object, "after"), "mtu")),
                     65520);
    json_decref(object);
    tree_fabric_close(tree);
}

static void persist_prints_both_forms(void **state)
{
    (void)state;
    struct tree_fabric *tree = tree_fabric_open(TREE("ipoib-connected-renamed"));
    struct net_ipoib_options options = {.interface = "ibp59s0", .persist = true};
    assert_int_equal(run(&tree->head, options), CLI_DONE);
    assert_true(says("ATTR{mode}=\"connected\", ATTR{mtu}=\"65520\"\n"));
    assert_true(says("echo connected > /sys/class/net/ibp59s0/mode"));
    assert_true(says("# /etc/udev/rules.d/70-memkv-ipoib-ibp59s0.rules, the attribute form:\n"));
    assert_true(says("module            : ib_ipoib built in"));
    tree_fabric_close(tree);
}

static enum fabric_error keep(void *context, const char *path, const void *data, size_t length)
{
    if (!context)
        return ERR_ACCESS_DENIED;
    snprintf(context, 2048, "%s:%.*s", path, (int)length, (const char *)data);
    return FABRIC_OK;
}

static void persist_with_apply_installs_one_form(void **state)
{
    char kept[2048] = "";
    const struct net_installer installer = {kept, keep}, refusing = {NULL, keep};
    struct net_ipoib_options options = {.interface = "ib0", .connected = true, .persist = true};
    (void)state;
    struct tree_fabric *tree = tree_fabric_open(TREE("mlx5-infiniband"));
    options.installer = &installer;
    assert_int_equal(run(&tree->head, options), CLI_DONE);
    assert_string_equal(kept, ""); /* only printed */
    options.apply = true;
    assert_int_equal(run(&tree->head, options), CLI_DONE);
    assert_true(says("installed         : /etc/udev/rules.d/70-memkv-ipoib-ib0.rules\n"));
    assert_ptr_equal(strstr(kept, "/etc/udev/rules.d/70-memkv-ipoib-ib0.rules:# Made"), kept);
    const char *held = strstr(kept, "\nACTION==\"add\", SUBSYSTEM==\"net\"");
    assert_true(held && !strstr(held + 1, "\nACTION"));
    assert_non_null(strstr(kept, "\n# ACTION==\"add\", SUBSYSTEM==\"net\""));
    options.installer = &refusing;
    assert_int_equal(run(&tree->head, options), CLI_CONFIG);
    assert_true(says("access_denied: /etc/udev/rules.d/70-memkv-ipoib-ib0.rules could not be "
                     "written: it needs root; what --apply does is done"));
    options.json = true;
    assert_int_equal(run(&tree->head, options), CLI_CONFIG);
    assert_true(says("\"applied\":true") && says("\"name\":\"access_denied\""));
    tree_fabric_close(tree);
}

/* The name of an interface may hold nearly anything; that of a file of udev had better not. */
static void rules_go_into_a_file_of_their_own(void **state)
{
    struct ipoib_interface interface = {.name = "ib 0*%"};
    char path[NET_UDEV_PATH];
    (void)state;
    net_ipoib_rule_file(&interface, path);
    assert_string_equal(path, "/etc/udev/rules.d/70-memkv-ipoib-ib_0__.rules");
    memset(interface.name, 'x', sizeof(interface.name) - 1);
    net_ipoib_rule_file(&interface, path);
    assert_non_null(strstr(path, "xxx.rules"));
}

static void every_refusal_has_its_end_and_its_reason(void **state)
{
    static const struct {
        const char *tree;
        struct net_ipoib_options options;
        enum cli_exit end;
        const char *text;
    } cases[] = {
        {TREE("ipoib-enhanced"), {"ib0", .connected = true}, CLI_FABRIC, "not_supported"},
        {TREE("mlx5-infiniband"), {"ib0", .mtu = 65520}, CLI_USAGE, "invalid_argument"},
        {TREE("mlx5-infiniband"), {"ib0", .apply = true}, CLI_USAGE, "something to apply"},
        {TREE("mlx5-infiniband"), {"ib7", .mtu = 2044}, CLI_NOT_FOUND, "net show lists"},
        {TREE("ipoib-module-missing"), {"ib0", .mtu = 2044}, CLI_NOT_FOUND, "modprobe ib_ipoib"},
        {TREE("rxe"), {"rxe-eth0", .mtu = 2044}, CLI_FABRIC, "interface of another kind"},
        {TREE("bad-files"), {"ib0", .mtu = 2044}, CLI_CONFIG, "ib0/address cannot be used"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct tree_fabric *tree = tree_fabric_open(cases[i].tree);
        struct net_ipoib_options options = cases[i].options;
        assert_int_equal(run(&tree->head, options), cases[i].end);
        assert_true(says(cases[i].text));
        options.json = true;
        assert_int_equal(run(&tree->head, options), cases[i].end);
        tree_fabric_close(tree);
    }
}

static void without_root_it_says_so(void **state)
{
    (void)state;
    struct tree_fabric *tree = tree_fabric_open(TREE("mlx5-infiniband"));
    struct net_ipoib_options options = {.interface = "ib0", .connected = true, .apply = true};
    tree->writes_refused = true;
    assert_int_equal(run(&tree->head, options), CLI_CONFIG);
    assert_true(says("access_denied: /sys/class/net/ib0/mode does not take connected: it needs "
                     "root"));
    tree_fabric_close(tree);
}

static void it_works_on_the_files_that_the_simulator_renders(void **state)
{
    struct sim_bed bed;
    (void)state;
    sim_bed_open(&bed, 1, FABRIC_CAPS_ALL);
    assert_true(sim_bed_active(&bed, "a", 0));
    struct fabric *f =
        sim_fabric_create(sim_host_find(sim_testbed_world(bed.tb), "a"), FABRIC_CAPS_ALL, NULL);
    struct net_ipoib_options options = {.interface = "ib0", .connected = true, .apply = true};
    options.mtu = 32768;
    assert_int_equal(run(f, options), CLI_DONE);
    assert_true(says("now               : connected mode, MTU 32768"));
    struct net_ipoib_options look = {.interface = "ib0"};
    assert_int_equal(run(f, look), CLI_DONE);
    assert_true(says("mode              : connected\nMTU               : 32768\n"));
    fabric_destroy(f);
    sim_bed_close(&bed);
}

static int finish(void **state)
{
    (void)state;
    text_sink_empty(&sink);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_apply_the_plan_is_shown_in_order_and_nothing_is_touched),
        cmocka_unit_test(with_apply_it_is_done_and_read_back),
        cmocka_unit_test(persist_prints_both_forms),
        cmocka_unit_test(persist_with_apply_installs_one_form),
        cmocka_unit_test(rules_go_into_a_file_of_their_own),
        cmocka_unit_test(every_refusal_has_its_end_and_its_reason),
        cmocka_unit_test(without_root_it_says_so),
        cmocka_unit_test(it_works_on_the_files_that_the_simulator_renders),
    };
    return cmocka_run_group_tests(tests, NULL, finish);
}
