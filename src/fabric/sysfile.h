/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What system files say, read through the contract with a bound on every read: a missing, empty,
 * binary or huge file gives a named error and never more work than a good one.
 */
#ifndef SRC_FABRIC_SYSFILE_H
#define SRC_FABRIC_SYSFILE_H

#include "src/fabric/fabric.h"

#define SYSFILE_LINE                                                                               \
    128 /* bytes of a line with its final NUL; attributes of one value are short                   \
         */
#define SYSFILE_NAMES 8192 /* bytes of the names in one folder, each with its NUL */

/* The only line of a file, without the newline and the blanks around it, in `out` (SYSFILE_LINE
 * bytes). Errors: those of sysfile_read, too_large (the line or the path), sysfile_invalid (empty,
 * several lines, or a byte that is no printable ASCII). *out is untouched after an error. */
enum fabric_error sysfile_line(struct fabric *f, const char *path, char *out);

/* A file that holds one number: decimal, or hexadecimal with 0x. Errors: as sysfile_line,
 * sysfile_invalid also for what is no number or is above `most`. */
enum fabric_error sysfile_number(struct fabric *f, const char *path, uint64_t most, uint64_t *out);

/* The same of text: the whole of it must be the number. False, with *out untouched, otherwise. */
bool sysfile_parse(const char *text, uint64_t most, uint64_t *out);

/* Bytes in hexadecimal, two digits each with a colon between, as hardware addresses are shown:
 * exactly `count` of them. */
bool sysfile_parse_bytes(const char *text, uint8_t *out, size_t count);

/* Whether a name out of a folder can be shown and be part of a path: 1 to FABRIC_NAME_MAX - 1
 * printable ASCII characters, no blank, no slash. */
bool sysfile_name_ok(const char *name);

/* The names in a folder, one after the other, each ending in NUL: *length bytes of them in `out`
 * (SYSFILE_NAMES bytes). Errors: those of sysfile_list. */
enum fabric_error sysfile_names(struct fabric *f, const char *path, char *out, size_t *length);

/* Whether there is a folder of this path. What cannot be listed counts as there, unless it is not
 * found. */
bool sysfile_folder(struct fabric *f, const char *path);

/* The last part of the path that a symbolic link points to, in `out` (FABRIC_NAME_MAX bytes).
 * Errors: those of sysfile_link, sysfile_invalid (no name that can be shown). */
enum fabric_error sysfile_link_name(struct fabric *f, const char *path, char *out);

#endif
