/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A text that grows.
 */
#ifndef SRC_SCENARIO_TEXT_H
#define SRC_SCENARIO_TEXT_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

struct text { /* zero is empty; data ends in NUL once something was added */
    char *data;
    size_t length, capacity;
};

/* Each aborts when memory is out. */
void text_add(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_add_bytes(struct text *text, const char *bytes, size_t length);
/* A time or duration as people read it: "1.500 s", "20 us", "0 s". */
void text_add_time(struct text *text, uint64_t ns);
const char *text_data(const struct text *text); /* never null */
void text_free(struct text *text);

/* A string of JSON from what programs said, which need not be UTF-8 or was cut within a character:
 * then what is no ASCII becomes '?'. The caller's. */
json_t *text_string(const char *text);

#endif
