/* SPDX-License-Identifier: Apache-2.0 */
/*
 * YAML for people who make mistakes: libyaml's events become a tree in which every value knows its
 * line and column, and every refusal names the place, what was found and what is allowed. Text and
 * a label come in, a tree or a list of errors comes out; no file is touched here.
 *
 * libyaml gives no types, so each scalar is typed by the field that reads it. Refused everywhere:
 * duplicate and unknown keys, anchors, aliases, merge keys, explicit tags, a second document, TAB
 * indentation, empty values, more than 32 levels, more than 1 MiB, text that is no UTF-8.
 */
#ifndef SRC_CONFIG_YAML_H
#define SRC_CONFIG_YAML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/fabric/error.h"

#define YAML_MAX_DEPTH 32
#define YAML_MAX_BYTES (1024u * 1024u)
#define YAML_MAX_ERRORS 16
#define YAML_ERROR_TEXT 512

struct yaml_mark {
    uint32_t line, column; /* from 1; columns count characters */
};

enum yaml_kind {
    YAML_KIND_SCALAR,
    YAML_KIND_SEQUENCE,
    YAML_KIND_MAPPING,
};

struct yaml_value;
struct yaml_tree;

/* ------------------------------------------------------------------ errors */

struct yaml_error {
    struct yaml_mark mark;
    enum fabric_error error;    /* config_invalid, unless it has a name of its own */
    char text[YAML_ERROR_TEXT]; /* "FILE:LINE:COLUMN: what was found; what is allowed" */
};

/* Owned by the caller; nothing in it is allocated. */
struct yaml_errors {
    const char *label; /* the file's name as it stands before each error; borrowed */
    size_t count;      /* errors kept; later ones than YAML_MAX_ERRORS are dropped */
    struct yaml_error items[YAML_MAX_ERRORS];
};

void yaml_errors_init(struct yaml_errors *errors, const char *label);
/* Adds one error; its text gets "FILE:LINE:COLUMN: " in front. */
void yaml_complain(struct yaml_errors *errors, struct yaml_mark mark, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same with a name of its own. */
void yaml_complain_as(struct yaml_errors *errors, enum fabric_error error, struct yaml_mark mark,
                      const char *format, ...) __attribute__((format(printf, 4, 5)));

/* What all of them come to: a name of its own before config_invalid, FABRIC_OK for none. */
enum fabric_error yaml_errors_error(const struct yaml_errors *errors);

/* The same about something that stands in no file: "ABOUT: ...". */
void yaml_complain_about(struct yaml_errors *errors, const char *about, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ------------------------------------------------------------------ the tree */

/* Reads one document of `length` bytes. Null when there was an error, which is then in `errors`.
 * The caller frees the tree; `text` is copied. An empty document is an error. */
struct yaml_tree *yaml_parse(const char *text, size_t length, struct yaml_errors *errors);
void yaml_tree_free(struct yaml_tree *tree); /* null is fine */

/* All that follows lives as long as the tree. */
const struct yaml_value *yaml_root(const struct yaml_tree *tree);
enum yaml_kind yaml_kind(const struct yaml_value *value);
const char *yaml_kind_name(enum yaml_kind kind); /* "a mapping" */
struct yaml_mark yaml_mark(const struct yaml_value *value);
/* Text of a scalar, ending in NUL (a NUL inside is refused by yaml_parse). */
const char *yaml_text(const struct yaml_value *scalar);
bool yaml_is_quoted(const struct yaml_value *scalar);
/* Items of a sequence, pairs of a mapping; 0 for a scalar. */
size_t yaml_count(const struct yaml_value *value);
/* The i-th item of a sequence, or value of a mapping, in the order of the file. */
const struct yaml_value *yaml_item(const struct yaml_value *value, size_t i);
/* The i-th key of a mapping: a scalar. */
const struct yaml_value *yaml_key(const struct yaml_value *mapping, size_t i);
/* The value under `key`, null when there is none. */
const struct yaml_value *yaml_find(const struct yaml_value *mapping, const char *key);

/* A new text (the caller frees it; null without memory) that holds `value` alone, at the lines and
 * columns where it stood in its file, so that whoever parses it reports the file's positions. What
 * an edit made longer moves what follows on its line. */
char *yaml_source(const struct yaml_value *value);

/* ------------------------------------------------------------------ typed scalars */

/* Each returns true and sets *out, or complains at the value's mark and leaves *out alone. `what`
 * names the field in the complaint. Numbers: decimal digits with an optional minus sign; no
 * leading zero, underscore, plus sign, exponent or colon. */
bool yaml_read_string(const struct yaml_value *value, const char *what, size_t min_bytes,
                      size_t max_bytes, const char **out, struct yaml_errors *errors);
bool yaml_read_integer(const struct yaml_value *value, const char *what, int64_t min, int64_t max,
                       int64_t *out, struct yaml_errors *errors);
/* Hexadecimal with 0x in front, 1 to 16 digits. */
bool yaml_read_hex(const struct yaml_value *value, const char *what, uint64_t min, uint64_t max,
                   uint64_t *out, struct yaml_errors *errors);
/* Either of the two: for values that people write both ways, such as LIDs. */
bool yaml_read_number(const struct yaml_value *value, const char *what, uint64_t min, uint64_t max,
                      uint64_t *out, struct yaml_errors *errors);
/* "2 MiB": bytes; a whole number and one of KiB, MiB, GiB, or a plain number of bytes. */
bool yaml_read_size(const struct yaml_value *value, const char *what, uint64_t min, uint64_t max,
                    uint64_t *out, struct yaml_errors *errors);
/* "100 ms": nanoseconds; a whole number and one of ns, us, ms, s, m, h. */
bool yaml_read_duration(const struct yaml_value *value, const char *what, uint64_t min,
                        uint64_t max, uint64_t *out, struct yaml_errors *errors);
bool yaml_read_boolean(const struct yaml_value *value, const char *what, bool *out,
                       struct yaml_errors *errors);
/* One of `names` (the last is null): *out is its position. */
bool yaml_read_enum(const struct yaml_value *value, const char *what, const char *const *names,
                    int *out, struct yaml_errors *errors);

/* ------------------------------------------------------------------ a schema is a table */

enum yaml_type {
    YAML_TYPE_STRING,   /* const char *; min and max are bytes, max 0 = 1,024 */
    YAML_TYPE_INTEGER,  /* int64_t; min and max as numbers */
    YAML_TYPE_HEX,      /* uint64_t */
    YAML_TYPE_NUMBER,   /* uint64_t */
    YAML_TYPE_SIZE,     /* uint64_t, bytes */
    YAML_TYPE_DURATION, /* uint64_t, ns */
    YAML_TYPE_BOOLEAN,  /* bool */
    YAML_TYPE_ENUM,     /* int, a position in `names` */
    YAML_TYPE_SCALAR,   /* const struct yaml_value *, of that kind; the caller reads it */
    YAML_TYPE_SEQUENCE, /* const struct yaml_value *, of that kind */
    YAML_TYPE_MAPPING,  /* const struct yaml_value *, of that kind */
    YAML_TYPE_ANY,      /* const struct yaml_value * */
    YAML_TYPE_SECTION,  /* a mapping read by `fields` into the same structure */
};

struct yaml_field {
    const char *name; /* null ends the table */
    enum yaml_type type;
    size_t offset;                   /* of the member in the structure; unused for SECTION */
    int64_t min, max;                /* both 0: the whole range of the type */
    const char *const *names;        /* ENUM: ends in null */
    const struct yaml_field *fields; /* SECTION */
    bool required;
};

/* Reads a mapping by its table into `out`, whose members hold their defaults before. Complains
 * about every unknown key (with the nearest name), wrong type, value out of range and missing
 * required field; true when there was nothing to complain about. */
bool yaml_read_fields(const struct yaml_value *mapping, const struct yaml_field *fields, void *out,
                      struct yaml_errors *errors);

#endif
