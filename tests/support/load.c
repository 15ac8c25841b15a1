/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/load.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

size_t load_key(uint32_t key, char text[16])
{
    return (size_t)snprintf(text, 16, "block-%u", key);
}

void load_die(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "load: ");
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(EXIT_FAILURE);
}
