/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happened in a run: everything the testbed told and everything the runner did, in order.
 */
#ifndef SRC_SCENARIO_HISTORY_H
#define SRC_SCENARIO_HISTORY_H

#include <jansson.h>

#include "src/scenario/arena.h"
#include "src/scenario/scenario.h"
#include "src/scenario/text.h"

enum history_kind {
    HISTORY_LOG,
    HISTORY_REPORT,
    HISTORY_EXIT,
    HISTORY_ACTION, /* the runner's own doing */
};

struct history_entry {
    enum history_kind kind;
    uint64_t time; /* ns since the world began */
    const char *node, *text;
    enum fabric_log_level level;
    enum fabric_error error;
    json_t *report; /* REPORT: its text as a tree; null when it is no JSON object */
};

struct history { /* zero is empty */
    struct history_entry *entries;
    size_t count, capacity;
    struct arena arena;
};

/* Copies the strings of `entry` and reads its report. The result is valid until the next one. */
const struct history_entry *history_add(struct history *history, const struct history_entry *entry);
void history_free(struct history *history);

/* "debug", "info", "warn", "error". */
const char *history_level_name(enum fabric_log_level level);

/* The value under a path such as "rails.0.state" as text; false when there is none, or no
 * report at all. */
bool history_field(const json_t *report, const char *path, struct text *out);

bool history_fits(const struct history_entry *entry, const struct scenario_match *match);

/* The first entry from `from` on that fits, SIZE_MAX when none does. */
size_t history_find(const struct history *history, size_t from, const struct scenario_match *match);

/* What a match asks for, and the entry that came nearest to it (nothing when none did). */
void history_describe(const struct scenario_match *match, struct text *out);
void history_nearest(const struct history *history, const struct scenario_match *match,
                     struct text *out);
/* One line about an entry: "1.500 s  client  WARN  ...". */
void history_line(const struct history_entry *entry, struct text *out);

#endif
