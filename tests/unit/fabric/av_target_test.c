/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/support/av_ports.h"

/* CASE-G4, CASE-G7: a DC target has no peer, but answers by the rules of its port. */
static void a_target_answers_as_its_port_demands(void **state)
{
    (void)state;
    struct fabric_port_address ib = av_infiniband(5), lan = av_roce();
    struct fabric_av av = {.dlid = 77};
    uint8_t gid = 99;
    ib.sl = lan.sl = 3;
    ib.traffic_class = lan.traffic_class = 104;
    assert_int_equal(fabric_av_target(&ib, &gid, &av), FABRIC_OK);
    assert_false(av.is_global);
    assert_int_equal(gid, FABRIC_AV_MAX_GIDS);
    assert_int_equal(av.sl, 3);
    ib.flags = FABRIC_PORT_GRH_REQUIRED;
    assert_int_equal(fabric_av_target(&ib, &gid, &av), FABRIC_OK);
    assert_true(av.is_global);
    assert_int_equal(gid, 0);
    assert_int_equal(av.grh.traffic_class, 0);
    ib.gid_count = 0;
    assert_int_equal(fabric_av_target(&ib, &gid, &av), ERR_GRH_UNAVAILABLE);
    av_add_gid(&lan, "10.0.0.1", FABRIC_GID_TYPE_ROCE_V1, 2);
    assert_int_equal(fabric_av_target(&lan, &gid, &av), ERR_GID_NONE);
    assert_int_equal(gid, 0);
    av_add_gid(&lan, "10.0.0.1", FABRIC_GID_TYPE_ROCE_V2, 6);
    assert_int_equal(fabric_av_target(&lan, &gid, &av), FABRIC_OK);
    assert_true(av.is_global);
    assert_int_equal(gid, 1);
    assert_int_equal(av.grh.sgid_index, 6);
    assert_int_equal(av.grh.traffic_class, 104);
    assert_true(av.grh.hop_limit >= 64);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_target_answers_as_its_port_demands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
