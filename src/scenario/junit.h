/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The results of a run in the form that machines which build software read: JUnit XML.
 */
#ifndef SRC_SCENARIO_JUNIT_H
#define SRC_SCENARIO_JUNIT_H

#include <jansson.h>
#include <stdbool.h>

#include "src/scenario/text.h"

/* Adds the document about `reports`, the objects that report.h makes, in their order; `fabric` is
 * where they ran. A case is a failure when a property broke, and an error when the harness did or
 * the file is no scenario. Characters that XML has no form for become question marks. */
void junit_text(const json_t *reports, const char *fabric, struct text *out);

#endif
