/* SPDX-License-Identifier: Apache-2.0 */
#include "src/scenario/history.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "src/fabric/planted.h"

const struct history_entry *history_add(struct history *history, const struct history_entry *entry)
{
    assert(history && entry);
    if (history->count == history->capacity) {
        history->capacity = history->capacity ? 2 * history->capacity : 64;
        history->entries = realloc(history->entries, history->capacity * sizeof *history->entries);
        if (!history->entries)
            abort();
    }
    struct history_entry *copy = &history->entries[history->count++];
    *copy = *entry;
    copy->node = arena_copy(&history->arena, entry->node ? entry->node : "");
    copy->text = arena_copy(&history->arena, entry->text ? entry->text : "");
    copy->report = entry->kind == HISTORY_REPORT ? json_loads(copy->text, 0, NULL) : NULL;
    return copy;
}

void history_free(struct history *history)
{
    assert(history);
    for (size_t i = 0; i < history->count; i++)
        json_decref(history->entries[i].report);
    free(history->entries);
    arena_free(&history->arena);
    *history = (struct history){0};
}

const char *history_level_name(enum fabric_log_level level)
{
    static const char *const names[] = {"debug", "info", "warn", "error"};
    assert((unsigned)level < 4);
    return names[level];
}

static const json_t *descend(const json_t *at, const char *name, size_t length)
{
    char key[128];
    assert(at && name);
    if (length == 0 || length >= sizeof key)
        return NULL;
    memcpy(key, name, length);
    key[length] = '\0';
    if (json_is_array(at))
        return strspn(key, "0123456789") == length ? json_array_get(at, strtoul(key, NULL, 10))
                                                   : NULL;
    return json_object_get(at, key);
}

bool history_field(const json_t *report, const char *path, struct text *out)
{
    const json_t *at = report;
    assert(path && out);
    while (at && *path) {
        size_t length = strcspn(path, ".");
        at = descend(at, path, length);
        path += length + (path[length] == '.');
    }
    if (!at)
        return false;
    if (json_is_string(at)) {
        text_add(out, "%s", json_string_value(at));
        return true;
    }
    char *dump = json_dumps(at, JSON_ENCODE_ANY | JSON_COMPACT);
    if (!dump)
        abort();
    text_add(out, "%s", dump);
    free(dump);
    return true;
}

static bool field_fits(const json_t *report, const struct scenario_field *field)
{
    struct text found = {0};
    bool fits = history_field(report, field->path, &found) &&
                scenario_value_fits(field->value, text_data(&found));
    text_free(&found);
    return fits;
}

static bool log_fits(const struct history_entry *entry, const struct scenario_match *match)
{
    assert(entry->kind == HISTORY_LOG);
    if (match->level >= 0 && (int)entry->level != match->level)
        return false;
    for (size_t i = 0; i < match->text_count; i++) {
        if (!strstr(entry->text, match->texts[i]))
            return false;
        if (PLANTED(scenario_first_text_only))
            break;
    }
    return true;
}

bool history_fits(const struct history_entry *entry, const struct scenario_match *match)
{
    assert(entry && match);
    if (match->node && strcmp(match->node, entry->node) != 0 && !PLANTED(scenario_any_node))
        return false;
    if (match->type == SCENARIO_LOG)
        return entry->kind == HISTORY_LOG && log_fits(entry, match);
    if (match->type == SCENARIO_EXIT)
        return entry->kind == HISTORY_EXIT && entry->error == match->error;
    if (entry->kind != HISTORY_REPORT || !entry->report)
        return false;
    for (size_t i = 0; i < match->field_count; i++) {
        if (!field_fits(entry->report, &match->fields[i]))
            return false;
    }
    return true;
}

size_t history_find(const struct history *history, size_t from, const struct scenario_match *match)
{
    assert(history && match);
    for (size_t i = from; i < history->count; i++) {
        if (history_fits(&history->entries[i], match))
            return i;
    }
    return SIZE_MAX;
}

void history_describe(const struct scenario_match *match, struct text *out)
{
    assert(match && out);
    if (match->type == SCENARIO_LOG) {
        text_add(out, "a log line");
        if (match->level >= 0)
            text_add(out, " at %s", history_level_name((enum fabric_log_level)match->level));
    } else {
        text_add(out, match->type == SCENARIO_EXIT ? "an exit" : "a report");
    }
    if (match->node)
        text_add(out, " of %s", match->node);
    if (match->type == SCENARIO_EXIT)
        text_add(out, " with %s", error_name(match->error));
    for (size_t i = 0; i < match->text_count; i++)
        text_add(out, "%s '%s'", i ? " and" : " with", match->texts[i]);
    for (size_t i = 0; i < match->field_count; i++)
        text_add(out, "%s %s = %s", i ? "," : " with", match->fields[i].path,
                 match->fields[i].value);
}

/* Length of the longest text that both contain. */
static size_t common_length(const char *a, const char *b)
{
    size_t best = 0;
    assert(a && b);
    for (; *a; a++) {
        for (const char *at = b; *at; at++) {
            size_t length = 0;
            while (a[length] && a[length] == at[length])
                length++;
            best = length > best ? length : best;
        }
    }
    return best;
}

/* How near an entry comes to a match it does not fit; 0: not at all. */
static size_t nearness(const struct history_entry *entry, const struct scenario_match *match)
{
    size_t score = 0, same_node = !match->node || strcmp(match->node, entry->node) == 0;
    assert(entry && match);
    if (match->type == SCENARIO_LOG && entry->kind == HISTORY_LOG) {
        for (size_t i = 0; i < match->text_count; i++) {
            size_t common = common_length(match->texts[i], entry->text);
            score += common >= 4 || common == strlen(match->texts[i]) ? 10 * common : 0;
        }
    }
    if (match->type == SCENARIO_REPORT && entry->report) {
        for (size_t i = 0; i < match->field_count; i++)
            score += field_fits(entry->report, &match->fields[i]) ? 10 : 0;
    }
    if (match->type == SCENARIO_EXIT && entry->kind == HISTORY_EXIT)
        score = 10;
    return score ? score + same_node : 0;
}

void history_line(const struct history_entry *entry, struct text *out)
{
    assert(entry && out);
    text_add_time(out, entry->time);
    text_add(out, "  %s  ", entry->node);
    if (entry->kind == HISTORY_LOG)
        text_add(out, "%s  ", history_level_name(entry->level));
    if (entry->kind == HISTORY_EXIT)
        text_add(out, "exit %s: ", error_name(entry->error));
    text_add(out, "%s", entry->text);
}

void history_nearest(const struct history *history, const struct scenario_match *match,
                     struct text *out)
{
    assert(history && match);
    size_t best = 0, at = 0;
    for (size_t i = 0; i < history->count; i++) {
        size_t score = nearness(&history->entries[i], match);
        if (score > best) {
            best = score;
            at = i;
        }
    }
    if (best)
        history_line(&history->entries[at], out);
}
