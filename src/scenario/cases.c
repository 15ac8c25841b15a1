/* SPDX-License-Identifier: Apache-2.0 */
#include "src/scenario/cases.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "src/fabric/planted.h"
#include "src/scenario/files.h"
#include "src/scenario/scenario.h"

static char *copy(const char *text)
{
    char *out = strdup(text);
    if (!out)
        abort();
    return out;
}

static void add(struct case_list *list, const char *file, const char *name, size_t cell)
{
    assert(list && file && name);
    if (list->count == list->capacity) {
        list->capacity = list->capacity ? 2 * list->capacity : 64;
        list->cases = realloc(list->cases, list->capacity * sizeof *list->cases);
        if (!list->cases)
            abort();
    }
    list->cases[list->count++] = (struct case_name){copy(file), copy(name), cell};
}

/* Whether "a=x b=y" has the word of `length` bytes at `word`. */
static bool has_word(const char *name, const char *word, size_t length)
{
    assert(name && length > 0);
    for (const char *at = name; *at; at += strspn(at, " ")) {
        size_t own = strcspn(at, " ");
        if (own == length && strncmp(at, word, length) == 0)
            return true;
        at += own;
    }
    return false;
}

/* The next word of a filter from *at on and its length; null at the end. */
static const char *next_word(const char **at, size_t *length)
{
    const char *word = *at + strspn(*at, " ,");
    *length = strcspn(word, " ,");
    *at = word + *length;
    return *length ? word : NULL;
}

static bool fits(const char *name, const char *filter)
{
    size_t length;
    assert(name);
    for (const char *at = filter ? filter : "", *word; (word = next_word(&at, &length));) {
        if (!has_word(name, word, length))
            return false;
    }
    return true;
}

static bool has_label(const struct case_list *list, const char *word, size_t length)
{
    for (size_t i = 0; i < list->label_count; i++) {
        if (strlen(list->labels[i]) == length && strncmp(list->labels[i], word, length) == 0)
            return true;
    }
    return false;
}

static void add_labels(struct case_list *list, const char *name)
{
    size_t length;
    for (const char *at = name, *word; (word = next_word(&at, &length));) {
        if (has_label(list, word, length))
            continue;
        list->labels = realloc(list->labels, (list->label_count + 1) * sizeof *list->labels);
        if (!list->labels || !(list->labels[list->label_count] = strndup(word, length)))
            abort();
        list->label_count++;
    }
}

bool case_list_lacks(const struct case_list *list, const char *filter, char *out)
{
    size_t length;
    assert(list && filter && out);
    for (const char *at = filter, *word; (word = next_word(&at, &length));) {
        if (has_label(list, word, length) || PLANTED(scenario_cell_unchecked))
            continue;
        size_t kept = length < CASE_WORD ? length : CASE_WORD - 1;
        memcpy(out, word, kept);
        out[kept] = '\0';
        return true;
    }
    return false;
}

static void add_file(struct case_list *list, const char *file, const char *filter)
{
    char detail[FILES_DETAIL];
    struct text content = {0};
    struct yaml_errors errors;
    struct scenario_cells cells = {0};
    assert(file);
    yaml_errors_init(&errors, file);
    bool read = file_read(file, &content, detail) &&
                scenario_read_cells(text_data(&content), content.length, &cells, &errors);
    if (!read)
        add(list, file, "", 0);
    for (size_t i = 0; i < cells.count; i++) {
        if (filter)
            add_labels(list, cells.names[i]);
        if (fits(cells.names[i], filter))
            add(list, file, cells.names[i], i);
    }
    arena_free(&cells.arena);
    text_free(&content);
}

bool case_list_add(struct case_list *list, const char *path, const char *filter, char *detail)
{
    struct file_list files = {0};
    assert(list && path && detail);
    bool done = file_list_add(&files, path, detail);
    for (size_t i = 0; i < files.count && done; i++)
        add_file(list, files.paths[i], filter);
    file_list_free(&files);
    return done;
}

static void forget(struct case_name *one)
{
    assert(one);
    free(one->file);
    free(one->name);
}

void case_list_shard(struct case_list *list, uint64_t part, uint64_t parts)
{
    size_t kept = 0;
    assert(list && part >= 1 && part <= parts);
    for (size_t i = 0; i < list->count; i++) {
        if (i % parts == part - 1 || PLANTED(scenario_shard_ignored))
            list->cases[kept++] = list->cases[i];
        else
            forget(&list->cases[i]);
    }
    list->count = kept;
}

void case_list_free(struct case_list *list)
{
    assert(list);
    for (size_t i = 0; i < list->count; i++)
        forget(&list->cases[i]);
    for (size_t i = 0; i < list->label_count; i++)
        free(list->labels[i]);
    free(list->labels);
    free(list->cases);
    *list = (struct case_list){0};
}
