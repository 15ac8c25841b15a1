/* SPDX-License-Identifier: Apache-2.0 */
/* net show as people and machines see it: every tree, and nodes of the simulator (MK-H1, MK-L5). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabric_sim/fabric.h"
#include "src/net/show.h"
#include "tests/support/sim_bed.h"
#include "tests/support/text_sink.h"
#include "tests/support/tree_fabric.h"

#define TREES "tests/net/trees"

static int is_tree(const struct dirent *entry)
{
    char path[512];
    snprintf(path, sizeof(path), TREES "/%.200s/tree", entry->d_name);
    FILE *file = fopen(path, "r");
    if (file)
        fclose(file);
    return file != NULL;
}

/* The text behind the two lines of the head, in *text; the exit code that they tell. */
static int expected(const char *tree, const char *form, char **text)
{
    char path[512];
    int end;
    snprintf(path, sizeof(path), TREES "/%.200s/%s.expected", tree, form);
    *text = tree_slurp(path);
    char *exit = strstr(*text, "\n# exit ");
    assert_non_null(exit);
    assert_int_equal(sscanf(exit, "\n# exit %d\n", &end), 1);
    char *rest = strchr(exit + 1, '\n') + 1;
    memmove(*text, rest, strlen(rest) + 1);
    return end;
}

static void check_tree(const char *name, bool json)
{
    char path[512];
    struct text_sink sink = {0};
    struct net_output out = text_sink_output(&sink);
    struct net_show_options options = {.json = json, .pretty = true};
    snprintf(path, sizeof(path), TREES "/%.200s/tree", name);
    struct tree_fabric *tree = tree_fabric_open(path);
    char *text;
    int exit = expected(name, json ? "json" : "text", &text);
    enum cli_exit end = net_show_run(&tree->head, &options, &out, &out);
    if (strcmp(text_sink_text(&sink), text) != 0)
        fprintf(stderr, "tree %s\n", name);
    assert_string_equal(text_sink_text(&sink), text);
    assert_int_equal(end, exit);
    free(text);
    text_sink_empty(&sink);
    tree_fabric_close(tree);
}

static void check_trees(bool json)
{
    struct dirent **entries;
    int count = scandir(TREES, &entries, is_tree, alphasort);
    assert_true(count >= 12);
    for (int i = 0; i < count; i++) {
        check_tree(entries[i]->d_name, json);
        free(entries[i]);
    }
    free(entries);
}

static void every_tree_shows_its_expected_text(void **state)
{
    (void)state;
    check_trees(false);
}

static void every_tree_shows_its_expected_json(void **state)
{
    (void)state;
    check_trees(true);
}

/* ------------------------------------------------------------------ the simulator */

static void show(struct sim_bed *bed, const char *node, const struct net_show_options *options,
                 struct text_sink *sink)
{
    struct net_output out = text_sink_output(sink);
    struct sim_host *host = sim_host_find(sim_testbed_world(bed->tb), node);
    struct fabric *f = sim_fabric_create(host, FABRIC_CAPS_ALL, NULL);
    assert_int_equal(net_show_run(f, options, &out, &out), CLI_DONE);
    fabric_destroy(f);
}

static void a_simulated_port_has_the_six_lines_in_their_form(void **state)
{
    static const char first[] =
        "device            : mlx5_0  port 1\n"
        "link layer        : InfiniBand   (LID 33055)\n"
        "transport         : DC + RC (mlx5)\n"
        "pkey_index        : 0   (full membership)\n"
        "service_level     : 0   (virtual lane, via the SM's SL-to-VL map)\n"
        "path MTU          : 4096\n"
        "RDMA              : ready\n";
    const struct testbed_fault lid = {
        .word = TESTBED_LID_SET, .node = "a", .device = "mlx5_0", .port = 1, .value = 33055};
    struct net_show_options options = {.device = "mlx5_0"};
    struct text_sink sink = {0};
    struct sim_bed bed;
    (void)state;
    sim_bed_open(&bed, 1, FABRIC_CAPS_ALL);
    assert_true(sim_bed_active(&bed, "a", 0));
    assert_int_equal(sim_bed_apply(&bed, &lid), TESTBED_DONE);
    assert_true(sim_bed_active(&bed, "a", 33055));
    show(&bed, "a", &options, &sink);
    assert_int_equal(strncmp(text_sink_text(&sink), first, sizeof(first) - 1), 0);
    assert_non_null(strstr(text_sink_text(&sink), "\nBase lid          : 33055\n"));
    assert_non_null(strstr(text_sink_text(&sink), "\nP_Key violations  : 0   (--watch 5s"));
    assert_non_null(strstr(text_sink_text(&sink), "\nIPoIB interface   : ib0   (datagram mode, "
                                                  "MTU 2044, P_Key 0xffff, up)\n"));
    assert_non_null(strstr(text_sink_text(&sink), "\nIPoIB module      : ib_ipoib loaded\n"));
    assert_null(strstr(text_sink_text(&sink), "system file"));
    text_sink_empty(&sink);
    sim_bed_close(&bed);
}

static void a_simulated_port_waits_for_its_subnet_manager(void **state)
{
    struct net_show_options options = {0};
    struct text_sink sink = {0};
    struct sim_bed bed;
    (void)state;
    sim_bed_open(&bed, 1, FABRIC_CAPS_ALL);
    show(&bed, "a", &options, &sink); /* nothing has run yet */
    assert_non_null(strstr(text_sink_text(&sink), "link layer        : InfiniBand   (no LID: "));
    assert_null(strstr(text_sink_text(&sink), ": ready"));
    text_sink_empty(&sink);
    sim_bed_close(&bed);
}

static void a_simulated_roce_port_shows_its_gid(void **state)
{
    struct net_show_options options = {.json = true};
    struct text_sink sink = {0};
    struct sim_bed bed;
    (void)state;
    sim_bed_open(&bed, 1, FABRIC_CAPS_ALL);
    assert_true(sim_bed_active(&bed, "x", 0));
    show(&bed, "x", &options, &sink);
    json_t *object = json_loads(text_sink_text(&sink), 0, NULL);
    json_t *port = json_array_get(
        json_object_get(json_array_get(json_object_get(object, "devices"), 0), "ports"), 0);
    assert_string_equal(json_string_value(json_object_get(port, "link_layer")), "Ethernet");
    assert_true(json_is_true(json_object_get(port, "ready")));
    json_t *index = json_object_get(port, "gid_index");
    json_t *gid = json_array_get(json_object_get(port, "gids"), (size_t)json_integer_value(index));
    assert_string_equal(json_string_value(json_object_get(gid, "verdict")), "chosen");
    assert_true(json_integer_value(json_object_get(port, "path_mtu")) > 0);
    json_decref(object);
    text_sink_empty(&sink);
    sim_bed_close(&bed);
}

/* ------------------------------------------------------------------ --watch (MK-D6) */

static enum cli_exit watch(struct tree_fabric *tree, bool json, struct text_sink *sink)
{
    struct net_output out = text_sink_output(sink);
    struct net_show_options options = {.watch = 2 * BED_SECOND, .json = json};
    return net_show_run(&tree->head, &options, &out, &out);
}

static void watching_shows_how_the_violations_grew(void **state)
{
    struct tree_fabric *tree = tree_fabric_open(TREES "/limited/tree");
    struct text_sink sink = {0};
    (void)state;
    tree->port = (struct fabric_port_attr){
        .port_num = 1, .active_mtu = FABRIC_MTU_2048, .bad_pkey_cntr = 40};
    tree->growth = 5;
    assert_int_equal(watch(tree, false, &sink), CLI_DONE);
    assert_int_equal(tree->now, 2 * BED_SECOND);
    assert_non_null(
        strstr(text_sink_text(&sink), "\nP_Key violations  : 45   (grown by 5 while watched)\n"));
    assert_non_null(strstr(text_sink_text(&sink), "\npath MTU          : 2048   (the default"));
    assert_non_null(strstr(text_sink_text(&sink), "\ntransport         : RC (mlx5)\n"));
    text_sink_empty(&sink);
    assert_int_equal(watch(tree, true, &sink), CLI_DONE);
    assert_non_null(strstr(text_sink_text(&sink), "\"pkey_violations_growth\":5"));
    text_sink_empty(&sink);
    tree->woken = true;
    assert_int_equal(watch(tree, false, &sink), CLI_INTERRUPTED);
    assert_non_null(strstr(text_sink_text(&sink), "(--watch 5s shows growth)"));
    text_sink_empty(&sink);
    tree_fabric_close(tree);
}

static void in_virtual_time_nothing_can_be_watched(void **state)
{
    struct net_show_options options = {.watch = BED_SECOND};
    struct text_sink sink = {0};
    struct net_output out = text_sink_output(&sink);
    struct sim_bed bed;
    (void)state;
    sim_bed_open(&bed, 1, FABRIC_CAPS_ALL);
    struct sim_host *host = sim_host_find(sim_testbed_world(bed.tb), "a");
    struct fabric *f = sim_fabric_create(host, FABRIC_CAPS_ALL, NULL);
    assert_int_equal(net_show_run(f, &options, &out, &out), CLI_FABRIC);
    assert_non_null(strstr(text_sink_text(&sink), "not_supported: virtual time"));
    text_sink_empty(&sink);
    fabric_destroy(f);
    sim_bed_close(&bed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_tree_shows_its_expected_text),
        cmocka_unit_test(every_tree_shows_its_expected_json),
        cmocka_unit_test(a_simulated_port_has_the_six_lines_in_their_form),
        cmocka_unit_test(a_simulated_port_waits_for_its_subnet_manager),
        cmocka_unit_test(a_simulated_roce_port_shows_its_gid),
        cmocka_unit_test(watching_shows_how_the_violations_grew),
        cmocka_unit_test(in_virtual_time_nothing_can_be_watched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
