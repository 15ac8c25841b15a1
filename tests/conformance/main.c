/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The conformance suite (HA-1.7, HA-0.1, HA-1.3): what fabric.h promises, tried on one fabric. It
 * runs with every capability that the fabric has, or without the one that CONFORMANCE_OFF names; a
 * case that needs a missing one is skipped and says which. CONFORMANCE_ONLY=pattern runs the cases
 * whose names fit it.
 */
#include <stdlib.h>

#include "tests/conformance/kit.h"

int main(void)
{
    cmocka_set_test_filter(getenv("CONFORMANCE_ONLY"));
    int failed = kit_time_suite();
    failed += kit_port_suite();
    failed += kit_memory_suite();
    failed += kit_qp_suite();
    failed += kit_post_suite();
    failed += kit_rc_suite();
    failed += kit_error_suite();
    failed += kit_dc_suite();
    failed += kit_stream_suite();
    failed += kit_http_suite();
    failed += kit_storage_suite();
    failed += kit_layer_suite();
    return failed > 0;
}
