/* SPDX-License-Identifier: Apache-2.0 */
/* Asynchronous events by device profile (HA-2.3), at a device and from the rule alone. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "fabric_sim/hca/rules.h"
#include "tests/support/hca_world.h"

/* Takes the port to `state` with whatever `change` does, and compares the events that came. */
static void expect(struct hca_world *w, const enum fabric_async_type *types, size_t count)
{
    struct hca_host *h = &w->host[0];
    assert_int_equal(h->event_count, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(h->events[i].type, types[i]);
        assert_int_equal(h->events[i].port_num, 1);
    }
    h->event_count = 0;
}

static void port_err_comes_by_profile(void **state)
{
    (void)state;
    static const enum fabric_async_type once[] = {FABRIC_ASYNC_PORT_ERR};
    static const enum fabric_async_type twice[] = {FABRIC_ASYNC_PORT_ERR, FABRIC_ASYNC_PORT_ERR};
    static const enum fabric_async_type active[] = {FABRIC_ASYNC_PORT_ACTIVE};
    static const char *const profiles[] = {"mlx5", "strict"};
    for (size_t i = 0; i < 2; i++) {
        struct hca_world_init init = {.profile = profiles[i], .seed = 1};
        struct hca_world *w = hca_world_create(&init);
        hca_world_set_state(w, 0, FABRIC_PORT_DOWN);
        hca_world_set_state(w, 0, FABRIC_PORT_INIT);
        expect(w, i ? once : twice, i ? 1 : 2);
        hca_world_set_state(w, 0, FABRIC_PORT_ARMED);
        hca_world_set_state(w, 0, FABRIC_PORT_ACTIVE);
        expect(w, active, 1);
        hca_world_destroy(w);
    }
}

static void attributes_raise_their_events(void **state)
{
    (void)state;
    struct hca_world_init init = {.seed = 1};
    struct hca_world *w = hca_world_create(&init);
    static const enum fabric_async_type lid[] = {FABRIC_ASYNC_LID_CHANGE};
    static const enum fabric_async_type pkey[] = {FABRIC_ASYNC_PKEY_CHANGE};
    static const enum fabric_async_type gid[] = {FABRIC_ASYNC_GID_CHANGE};
    static const enum fabric_async_type reregister[] = {FABRIC_ASYNC_CLIENT_REREGISTER};
    hca_world_set_lid(w, 0, 77);
    expect(w, lid, 1);
    hca_world_set_pkey(w, 0, 3, 0x8005);
    expect(w, pkey, 1);
    struct net_port *port = net_node_port(w->host[0].node, 1);
    struct port_info before = *net_port_info(port);
    net_port_info(port)->gids[1].gid.raw[0] = 0x20;
    net_port_changed(port, &before);
    expect(w, gid, 1);
    before = *net_port_info(port);
    net_port_info(port)->client_reregister = 1;
    net_port_changed(port, &before);
    expect(w, reregister, 1);
    assert_int_equal(net_port_info(port)->client_reregister, 0);
    before = *net_port_info(port);
    net_port_changed(port, &before); /* nothing changed */
    assert_int_equal(w->host[0].event_count, 0);
    hca_world_destroy(w);
}

static void sm_change_is_the_strict_devices_alone(void **state)
{
    (void)state;
    static const struct {
        const char *profile;
        fabric_caps without;
        size_t count;
    } cases[] = {{"mlx5", 0, 0}, {"strict", 0, 1}, {"strict", FABRIC_CAP_SM_CHANGE_EVENT, 0}};
    for (size_t i = 0; i < 3; i++) {
        struct hca_world_init init = {
            .profile = cases[i].profile, .without = cases[i].without, .seed = 1};
        struct hca_world *w = hca_world_create(&init);
        struct net_port *port = net_node_port(w->host[0].node, 1);
        struct port_info before = *net_port_info(port);
        net_port_info(port)->sm_lid = 9;
        net_port_changed(port, &before);
        assert_int_equal(hca_world_events(w, 0, FABRIC_ASYNC_SM_CHANGE), cases[i].count);
        assert_int_equal(w->host[0].event_count, cases[i].count);
        hca_world_destroy(w);
    }
}

/* A new prefix is a CLIENT_REREGISTER, and entry 0 of the host's table may be the old one. */
static void a_prefix_change_comes_as_client_reregister(void **state)
{
    (void)state;
    for (int stale = 0; stale < 2; stale++) {
        struct hca_world_init init = {.without = stale ? 0 : FABRIC_CAP_GID_CACHE_STALE, .seed = 1};
        struct hca_world *w = hca_world_create(&init);
        static const enum fabric_async_type reregister[] = {FABRIC_ASYNC_CLIENT_REREGISTER};
        struct net_port *port = net_node_port(w->host[0].node, 1);
        struct port_info before = *net_port_info(port);
        net_port_info(port)->gid_prefix = 0xfec0000000000001;
        net_port_info(port)->gids[0].gid.raw[1] = 0xc0;
        net_port_info(port)->gids[0].gid.raw[7] = 1;
        net_port_changed(port, &before);
        expect(w, reregister, 1);
        struct fabric_gid_entry entry;
        assert_int_equal(hca_gid_query(w->host[0].hca, 1, 0, &entry), FABRIC_OK);
        assert_int_equal(entry.gid.raw[1], stale ? 0x80 : 0xc0);
        hca_world_set_state(w, 0, FABRIC_PORT_DOWN); /* a new link renews the table */
        assert_int_equal(hca_gid_query(w->host[0].hca, 1, 0, &entry), FABRIC_OK);
        assert_int_equal(entry.gid.raw[1], 0xc0);
        hca_world_destroy(w);
    }
}

/* PORT_ERR first, ACTIVE last, the rest in every order that there is. */
static void a_link_up_has_every_order_between_port_err_and_active(void **state)
{
    (void)state;
    struct rules_event_profile profile = {.port_err_on_init = true};
    struct port_info before = {.state = FABRIC_PORT_DOWN}, after = before;
    enum fabric_async_type out[RULES_MAX_EVENTS];
    after.pkeys[0] = 0xffff;
    after.lid = 5;
    after.client_reregister = 1;
    after.state = FABRIC_PORT_ACTIVE;
    bool seen[6] = {false};
    for (uint64_t variant = 0; variant < 60; variant++) {
        size_t count = rules_port_events(&profile, &before, &after, variant, out);
        assert_int_equal(count, 4);
        assert_int_equal(out[3], FABRIC_ASYNC_PORT_ACTIVE);
        int first = out[0] == FABRIC_ASYNC_PKEY_CHANGE  ? 0
                    : out[0] == FABRIC_ASYNC_LID_CHANGE ? 1
                                                        : 2;
        seen[first * 2 + (out[1] < out[2])] = true;
    }
    for (int i = 0; i < 6; i++)
        assert_true(seen[i]);
    after.state = FABRIC_PORT_INIT;
    assert_int_equal(rules_port_events(&profile, &before, &after, 0, out), 4);
    assert_int_equal(out[0], FABRIC_ASYNC_PORT_ERR);
}

static void after_device_fatal_nothing_more_is_told(void **state)
{
    (void)state;
    struct hca_pair p = hca_pair_connected(NULL);
    struct hca_host *h = &p.w->host[0];
    hca_mw mw;
    uint32_t rkey, key;
    hca_mr mr;
    assert_int_equal(
        hca_mw_open(h->hca, h->mr, HCA_WORLD_IOVA, 64, HCA_ACCESS_REMOTE_READ, 42, &mw, &rkey),
        FABRIC_OK);
    hca_mw_revoke(h->hca, mw);
    hca_world_recv(p.w, 0, p.qp[0], 0, 64, 1);
    hca_world_send(p.w, 0, p.qp[0], HCA_WR_RDMA_WRITE, 0, 64, 2);
    hca_remove(h->hca);
    assert_int_equal(h->wc_count, 2);
    assert_int_equal(h->wcs[0].status, FABRIC_WC_WR_FLUSH_ERR);
    assert_int_equal(h->event_count, 2);
    assert_int_equal(h->events[0].kind, HCA_EVENT_MW_REVOKED);
    assert_int_equal(h->events[0].context, 42);
    assert_int_equal(h->events[1].type, FABRIC_ASYNC_DEVICE_FATAL);
    hca_world_set_lid(p.w, 0, 90);
    hca_world_set_state(p.w, 0, FABRIC_PORT_DOWN);
    assert_int_equal(h->event_count, 2);
    assert_true(hca_is_removed(h->hca));
    struct fabric_port_attr attr;
    assert_int_equal(hca_port_query(h->hca, 1, &attr), ERR_DEVICE_REMOVED);
    assert_int_equal(hca_mr_register(h->hca, h->pd, h->memory, 4096, 0, 0, 0, &mr, &key),
                     ERR_DEVICE_REMOVED);
    assert_int_equal(hca_world_send(p.w, 0, p.qp[0], HCA_WR_RDMA_WRITE, 0, 64, 2),
                     ERR_DEVICE_REMOVED);
    hca_remove(h->hca);
    assert_int_equal(h->event_count, 2);
    hca_world_destroy(p.w);
}

static void an_event_names_its_port(void **state)
{
    (void)state;
    struct sim *sim = sim_create(1);
    struct net *net = net_create(sim);
    struct net_node *node = net_add_node(net, NET_HCA, "dual", 1, 2);
    struct hca_init init = {.node = node,
                            .name = "mlx5_0",
                            .profile = hca_profile_find("mlx5"),
                            .caps = FABRIC_CAPS_ALL};
    struct hca *hca = hca_create(net, &init);
    struct net_port *port = net_node_port(node, 2);
    struct port_info before = *net_port_info(port);
    net_port_info(port)->lid = 3;
    net_port_changed(port, &before);
    struct hca_event event;
    assert_true(hca_event_poll(hca, &event));
    assert_int_equal(event.port_num, 2);
    assert_false(hca_event_poll(hca, &event));
    hca_destroy(hca);
    net_destroy(net);
    sim_destroy(sim);
}

static void a_gid_that_changes_along_with_the_prefix_is_told(void **state)
{
    (void)state;
    struct hca_world_init init = {.seed = 1};
    struct hca_world *w = hca_world_create(&init);
    struct net_port *port = net_node_port(w->host[0].node, 1);
    struct port_info before = *net_port_info(port), *info = net_port_info(port);
    info->gid_prefix = 0xfe80000000000007;
    info->gids[0].gid.raw[7] = 7;
    info->gids[1].gid = (union fabric_gid){{0x20, 0x01, [15] = 1}};
    net_port_changed(port, &before);
    assert_int_equal(hca_world_events(w, 0, FABRIC_ASYNC_CLIENT_REREGISTER), 1);
    assert_int_equal(hca_world_events(w, 0, FABRIC_ASYNC_GID_CHANGE), 1);
    hca_world_destroy(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(port_err_comes_by_profile),
        cmocka_unit_test(attributes_raise_their_events),
        cmocka_unit_test(sm_change_is_the_strict_devices_alone),
        cmocka_unit_test(a_prefix_change_comes_as_client_reregister),
        cmocka_unit_test(a_link_up_has_every_order_between_port_err_and_active),
        cmocka_unit_test(after_device_fatal_nothing_more_is_told),
        cmocka_unit_test(an_event_names_its_port),
        cmocka_unit_test(a_gid_that_changes_along_with_the_prefix_is_told)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
