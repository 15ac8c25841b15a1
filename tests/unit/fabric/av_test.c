/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "src/fabric/av.h"
#include "src/fabric/gid.h"
#include "src/fabric/pkey.h"
#include "tests/support/aborts.h"
#include "tests/support/av_ports.h"

static enum fabric_error seen_from_peer(enum fabric_error error)
{
    if (error == ERR_NO_LID)
        return ERR_PEER_NO_LID;
    return error == ERR_PEER_NO_LID ? ERR_NO_LID : error;
}

/* Builds from both ends, checks that they agree, and returns what `a` got. */
static enum fabric_error build(const struct fabric_port_address *a,
                               const struct fabric_port_address *b, struct fabric_path *out)
{
    struct fabric_path back;
    char detail[FABRIC_AV_DETAIL], back_detail[FABRIC_AV_DETAIL];
    memset(out, 0x5a, sizeof(*out));
    enum fabric_error error = fabric_av_build(a, b, out, detail);
    enum fabric_error back_error = fabric_av_build(b, a, &back, back_detail);
    if (error != ERR_NO_LID || back_error != ERR_NO_LID)
        assert_int_equal(back_error, seen_from_peer(error));
    assert_int_equal(error != FABRIC_OK, detail[0] != '\0');
    assert_int_equal(back_error != FABRIC_OK, back_detail[0] != '\0');
    if (error) {
        assert_int_equal(out->pkey_index, 0x5a5a);
        return error;
    }
    assert_int_equal(out->path_mtu, back.path_mtu);
    assert_int_equal(out->av.is_global, back.av.is_global);
    assert_int_equal(out->max_rd_atomic, back.max_dest_rd_atomic);
    assert_int_equal(out->max_dest_rd_atomic, back.max_rd_atomic);
    if (out->av.is_global) {
        assert_int_equal(out->local_gid, back.peer_gid);
        assert_int_equal(out->peer_gid, back.local_gid);
        assert_true(fabric_gid_equal(&out->av.grh.dgid, &b->gids[back.local_gid].gid));
        assert_int_equal(out->av.grh.sgid_index, a->gids[out->local_gid].index);
    }
    if (a->link_layer == FABRIC_LINK_LAYER_INFINIBAND) {
        assert_int_equal(out->av.dlid, b->lid | back.av.src_path_bits);
        assert_int_equal(back.av.dlid, a->lid | out->av.src_path_bits);
    }
    return FABRIC_OK;
}

/* MK-B2, CASE-L7, CASE-Q2: the traffic class of another network means nothing. */
static void infiniband_goes_by_lid_without_a_grh(void **state)
{
    (void)state;
    struct fabric_port_address a = av_infiniband(5), b = av_infiniband(9);
    struct fabric_path path;
    a.pkey_index = 3;
    a.sl = 2;
    a.traffic_class = 104; /* of a RoCE cluster */
    assert_int_equal(build(&a, &b, &path), FABRIC_OK);
    assert_int_equal(path.av.dlid, 9);
    assert_int_equal(path.av.sl, 2);
    assert_int_equal(path.av.src_path_bits, 0);
    assert_false(path.av.is_global);
    assert_int_equal(path.pkey_index, 3);
    assert_int_equal(path.path_mtu, FABRIC_MTU_4096);
    assert_int_equal(path.notes, FABRIC_AV_NOTE_SL_DIFFERS);
}

/* CASE-L8. */
static void the_port_number_is_the_local_one(void **state)
{
    (void)state;
    struct fabric_port_address a = av_infiniband(5), b = av_infiniband(9);
    struct fabric_path path;
    a.port_num = 2;
    assert_int_equal(build(&a, &b, &path), FABRIC_OK);
    assert_int_equal(path.av.port_num, 2);
    assert_int_equal(build(&b, &a, &path), FABRIC_OK);
    assert_int_equal(path.av.port_num, 1);
}

/* MK-B1, MK-B3. */
static void link_layers_must_be_known_and_equal(void **state)
{
    (void)state;
    struct fabric_port_address a = av_infiniband(5), b = av_roce();
    struct fabric_path path;
    av_add_gid(&b, "10.0.0.1", FABRIC_GID_TYPE_ROCE_V2, 3);
    assert_int_equal(build(&a, &b, &path), ERR_LINK_LAYER_MISMATCH);
    a.link_layer = b.link_layer = FABRIC_LINK_LAYER_UNSPECIFIED;
    assert_int_equal(build(&a, &b, &path), ERR_LINK_LAYER_MISMATCH);
}

/* MK-C2. */
static void every_lid_from_1_to_0xbfff_is_one_and_no_other(void **state)
{
    (void)state;
    static const uint32_t lids[] = {0, 1, 2, 0xbffe, 0xbfff, 0xc000, 0xfffe, 0xffff};
    for (size_t i = 0; i < sizeof(lids) / sizeof(lids[0]); i++) {
        struct fabric_port_address a = av_infiniband((uint16_t)lids[i]), b = av_infiniband(9);
        struct fabric_path path;
        bool valid = lids[i] >= 1 && lids[i] <= 0xbfff;
        assert_int_equal(build(&a, &b, &path), valid ? FABRIC_OK : ERR_NO_LID);
        assert_int_equal(build(&b, &a, &path), valid ? FABRIC_OK : ERR_PEER_NO_LID);
    }
}

static void without_any_lid_the_own_one_is_named(void **state)
{
    (void)state;
    struct fabric_port_address a = av_infiniband(0), b = av_infiniband(0);
    struct fabric_path path;
    a.state = b.state = FABRIC_PORT_INIT;
    assert_int_equal(build(&a, &b, &path), ERR_NO_LID);
}

static void port_states_are_judged_for_both_ends(void **state)
{
    (void)state;
    static const struct {
        enum fabric_port_state state;
        uint16_t lid;
        enum fabric_error error;
    } cases[] = {
        {FABRIC_PORT_DOWN, 0, ERR_PORT_DOWN},      {FABRIC_PORT_DOWN, 7, ERR_PORT_DOWN},
        {FABRIC_PORT_NOP, 7, ERR_PORT_DOWN},       {FABRIC_PORT_INIT, 0, ERR_NO_LID},
        {FABRIC_PORT_INIT, 7, ERR_WAITING_FOR_SM}, {FABRIC_PORT_ARMED, 7, ERR_WAITING_FOR_SM},
        {FABRIC_PORT_ACTIVE, 7, FABRIC_OK},        {(enum fabric_port_state)9, 7, ERR_PORT_DOWN},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fabric_port_address a = av_infiniband(cases[i].lid), b = av_infiniband(9);
        struct fabric_path path;
        a.state = cases[i].state;
        assert_int_equal(build(&a, &b, &path), cases[i].error);
        assert_int_equal(build(&b, &a, &path), seen_from_peer(cases[i].error));
    }
}

static void a_roce_port_that_is_not_active_is_down(void **state)
{
    (void)state;
    struct fabric_port_address a = av_roce(), b = av_roce();
    struct fabric_path path;
    av_add_gid(&a, "10.0.0.1", FABRIC_GID_TYPE_ROCE_V2, 3);
    av_add_gid(&b, "10.0.0.2", FABRIC_GID_TYPE_ROCE_V2, 3);
    a.state = FABRIC_PORT_INIT;
    assert_int_equal(build(&a, &b, &path), ERR_PORT_DOWN);
}

/* MK-E1, CASE-G2, CASE-G6: reachability and the way are one answer. */
static void another_subnet_is_refused_with_both_prefixes(void **state)
{
    (void)state;
    struct fabric_port_address a = av_infiniband(5), b = av_infiniband(9);
    struct fabric_path path;
    char detail[FABRIC_AV_DETAIL];
    b.subnet_prefix = UINT64_C(0xfec0000000000001);
    a.flags = b.flags = FABRIC_PORT_GRH_REQUIRED; /* a GRH would make it look routable */
    assert_int_equal(build(&a, &b, &path), ERR_SUBNET_MISMATCH);
    assert_int_equal(fabric_av_build(&a, &b, &path, detail), ERR_SUBNET_MISMATCH);
    assert_non_null(strstr(detail, "0xfe80000000000000"));
    assert_non_null(strstr(detail, "0xfec0000000000001"));
    assert_int_equal(fabric_av_build(&a, &b, &path, NULL), ERR_SUBNET_MISMATCH);
}

/* MK-D4, CASE-P4. */
static void partitions_are_judged_by_15_bits_and_membership(void **state)
{
    (void)state;
    static const struct {
        uint16_t a, b;
        enum fabric_error error;
    } cases[] = {
        {0xffff, 0xffff, FABRIC_OK},
        {0xffff, 0x7fff, FABRIC_OK},
        {0x8123, 0x0123, FABRIC_OK},
        {0x7fff, 0x7fff, ERR_PKEY_LIMITED_PAIR},
        {0x0123, 0x0123, ERR_PKEY_LIMITED_PAIR},
        {0x8001, 0x8002, ERR_PKEY_MISMATCH},
        {0x0001, 0x0002, ERR_PKEY_MISMATCH},
        {0x8001, 0xffff, ERR_PKEY_MISMATCH},
        {0x0000, 0xffff, ERR_PKEY_EMPTY},
        {0x8000, 0xffff, ERR_PKEY_EMPTY},
        {0x8000, 0x8000, ERR_PKEY_EMPTY},
        {0x0000, 0x8000, ERR_PKEY_EMPTY},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fabric_port_address a = av_infiniband(5), b = av_infiniband(9);
        struct fabric_path path;
        a.pkey = cases[i].a;
        b.pkey = cases[i].b;
        assert_int_equal(build(&a, &b, &path), cases[i].error);
        assert_int_equal(build(&b, &a, &path), cases[i].error);
    }
}

static void refused_partitions_are_named_with_both_values(void **state)
{
    (void)state;
    struct fabric_port_address a = av_infiniband(5), b = av_infiniband(9);
    struct fabric_path path;
    char detail[FABRIC_AV_DETAIL];
    a.pkey = b.pkey = 0x0123;
    assert_int_equal(fabric_av_build(&a, &b, &path, detail), ERR_PKEY_LIMITED_PAIR);
    assert_non_null(strstr(detail, "our P_Key is 0x0123"));
    assert_non_null(strstr(detail, "the peer's is 0x0123"));
    b.pkey = 0x8124;
    assert_int_equal(fabric_av_build(&a, &b, &path, detail), ERR_PKEY_MISMATCH);
    assert_non_null(strstr(detail, "0x0123"));
    assert_non_null(strstr(detail, "0x8124"));
}

/* MK-D1. */
static void on_roce_partitions_mean_nothing(void **state)
{
    (void)state;
    struct fabric_port_address a = av_roce(), b = av_roce();
    struct fabric_path path;
    av_add_gid(&a, "10.0.0.1", FABRIC_GID_TYPE_ROCE_V2, 3);
    av_add_gid(&b, "10.0.0.2", FABRIC_GID_TYPE_ROCE_V2, 3);
    a.pkey = 0;
    b.pkey = 0x7fff;
    a.pkey_index = 1; /* copied from an InfiniBand cluster */
    assert_int_equal(build(&a, &b, &path), FABRIC_OK);
    assert_int_equal(path.pkey_index, 0);
}

/* MK-F3. */
static void the_smaller_mtu_is_used_at_both_ends(void **state)
{
    (void)state;
    for (int a_mtu = FABRIC_MTU_256; a_mtu <= FABRIC_MTU_4096; a_mtu++) {
        for (int b_mtu = FABRIC_MTU_256; b_mtu <= FABRIC_MTU_4096; b_mtu++) {
            struct fabric_port_address a = av_infiniband(5), b = av_infiniband(9);
            struct fabric_path path;
            a.mtu = (enum fabric_mtu)a_mtu;
            b.active_mtu = (enum fabric_mtu)b_mtu;
            assert_int_equal(build(&a, &b, &path), FABRIC_OK);
            assert_int_equal(path.path_mtu, a_mtu < b_mtu ? a_mtu : b_mtu);
            assert_int_equal(path.notes, a_mtu == b_mtu ? 0 : FABRIC_AV_NOTE_MTU_DIFFERS);
        }
    }
}

/* MK-F1. */
static void what_is_no_mtu_is_refused(void **state)
{
    (void)state;
    static const int wrong[] = {0, 6, 255, -1};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct fabric_port_address a = av_infiniband(5), b = av_infiniband(9);
        struct fabric_path path;
        b.mtu = (enum fabric_mtu)wrong[i];
        assert_int_equal(build(&a, &b, &path), ERR_MTU_MISMATCH);
        b.mtu = FABRIC_MTU_4096;
        b.active_mtu = (enum fabric_mtu)wrong[i];
        assert_int_equal(build(&a, &b, &path), ERR_MTU_MISMATCH);
    }
}

/* CASE-Z12. */
static void read_resources_are_the_smaller_and_zero_only_where_nobody_reads(void **state)
{
    (void)state;
    static const struct {
        uint8_t a_wants, a_offers, b_wants, b_offers;
        enum fabric_error error;
        uint8_t a_to_b, b_to_a;
    } cases[] = {
        {16, 16, 16, 16, FABRIC_OK, 16, 16},
        {16, 4, 1, 8, FABRIC_OK, 8, 1},
        {16, 16, 0, 1, FABRIC_OK, 1, 0}, /* a server and a client that never READs */
        {16, 0, 0, 1, FABRIC_OK, 1, 0},
        {16, 16, 0, 0, ERR_RD_ATOMIC_NONE, 0, 0}, /* GET would work, PUT could not */
        {0, 16, 0, 16, ERR_RD_ATOMIC_NONE, 0, 0},
        {0, 0, 0, 0, ERR_RD_ATOMIC_NONE, 0, 0},
        {16, 0, 16, 16, ERR_RD_ATOMIC_NONE, 0, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fabric_port_address a = av_infiniband(5), b = av_infiniband(9);
        struct fabric_path path;
        a.max_rd_atomic = cases[i].a_wants;
        a.max_dest_rd_atomic = cases[i].a_offers;
        b.max_rd_atomic = cases[i].b_wants;
        b.max_dest_rd_atomic = cases[i].b_offers;
        assert_int_equal(build(&a, &b, &path), cases[i].error);
        if (cases[i].error)
            continue;
        assert_int_equal(path.max_rd_atomic, cases[i].a_to_b);
        assert_int_equal(path.max_dest_rd_atomic, cases[i].b_to_a);
    }
}

/* CASE-G1, CASE-Z11. */
static void either_port_that_demands_a_grh_binds_both(void **state)
{
    (void)state;
    for (int demands = 0; demands < 4; demands++) {
        struct fabric_port_address a = av_infiniband(5), b = av_infiniband(9);
        struct fabric_path path;
        a.flags = demands & 1 ? FABRIC_PORT_GRH_REQUIRED : 0;
        b.flags = demands & 2 ? FABRIC_PORT_GRH_REQUIRED : 0;
        a.traffic_class = 104;
        assert_int_equal(build(&a, &b, &path), FABRIC_OK);
        assert_int_equal(path.av.is_global, demands != 0);
        assert_int_equal(path.av.dlid, 9);
        assert_int_equal(path.notes, demands == 2 ? FABRIC_AV_NOTE_GRH_BY_PEER : 0);
        if (!demands)
            continue;
        assert_true(path.av.grh.hop_limit >= 64);
        assert_int_equal(path.av.grh.traffic_class, 0); /* means nothing here */
        assert_memory_equal(path.av.grh.dgid.raw, b.gids[0].gid.raw, 16);
    }
}

static void a_demanded_grh_needs_a_gid_at_both_ends(void **state)
{
    (void)state;
    struct fabric_port_address a = av_infiniband(5), b = av_infiniband(9);
    struct fabric_path path;
    a.flags = FABRIC_PORT_GRH_REQUIRED;
    b.gid_count = 0;
    assert_int_equal(build(&a, &b, &path), ERR_GRH_UNAVAILABLE);
    b = av_infiniband(9);
    a.gids[0].type = FABRIC_GID_TYPE_ROCE_V2;
    assert_int_equal(build(&a, &b, &path), ERR_GRH_UNAVAILABLE);
    a.flags = 0;
    assert_int_equal(build(&a, &b, &path), FABRIC_OK);
}

/* CASE-L5. */
static void path_bits_agree_at_both_ends_for_every_lmc(void **state)
{
    (void)state;
    uint32_t seen = 0;
    for (uint32_t n = 0; n < 8 * 8 * 64; n++) {
        struct fabric_port_address a = av_infiniband(0x0080), b = av_infiniband(0x1000);
        struct fabric_path path;
        a.lmc = n % 8;
        b.lmc = n / 8 % 8;
        a.port_guid = n * UINT64_C(0x9e3779b97f4a7c15);
        assert_int_equal(build(&a, &b, &path), FABRIC_OK);
        assert_true(path.av.src_path_bits < 1u << a.lmc);
        assert_true(path.av.dlid >= b.lid && path.av.dlid < b.lid + (1u << b.lmc));
        seen |= 1u << (path.av.dlid & 31);
    }
    assert_int_equal(seen, UINT32_MAX); /* every path is chosen by somebody */
}

static void a_lid_range_must_fit_below_0xc000(void **state)
{
    (void)state;
    struct fabric_port_address a = av_infiniband(0xbff8), b = av_infiniband(9);
    struct fabric_path path;
    a.lmc = 3;
    assert_int_equal(build(&a, &b, &path), FABRIC_OK);
    a.lmc = 8;
    assert_int_equal(build(&a, &b, &path), ERR_NO_LID);
    a = av_infiniband(1);
    a.lmc = 1; /* 1 is no base of a range of two: the base is 0 */
    assert_int_equal(build(&a, &b, &path), ERR_NO_LID);
}

/* MK-B2, CASE-G7, CASE-I6. */
static void roce_goes_by_a_pair_of_gids(void **state)
{
    (void)state;
    struct fabric_port_address a = av_roce(), b = av_roce();
    struct fabric_path path;
    av_add_gid(&a, "fe80::1", FABRIC_GID_TYPE_ROCE_V2, 1);
    av_add_gid(&a, "10.0.0.1", FABRIC_GID_TYPE_ROCE_V1, 2);
    av_add_gid(&a, "10.0.0.1", FABRIC_GID_TYPE_ROCE_V2, 6);
    av_add_gid(&b, "10.0.0.2", FABRIC_GID_TYPE_ROCE_V2, 3);
    av_add_gid(&b, "fe80::2", FABRIC_GID_TYPE_ROCE_V2, 1);
    a.traffic_class = 104;
    a.sl = b.sl = 3;
    assert_int_equal(build(&a, &b, &path), FABRIC_OK);
    assert_true(path.av.is_global);
    assert_int_equal(path.av.dlid, 0);
    assert_int_equal(path.av.sl, 3);
    assert_int_equal(path.av.grh.sgid_index, 6);
    assert_int_equal(path.av.grh.traffic_class, 104);
    assert_true(path.av.grh.hop_limit >= 64);
    assert_memory_equal(path.av.grh.dgid.raw, b.gids[0].gid.raw, 16);
}

/* CASE-I2. */
static void only_roce_v2_counts(void **state)
{
    (void)state;
    struct fabric_port_address a = av_roce(), b = av_roce();
    struct fabric_path path;
    av_add_gid(&a, "10.0.0.1", FABRIC_GID_TYPE_ROCE_V1, 0);
    av_add_gid(&b, "10.0.0.2", FABRIC_GID_TYPE_ROCE_V2, 1);
    assert_int_equal(build(&a, &b, &path), ERR_GID_NONE);
}

static void gids_without_a_pair_are_refused_by_name(void **state)
{
    (void)state;
    struct fabric_port_address a = av_roce(), b = av_roce();
    struct fabric_path path;
    av_add_gid(&a, "10.0.0.1", FABRIC_GID_TYPE_ROCE_V2, 0);
    av_add_gid(&b, "2001:db8::2", FABRIC_GID_TYPE_ROCE_V2, 1);
    assert_int_equal(build(&a, &b, &path), ERR_GID_FAMILY_MISMATCH);
    b.gid_count = 0;
    assert_int_equal(build(&a, &b, &path), ERR_GID_NONE);
}

static uint32_t draw(uint64_t *seed, uint32_t below)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*seed >> 33) % below;
}

static struct fabric_port_address draw_port(uint64_t *seed)
{
    static const char *const gids[] = {"10.0.0.1", "10.0.0.2",    "10.1.0.1",    "169.254.0.1",
                                       "fe80::1",  "2001:db8::1", "2001:db8::2", "fd00::1"};
    static const uint16_t pkeys[] = {0xffff, 0x7fff, 0x8001, 0x0001, 0x8000, 0xffff, 0xffff};
    struct fabric_port_address port = av_infiniband((uint16_t)(draw(seed, 16) * 0x800 + 0x80));
    port.link_layer = (enum fabric_link_layer)(1 + draw(seed, 2));
    port.state = draw(seed, 4) ? FABRIC_PORT_ACTIVE : (enum fabric_port_state)draw(seed, 5);
    port.lid = draw(seed, 8) ? port.lid : 0;
    port.lmc = (uint8_t)draw(seed, 8);
    port.pkey = pkeys[draw(seed, 7)];
    port.mtu = (enum fabric_mtu)(draw(seed, 16) ? 1 + draw(seed, 5) : 0);
    port.active_mtu = (enum fabric_mtu)(1 + draw(seed, 5));
    port.flags = draw(seed, 2);
    port.max_rd_atomic = (uint8_t)draw(seed, 4);
    port.max_dest_rd_atomic = (uint8_t)draw(seed, 4);
    port.subnet_prefix += draw(seed, 8) == 0;
    if (port.link_layer == FABRIC_LINK_LAYER_ETHERNET) {
        port.gid_count = 0;
        for (uint32_t n = draw(seed, 5); n > 0; n--)
            av_add_gid(&port, gids[draw(seed, 8)],
                       draw(seed, 6) ? FABRIC_GID_TYPE_ROCE_V2 : FABRIC_GID_TYPE_ROCE_V1,
                       (uint8_t)draw(seed, 20));
    }
    return port;
}

/* Duplicate GIDs in one list are two entries of one address: which is taken matters to nobody. */
static bool has_duplicates(const struct fabric_port_address *port)
{
    for (uint8_t i = 0; i < port->gid_count; i++) {
        for (uint8_t j = 0; j < i; j++) {
            if (fabric_gid_equal(&port->gids[i].gid, &port->gids[j].gid))
                return true;
        }
    }
    return false;
}

/* MK-B3, CASE-G3: the reverse path comes from the same builder. */
static void both_ends_agree_on_any_two_ports(void **state)
{
    (void)state;
    uint64_t seed = 1;
    size_t built = 0, refused[ERR_COUNT] = {0};
    for (size_t i = 0; i < 100000; i++) {
        struct fabric_port_address a = draw_port(&seed), b = draw_port(&seed);
        struct fabric_path path;
        if (has_duplicates(&a) || has_duplicates(&b))
            continue;
        enum fabric_error error = build(&a, &b, &path);
        built += error == FABRIC_OK;
        refused[error]++;
    }
    assert_true(built > 1000);
    assert_true(refused[ERR_SUBNET_MISMATCH] && refused[ERR_PKEY_LIMITED_PAIR] &&
                refused[ERR_GID_FAMILY_MISMATCH] && refused[ERR_GID_NONE] &&
                refused[ERR_PEER_NO_LID] && refused[ERR_WAITING_FOR_SM] && refused[ERR_PORT_DOWN] &&
                refused[ERR_RD_ATOMIC_NONE] && refused[ERR_MTU_MISMATCH]);
}

static void too_many_gids(void *context)
{
    struct fabric_port_address a = av_roce(), b = av_roce();
    struct fabric_path path;
    (void)context;
    b.gid_count = FABRIC_AV_MAX_GIDS + 1;
    fabric_av_build(&a, &b, &path, NULL);
}

static void no_local_port(void *context)
{
    struct fabric_port_address a = av_infiniband(5), b = av_infiniband(9);
    struct fabric_path path;
    (void)context;
    a.port_num = 0;
    fabric_av_build(&a, &b, &path, NULL);
}

static void nonsense_from_the_caller_aborts(void **state)
{
    (void)state;
    assert_true(aborts(too_many_gids, NULL));
    assert_true(aborts(no_local_port, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(infiniband_goes_by_lid_without_a_grh),
        cmocka_unit_test(the_port_number_is_the_local_one),
        cmocka_unit_test(link_layers_must_be_known_and_equal),
        cmocka_unit_test(every_lid_from_1_to_0xbfff_is_one_and_no_other),
        cmocka_unit_test(without_any_lid_the_own_one_is_named),
        cmocka_unit_test(port_states_are_judged_for_both_ends),
        cmocka_unit_test(a_roce_port_that_is_not_active_is_down),
        cmocka_unit_test(another_subnet_is_refused_with_both_prefixes),
        cmocka_unit_test(partitions_are_judged_by_15_bits_and_membership),
        cmocka_unit_test(refused_partitions_are_named_with_both_values),
        cmocka_unit_test(on_roce_partitions_mean_nothing),
        cmocka_unit_test(the_smaller_mtu_is_used_at_both_ends),
        cmocka_unit_test(what_is_no_mtu_is_refused),
        cmocka_unit_test(read_resources_are_the_smaller_and_zero_only_where_nobody_reads),
        cmocka_unit_test(either_port_that_demands_a_grh_binds_both),
        cmocka_unit_test(a_demanded_grh_needs_a_gid_at_both_ends),
        cmocka_unit_test(path_bits_agree_at_both_ends_for_every_lmc),
        cmocka_unit_test(a_lid_range_must_fit_below_0xc000),
        cmocka_unit_test(roce_goes_by_a_pair_of_gids),
        cmocka_unit_test(only_roce_v2_counts),
        cmocka_unit_test(gids_without_a_pair_are_refused_by_name),
        cmocka_unit_test(both_ends_agree_on_any_two_ports),
        cmocka_unit_test(nonsense_from_the_caller_aborts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
