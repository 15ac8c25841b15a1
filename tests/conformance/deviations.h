/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a driver of the kernel is known to do otherwise than the contract says. A case in the table
 * says why, and expects what the driver does instead, or is skipped where that is no status; the
 * simulator and every other driver are held to the contract.
 */
#ifndef TESTS_CONFORMANCE_DEVIATIONS_H
#define TESTS_CONFORMANCE_DEVIATIONS_H

#include "src/fabric/fabric.h"

struct deviation {
    const char *driver; /* "rxe 6.1", how the bench's name for it begins */
    const char *test;   /* the case */
    const char *why;    /* what the driver does instead */
    /* The status that is due and the one that the driver gives; both 0: the case is skipped. */
    enum fabric_wc_status due, given;
};

/* Of a case that is to be skipped (`due` 0), or of a status in it. Null when the driver does as the
 * contract says. */
const struct deviation *deviation_find(const char *driver, const char *test,
                                       enum fabric_wc_status due);

#endif
