/* SPDX-License-Identifier: Apache-2.0 */
#include "src/fabric/error.h"

#include <assert.h>
#include <string.h>

static const struct error_info table[ERR_COUNT] = {
    [FABRIC_OK] = {"ok", ERROR_RADIUS_NONE, "No error.", "", ""},
#define X(upper, lower, radius, text, cause, fix)                                                  \
    [ERR_##upper] = {#lower, ERROR_RADIUS_##radius, text, cause, fix},
#include "src/fabric/errors.def"
#undef X
};

static const struct error_info unknown = {
    "unknown", ERROR_RADIUS_PROCESS, "A number that names no error.",
    "A defect of this program, or a report of a newer version.", "Report it with the log."};

const struct error_info *error_info(enum fabric_error error)
{
    if ((unsigned int)error >= ERR_COUNT)
        return &unknown;
    assert(table[error].name);
    return &table[error];
}

const char *error_name(enum fabric_error error)
{
    return error_info(error)->name;
}

bool error_by_name(const char *name, enum fabric_error *out)
{
    assert(name && out);
    for (unsigned int i = 0; i < ERR_COUNT; i++) {
        if (strcmp(table[i].name, name) != 0)
            continue;
        *out = (enum fabric_error)i;
        return true;
    }
    return false;
}
