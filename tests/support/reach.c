/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/reach.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

void reach(enum reach_kind kind, const char *what, double measured, double limit, const char *unit)
{
    double ratio = kind == REACH_AT_LEAST ? measured / limit : limit / measured;
    printf("reach: %s: %.2f %s / %.2f %s = %.2f\n", what, measured, unit, limit, unit, ratio);
}

double reach_cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

void reach_check(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "benchmark: %s\n", what);
    exit(1);
}
