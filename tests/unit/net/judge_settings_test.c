/* SPDX-License-Identifier: Apache-2.0 */
/* Settings that a fabric ignores are named, the others explained: MK-G1 to G3, CASE-Q2, Q3, Z16. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "src/net/model.h"
#include "tests/support/tree_fabric.h"

struct bench {
    struct tree_fabric *tree;
    struct config_rdma config;
    struct net_model model;
    const struct net_port *port;
};

static void open(struct bench *b, const char *name)
{
    char path[64];
    memset(b, 0, sizeof(*b));
    snprintf(path, sizeof(path), "tests/net/trees/%s/tree", name);
    b->tree = tree_fabric_open(path);
    config_rdma_defaults(&b->config);
}

static void judge(struct bench *b)
{
    net_model_free(&b->model);
    net_model_read(&b->tree->head, &b->config, NULL, 0, &b->model);
    assert_int_equal(b->model.device_count, 1);
    b->port = &b->model.devices[0].ports[0];
}

static void done(struct bench *b)
{
    net_model_free(&b->model);
    tree_fabric_close(b->tree);
}

static bool says(const struct bench *b, const char *kind, const char *text)
{
    for (uint32_t i = 0; i < b->port->note_count; i++) {
        const struct net_note *note = &b->port->notes[i];
        if (strcmp(note->kind, kind) == 0 && strstr(note->text, text))
            return true;
    }
    return false;
}

static void infiniband_ignores_gid_index_traffic_class_and_dcb(void **state)
{
    struct bench b;
    (void)state;
    open(&b, "mlx5-infiniband");
    judge(&b);
    assert_false(says(&b, "ignored", "gid_index"));
    assert_false(says(&b, "ignored", "traffic_class"));
    assert_true(says(&b, "ignored", "DCB detection"));
    b.config.gid_index = 3;
    b.config.traffic_class = 106;
    b.config.pkey_index_set = true;
    judge(&b);
    assert_true(says(&b, "ignored", "gid_index 3"));
    assert_true(says(&b, "ignored", "traffic_class 106"));
    assert_false(says(&b, "ignored", "pkey_index"));
    done(&b);
}

static void a_service_level_on_infiniband_draws_a_notice_unless_it_is_zero(void **state)
{
    struct bench b;
    (void)state;
    open(&b, "mlx5-infiniband");
    b.config.service_level_set = true;
    judge(&b);
    assert_false(says(&b, "notice", "service_level"));
    b.config.service_level = 3;
    judge(&b);
    assert_true(says(&b, "notice", "service_level 3 selects a virtual lane"));
    assert_int_equal(b.port->service_level, 3);
    done(&b);
}

static void roce_ignores_both_ways_to_choose_a_partition(void **state)
{
    struct bench b;
    (void)state;
    open(&b, "rxe");
    judge(&b);
    assert_false(says(&b, "ignored", "pkey"));
    b.config.pkey_index_set = true;
    b.config.pkey_index = 1;
    b.config.pkey = 0x8001;
    judge(&b);
    assert_true(says(&b, "ignored", "pkey_index 1"));
    assert_true(says(&b, "ignored", "pkey 0x8001"));
    assert_false(says(&b, "ignored", "DCB"));
    assert_int_equal(b.port->error, FABRIC_OK);
    done(&b);
}

static void roce_takes_its_traffic_class_from_the_dscp_map(void **state)
{
    struct bench b;
    (void)state;
    open(&b, "mlx5-roce-bond");
    b.tree->dcb = (struct fabric_dcb){
        .known = true, .present = true, .pfc_enabled = 1 << 3, .trusts_dscp = true};
    b.tree->dcb.dscp_prio[26] = 3;
    judge(&b);
    assert_int_equal(b.port->traffic_class, 104);
    assert_true(says(&b, "notice", "traffic_class 104 (DSCP 26) gives priority 3, lossless"));
    b.config.traffic_class = 0;
    judge(&b);
    assert_true(says(&b, "notice", "gives priority 0, not lossless"));
    assert_true(says(&b, "advice", "the lossless priority is 3: traffic_class 104"));
    b.tree->dcb.trusts_dscp = false;
    judge(&b);
    assert_int_equal(b.port->service_level, 3);
    assert_true(says(&b, "notice", "service_level 3 is the priority, lossless"));
    b.tree->dcb.pfc_enabled = 0;
    judge(&b);
    assert_true(says(&b, "advice", "no priority has PFC"));
    assert_true(says(&b, "advice", "-i enp23s0f0np0")); /* the port below the bond */
    done(&b);
}

static void an_ethernet_port_of_such_an_adapter_is_told_how_to_be_turned(void **state)
{
    struct bench b;
    (void)state;
    open(&b, "mlx5-roce-bond");
    judge(&b);
    assert_true(says(&b, "advice", "mlxconfig -d 0000:17:00.0 set LINK_TYPE_P1=1"));
    done(&b);
    open(&b, "rxe");
    judge(&b);
    assert_false(says(&b, "advice", "mlxconfig"));
    done(&b);
}

static void limited_membership_and_a_waiting_port_draw_notice_and_advice(void **state)
{
    struct bench b;
    (void)state;
    open(&b, "limited");
    b.config.pkey = 0xffff;
    judge(&b);
    assert_true(says(&b, "notice", "limited membership"));
    assert_true(says(&b, "notice", "pkey 0xffff asks for full membership, found 0x7fff"));
    done(&b);
    open(&b, "no-lid");
    judge(&b);
    assert_true(says(&b, "advice", "sminfo"));
    done(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(infiniband_ignores_gid_index_traffic_class_and_dcb),
        cmocka_unit_test(a_service_level_on_infiniband_draws_a_notice_unless_it_is_zero),
        cmocka_unit_test(roce_ignores_both_ways_to_choose_a_partition),
        cmocka_unit_test(roce_takes_its_traffic_class_from_the_dscp_map),
        cmocka_unit_test(an_ethernet_port_of_such_an_adapter_is_told_how_to_be_turned),
        cmocka_unit_test(limited_membership_and_a_waiting_port_draw_notice_and_advice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
