/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a driver of the kernel is known to do otherwise than the contract says. A case that is in
 * the table is skipped there and says why; the simulator and every other driver run it.
 */
#ifndef TESTS_CONFORMANCE_DEVIATIONS_H
#define TESTS_CONFORMANCE_DEVIATIONS_H

struct deviation {
    const char *driver; /* "rxe 6.1": driver, kernel */
    const char *test;   /* the case */
    const char *why;    /* what the driver does instead */
};

/* Null when the driver does as the contract says. */
const struct deviation *deviation_find(const char *driver, const char *test);

#endif
