/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading what the fabric tells of itself; docs/simfabric.md lists the members.
 */
#ifndef PROGRAMS_SIMFABRIC_REPORT_H
#define PROGRAMS_SIMFABRIC_REPORT_H

#include <jansson.h>

#include "programs/simfabric/words.h"

/* The caller's; null after a complaint, and *status is that of the command. */
json_t *report_read(const struct instance *instance, const struct words *words, int *status);
/* Says what failed, under --json as an object on stdout; returns `status`. */
int report_fail(const struct words *words, enum fabric_error error, int status, const char *format,
                ...) __attribute__((format(printf, 4, 5)));

/* A member; "" or 0 when there is none. */
const char *report_text(const json_t *of, const char *name);
long long report_number(const json_t *of, const char *name);

#endif
