/* SPDX-License-Identifier: Apache-2.0 */
/* Netlink answers about DCB (MK-G3): none of them is believed beyond its length. */
#include <string.h>

#include "fabric_hw/os/dcb.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length)
{
    struct fabric_dcb dcb = {.pfc_enabled = 77};
    void *exact = malloc(length ? length : 1); /* aligned, and with a fence behind it */
    HOLDS(exact);
    memcpy(exact, data, length);
    bool good = os_dcb_read(exact, length, &dcb);
    HOLDS(good ? dcb.known : dcb.pfc_enabled == 77);
    for (size_t i = 0; i < sizeof dcb.dscp_prio; i++)
        HOLDS(dcb.dscp_prio[i] < 8);
    for (size_t i = 0; i < sizeof dcb.ets_tc; i++)
        HOLDS(dcb.ets_tc[i] < 8);
    free(exact);
    return 0;
}
