/* SPDX-License-Identifier: Apache-2.0 */
/* The error object of the public header, made of the names of src/fabric/error.h. */
#ifndef LIB_ERROR_H
#define LIB_ERROR_H

#include "include/memkv/memkv.h"
#include "src/fabric/error.h"

/* The public number of an error, which never changes. */
int lib_error_code(enum fabric_error error);

/* Fills in `out` (may be null) and returns the public number. `detail` (may be null or empty) says
 * what was found; without one the sentence of the table stands in its place. `where` (may be null),
 * a server, goes before it. */
int lib_error_set(struct memkv_error *out, enum fabric_error error, const char *where,
                  const char *detail);

/* No error. */
int lib_error_none(struct memkv_error *out);

#endif
