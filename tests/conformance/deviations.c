/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/conformance/deviations.h"

#include <string.h>

#define BAD_KEY "reports a local key that is not valid as a local operation error"
#define TOO_LONG "takes a message longer than the receive for a faulty receive"

static const struct deviation deviations[] = {
    {"rxe 6.1 windows", "a_window_lends_its_range_and_no_byte_more",
     "checks the range of the region below a memory window, not the window's own", 0, 0},
    {"rxe 6.1", "a_receive_that_comes_in_time_saves_the_send",
     "lets the ACK timer run on while it waits to repeat a send after an RNR NAK", 0, 0},
    {"rxe 6.1", "a_deregistered_region_is_reached_by_nobody", BAD_KEY, FABRIC_WC_LOC_PROT_ERR,
     FABRIC_WC_LOC_QP_OP_ERR},
    {"rxe 6.1", "a_wrong_local_key_fails_here_and_nothing_leaves", BAD_KEY, FABRIC_WC_LOC_PROT_ERR,
     FABRIC_WC_LOC_QP_OP_ERR},
    {"rxe 6.1", "a_message_longer_than_the_receive_fails_at_both_ends", TOO_LONG,
     FABRIC_WC_REM_INV_REQ_ERR, FABRIC_WC_REM_OP_ERR},
    {"rxe 6.1", "a_message_longer_than_the_receive_fails_at_both_ends", TOO_LONG,
     FABRIC_WC_LOC_LEN_ERR, FABRIC_WC_LOC_QP_OP_ERR},
};

const struct deviation *deviation_find(const char *driver, const char *test,
                                       enum fabric_wc_status due)
{
    for (size_t i = 0; i < sizeof(deviations) / sizeof(*deviations); i++) {
        const struct deviation *one = &deviations[i];
        if (strncmp(one->driver, driver, strlen(one->driver)) == 0 &&
            strcmp(one->test, test) == 0 && one->due == due)
            return one;
    }
    return NULL;
}
