/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is told about a run: one JSON object a scenario, and the text that people read made of it.
 */
#ifndef SRC_SCENARIO_REPORT_H
#define SRC_SCENARIO_REPORT_H

#include "src/scenario/runner.h"

/* The object about one run; the caller owns it. `wall` is in nanoseconds, 0 when unknown. */
json_t *report_run(const struct scenario *scenario, const char *fabric,
                   const struct scenario_result *result, uint64_t wall);
/* The same for a case that was only read; and for one that could not be. */
json_t *report_valid(const struct scenario *scenario);
json_t *report_invalid(const char *file, const char *cell, const struct yaml_errors *errors);

/* And for one that ran in a process that never told what came of it. */
json_t *report_broken(const char *file, const char *cell, const char *fabric, const char *reason);

/* "passed", "failed", "skipped", "broken", "interrupted", "invalid". */
const char *report_status(const json_t *report);

struct report_style {
    bool color;
    unsigned columns; /* 0: as long as it gets */
};

/* Adds what a person should read about one scenario: a line, and what went wrong below it. */
void report_text(const json_t *report, const struct report_style *style, struct text *out);

#endif
