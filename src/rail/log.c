/* SPDX-License-Identifier: Apache-2.0 */
#include "src/rail/log.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

void rail_log(struct fabric *f, enum fabric_log_level level, const char *format, ...)
{
    assert(f && format);
    char line[1000];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    fabric_log(f, level, line);
}
