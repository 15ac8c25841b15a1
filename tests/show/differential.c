/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Both engines of the HCA over random sequences: usage `differential [FIRST] [COUNT]`. Prints the
 * first difference, or a line with what was seen. Exit 1 when they differ, or when it saw too
 * little to mean anything.
 */
#include <stdio.h>
#include <stdlib.h>

#include "src/fabric/fabric.h"
#include "tests/support/twin.h"

#define WORLD 250 /* sequences of one pair of worlds */

/* What any long run must have met. */
static const enum fabric_wc_status wanted[] = {
    FABRIC_WC_SUCCESS,       FABRIC_WC_LOC_LEN_ERR,       FABRIC_WC_LOC_PROT_ERR,
    FABRIC_WC_WR_FLUSH_ERR,  FABRIC_WC_REM_ACCESS_ERR,    FABRIC_WC_REM_INV_REQ_ERR,
    FABRIC_WC_RETRY_EXC_ERR, FABRIC_WC_RNR_RETRY_EXC_ERR,
};

int main(int argc, char **argv)
{
    static char text[TWIN_TEXT];
    uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 10) : 1000;
    uint64_t statuses[FABRIC_WC_STATUS_COUNT] = {0}, posted = 0, carried = 0, completions = 0;
    for (uint64_t at = 0; at < count; at += WORLD) {
        struct twin *twin = twin_create(first + at);
        for (uint64_t i = at; i < at + WORLD && i < count; i++)
            if (!twin_play(twin, first + i, text)) {
                printf("sequence %llu differs (world of %llu):\n%s",
                       (unsigned long long)(first + i), (unsigned long long)(first + at), text);
                return 1;
            }
        uint64_t in, by;
        twin_count(twin, &in, &by);
        posted += in;
        carried += by;
        for (int s = 0; s < FABRIC_WC_STATUS_COUNT; s++) {
            statuses[s] += twin_statuses(twin)[s];
            completions += twin_statuses(twin)[s];
        }
        twin_destroy(twin);
    }
    for (size_t i = 0; count >= 1000 && i < sizeof(wanted) / sizeof(wanted[0]); i++)
        if (!statuses[wanted[i]]) {
            printf("nothing ended as %s\n", fabric_wc_status_name(wanted[i]));
            return 1;
        }
    printf("%llu sequences, %llu requests, %llu of them whole messages, %llu completions, "
           "%llu of them errors\n",
           (unsigned long long)count, (unsigned long long)posted, (unsigned long long)carried,
           (unsigned long long)completions,
           (unsigned long long)(completions - statuses[FABRIC_WC_SUCCESS]));
    return 0;
}
