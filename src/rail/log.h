/* SPDX-License-Identifier: Apache-2.0 */
/* One line of log, formatted. */
#ifndef SRC_RAIL_LOG_H
#define SRC_RAIL_LOG_H

#include "src/fabric/fabric.h"

/* Cut at 999 bytes. */
void rail_log(struct fabric *f, enum fabric_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
