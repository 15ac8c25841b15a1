/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/conformance/deviations.h"

#include <stddef.h>
#include <string.h>

static const struct deviation deviations[] = {
    {"rxe 6.1", "a_window_lends_its_range_and_no_byte_more",
     "checks the range of the region below a memory window, not the window's own"},
};

const struct deviation *deviation_find(const char *driver, const char *test)
{
    for (size_t i = 0; i < sizeof(deviations) / sizeof(*deviations); i++) {
        if (strcmp(deviations[i].driver, driver) == 0 && strcmp(deviations[i].test, test) == 0)
            return &deviations[i];
    }
    return NULL;
}
