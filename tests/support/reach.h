/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One line for each figure of a benchmark, in one form, so that a script can judge it:
 * "reach: WHAT: MEASURED UNIT / LIMIT UNIT = RATIO", where a ratio of 1 or more reaches the limit.
 */
#ifndef TESTS_SUPPORT_REACH_H
#define TESTS_SUPPORT_REACH_H

#include <stdbool.h>

enum reach_kind {
    REACH_AT_LEAST, /* more is better: measured / limit */
    REACH_AT_MOST,  /* less is better: limit / measured */
};

void reach(enum reach_kind kind, const char *what, double measured, double limit, const char *unit);

/* What is measured must have worked: otherwise says `what` and ends the program with 1. */
void reach_check(bool good, const char *what);

/* Seconds of processor time that this process has used. */
double reach_cpu_seconds(void);

#endif
