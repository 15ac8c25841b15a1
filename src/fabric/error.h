/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every error has one name, used in code, logs, JSON, scenarios, metrics and the documentation.
 * The names stand in errors.def.
 */
#ifndef SRC_FABRIC_ERROR_H
#define SRC_FABRIC_ERROR_H

#include <stdbool.h>

/* How much is lost when the error occurs, smallest first. */
enum error_radius {
    ERROR_RADIUS_NONE,       /* no error */
    ERROR_RADIUS_OPERATION,  /* one operation */
    ERROR_RADIUS_CONNECTION, /* one connection to one peer */
    ERROR_RADIUS_RAIL,       /* one device port, towards every peer */
    ERROR_RADIUS_PROCESS,    /* the program cannot go on as asked */
};

enum fabric_error {
    FABRIC_OK = 0,
#define X(upper, lower, radius, text, cause, fix) ERR_##upper,
#include "src/fabric/errors.def"
#undef X
    ERR_COUNT
};

struct error_info {
    const char *name; /* "pkey_limited_pair"; "ok" for FABRIC_OK */
    enum error_radius radius;
    const char *text;  /* one sentence: what happened */
    const char *cause; /* the most likely cause */
    const char *fix;   /* what to do next */
};

/* Never null, also for numbers that are no error. */
const struct error_info *error_info(enum fabric_error error);
const char *error_name(enum fabric_error error);

/* Finds an error by name; false when there is none. */
bool error_by_name(const char *name, enum fabric_error *out);

#endif
