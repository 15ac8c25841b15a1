/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "tests/support/hca_world.h"

static void queries_show_the_port_and_the_device(void **state)
{
    (void)state;
    struct hca_world_init init = {.seed = 1};
    struct hca_world *w = hca_world_create(&init);
    struct hca *hca = w->host[0].hca;
    struct fabric_device_attr device;
    hca_device_query(hca, &device);
    assert_string_equal(device.name, "mlx5_0");
    assert_string_equal(device.driver, "mlx5");
    assert_int_equal(device.num_ports, 1);
    assert_true(device.caps & FABRIC_CAP_DC);
    assert_int_equal(device.node_guid, 0x1000);
    assert_int_equal(device.sys_image_guid, 0x1000);
    struct fabric_port_attr port;
    assert_int_equal(hca_port_query(hca, 1, &port), FABRIC_OK);
    assert_int_equal(port.lid, 10);
    assert_int_equal(port.state, FABRIC_PORT_ACTIVE);
    assert_int_equal(port.active_mtu, FABRIC_MTU_4096);
    assert_int_equal(port.pkey_tbl_len, 128);
    assert_int_equal(hca_port_query(hca, 0, &port), ERR_INVALID_ARGUMENT);
    assert_int_equal(hca_port_query(hca, 2, &port), ERR_INVALID_ARGUMENT);
    uint16_t pkey;
    assert_int_equal(hca_pkey_query(hca, 1, 0, &pkey), FABRIC_OK);
    assert_int_equal(pkey, 0xffff);
    assert_int_equal(hca_pkey_query(hca, 1, 128, &pkey), ERR_PKEY_INDEX_RANGE);
    assert_int_equal(hca_pkey_query(hca, 3, 0, &pkey), ERR_INVALID_ARGUMENT);
    struct fabric_gid_entry gid;
    assert_int_equal(hca_gid_query(hca, 1, 0, &gid), FABRIC_OK);
    assert_int_equal(gid.gid.raw[15], 10);
    assert_int_equal(hca_gid_query(hca, 1, 1, &gid), ERR_NOT_FOUND);
    assert_int_equal(hca_gid_query(hca, 1, 32, &gid), ERR_NOT_FOUND);
    struct fabric_port_counters counters;
    assert_int_equal(hca_counters_query(hca, 1, &counters), FABRIC_OK);
    assert_int_equal(hca_counters_query(hca, 9, &counters), ERR_INVALID_ARGUMENT);
    assert_string_equal(hca_name(hca), "mlx5_0");
    assert_ptr_equal(hca_node(hca), w->host[0].node);
    hca_world_destroy(w);
}

static void capabilities_can_be_taken_away(void **state)
{
    (void)state;
    struct hca_world_init init = {.without = FABRIC_CAP_DC | FABRIC_CAP_SLID_CHECK, .seed = 1};
    struct hca_world *w = hca_world_create(&init);
    assert_int_equal(hca_caps(w->host[0].hca) & (FABRIC_CAP_DC | FABRIC_CAP_SLID_CHECK), 0);
    assert_true(hca_caps(w->host[0].hca) & FABRIC_CAP_RC);
    hca_world_destroy(w);
}

static void profiles_are_found_by_name(void **state)
{
    (void)state;
    static const char *const names[] = {"mlx5", "mlx5-nodc", "strict", "lax", "rxe"};
    assert_int_equal(hca_profile_count(), 5);
    for (size_t i = 0; i < 5; i++) {
        assert_non_null(hca_profile_find(names[i]));
        assert_string_equal(hca_profile_at(i)->name, names[i]);
    }
    assert_null(hca_profile_find("mlx4"));
    assert_int_equal(hca_profile_find("rxe")->pkey_count, 1);
    assert_int_equal(hca_profile_find("rxe")->caps & FABRIC_CAP_PKEY, 0);
}

/* A device can go in the middle of everything and its node's port keeps its attributes. */
static void a_device_goes_with_work_under_way(void **state)
{
    (void)state;
    for (uint64_t after = 0; after < 40000; after += 5000) {
        struct hca_pair p = hca_pair_connected(NULL);
        struct hca_host *h = &p.w->host[1];
        hca_mw mw;
        uint32_t rkey;
        assert_int_equal(
            hca_mw_open(h->hca, h->mr, HCA_WORLD_IOVA, 64, HCA_ACCESS_REMOTE_READ, 0, &mw, &rkey),
            FABRIC_OK);
        hca_mw_revoke(h->hca, mw);
        hca_world_send(p.w, 0, p.qp[0], HCA_WR_RDMA_WRITE, 0, 1u << 20, 1);
        hca_world_send(p.w, 0, p.qp[0], HCA_WR_RDMA_READ, 0, 1u << 20, 2);
        hca_world_send(p.w, 1, p.qp[1], HCA_WR_RDMA_READ, 0, 1u << 20, 3);
        hca_world_run(p.w, after);
        hca_destroy(h->hca);
        assert_int_equal(hca_world_port(p.w, 1)->lid, 11);
        memset(h->memory, 0, HCA_WORLD_MEMORY);
        hca_world_run(p.w, 100 * MS);
        struct hca_init init = {.node = h->node,
                                .name = "mlx5_0",
                                .profile = hca_profile_find("mlx5"),
                                .caps = FABRIC_CAPS_ALL};
        h->hca = hca_create(p.w->net, &init);
        hca_world_run(p.w, SECOND);
        assert_int_equal(p.w->host[0].wcs[0].status, FABRIC_WC_RETRY_EXC_ERR);
        assert_true(hca_memory(h->hca) < 64 * 1024);
        hca_world_destroy(p.w);
    }
}

/* Also with packets on their way to its own port and with a CQ that has just overrun. */
static void a_device_goes_with_events_of_its_own_due(void **state)
{
    (void)state;
    struct hca_pair p = hca_pair_make(NULL, 0, 1);
    struct hca_host *h = &p.w->host[0];
    struct hca_qp_attr attr = hca_world_attr(p.w, 0, 0);
    hca_set_notify(h->hca, NULL);
    assert_int_equal(hca_cq_create(h->hca, 1, 0, &h->cq), FABRIC_OK);
    hca_qp qp = hca_world_qp(p.w, 0, HCA_QP_RC);
    attr.dest_qp_num = hca_world_number(p.w, 0, qp);
    attr.rq_psn = attr.sq_psn;
    assert_int_equal(hca_world_bring_up(p.w, 0, qp, HCA_QP_RC, &attr), FABRIC_OK);
    for (int i = 0; i < 4; i++) {
        struct hca_sge sge = hca_world_sge(p.w, 0, 0, 20000);
        struct hca_send_wr wr = hca_world_wr(HCA_WR_RDMA_WRITE, &sge);
        wr.remote_addr = HCA_WORLD_IOVA + 65536;
        wr.rkey = h->key;
        assert_int_equal(hca_post_send(h->hca, qp, &wr), FABRIC_OK);
    }
    hca_world_run(p.w, 100);
    struct hca_qp_attr error = {.state = FABRIC_QPS_ERR};
    assert_int_equal(hca_qp_modify(h->hca, qp, &error, HCA_QP_STATE), FABRIC_OK);
    hca_destroy(h->hca);
    hca_world_run(p.w, SECOND);
    struct hca_init init = {.node = h->node, .profile = hca_profile_find("mlx5")};
    h->hca = hca_create(p.w->net, &init);
    assert_string_equal(hca_name(h->hca), "n0");
    hca_world_destroy(p.w);
}

static void an_ethernet_port_has_one_p_key(void **state)
{
    (void)state;
    struct hca_world_init init = {.profile = "rxe", .seed = 1};
    struct hca_world *w = hca_world_create(&init);
    struct fabric_port_attr port;
    uint16_t pkey;
    assert_int_equal(hca_port_query(w->host[0].hca, 1, &port), FABRIC_OK);
    assert_int_equal(port.link_layer, FABRIC_LINK_LAYER_ETHERNET);
    assert_int_equal(port.pkey_tbl_len, 1);
    assert_int_equal(hca_pkey_query(w->host[0].hca, 1, 0, &pkey), FABRIC_OK);
    assert_int_equal(pkey, 0xffff);
    assert_int_equal(hca_pkey_query(w->host[0].hca, 1, 1, &pkey), ERR_PKEY_INDEX_RANGE);
    hca_world_destroy(w);
}

static void collect(void *context, const char *line, size_t length)
{
    char *text = context;
    if (strlen(text) + length + 2 < 1u << 16) {
        strncat(text, line, length);
        strcat(text, "\n");
    }
}

static void the_trace_tells_what_happened_and_is_the_same_twice(void **state)
{
    (void)state;
    uint64_t hashes[2], draws[2];
    for (int run = 0; run < 2; run++) {
        static char text[1u << 16];
        text[0] = 0;
        struct hca_pair p = hca_pair_make(NULL, 0, 5);
        sim_trace_start(p.w->sim, collect, text);
        hca_pair_connect(&p);
        hca_world_loss(p.w, 0, 50000);
        for (uint32_t i = 0; i < 10; i++)
            hca_world_send(p.w, 0, p.qp[0], HCA_WR_RDMA_WRITE, 0, 5000, i);
        hca_world_set_pkey(p.w, 2, 0, 0x8001);
        hca_world_run(p.w, SECOND);
        assert_non_null(strstr(text, "INIT -> RTR"));
        assert_non_null(strstr(text, "tx RC_RDMA_WRITE_FIRST slid=10 dlid=11"));
        assert_non_null(strstr(text, "rx RC_RDMA_WRITE_FIRST"));
        assert_non_null(strstr(text, "SUCCESS"));
        assert_non_null(strstr(text, "event PKEY_CHANGE port=1"));
        hashes[run] = sim_trace_hash(p.w->sim);
        draws[run] = sim_draws(p.w->sim);
        hca_world_destroy(p.w);
    }
    assert_true(hashes[0] == hashes[1]);
    assert_true(draws[0] == draws[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(queries_show_the_port_and_the_device),
        cmocka_unit_test(capabilities_can_be_taken_away),
        cmocka_unit_test(profiles_are_found_by_name),
        cmocka_unit_test(a_device_goes_with_work_under_way),
        cmocka_unit_test(a_device_goes_with_events_of_its_own_due),
        cmocka_unit_test(an_ethernet_port_has_one_p_key),
        cmocka_unit_test(the_trace_tells_what_happened_and_is_the_same_twice)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
