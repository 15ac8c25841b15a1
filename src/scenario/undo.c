/* SPDX-License-Identifier: Apache-2.0 */
#include "src/scenario/undo.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/fabric/planted.h"
#include "src/scenario/text.h"

#define JOURNAL (1u << 20) /* bytes of a journal, at most */

/* What others may write to is not run. */
static bool is_ours(const struct remote_host *host, const char *path)
{
    char folder[UNDO_PATH];
    const char *slash = strrchr(path, '/');
    assert(slash);
    snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
    return host->folder(host->context, folder);
}

void undo_open(struct undo *undo, const struct remote_host *host, const char *path)
{
    char *text = malloc(JOURNAL), *rest = text;
    assert(undo && host && path && text);
    *undo = (struct undo){.host = host, .lines = json_array()};
    snprintf(undo->path, sizeof undo->path, "%s", path);
    if (!host->read(host->context, path, text, JOURNAL) || !is_ours(host, path))
        text[0] = '\0';
    for (char *line; (line = strtok_r(rest, "\n", &rest));) {
        json_t *commands = json_loads(line, 0, NULL);
        if (json_is_array(commands))
            json_array_append(undo->lines, commands);
        json_decref(commands);
    }
    free(text);
}

void undo_free(struct undo *undo)
{
    assert(undo);
    json_decref(undo->lines);
    undo->lines = NULL;
}

size_t undo_count(const struct undo *undo)
{
    assert(undo->lines);
    return json_array_size(undo->lines);
}

/* "{read:PATH}" is replaced by the first word of the file; null when there is none. */
static json_t *read_places(const struct remote_host *host, const char *word)
{
    bool all = true;
    char path[UNDO_PATH], content[128];
    struct text out = {0};
    const char *begin;
    while ((begin = strstr(word, "{read:"))) {
        size_t length = strcspn(begin + 6, "}");
        text_add_bytes(&out, word, (size_t)(begin - word));
        snprintf(path, sizeof path, "%.*s", (int)length, begin + 6);
        bool there = host->read(host->context, path, content, sizeof content) && content[0];
        if (there)
            text_add(&out, "%.*s", (int)strcspn(content, " \n"), content);
        all = all && (there || PLANTED(scenario_undo_reads_nothing));
        word = begin + 6 + length + (begin[6 + length] == '}');
    }
    text_add(&out, "%s", word);
    json_t *made = all ? text_string(text_data(&out)) : NULL;
    text_free(&out);
    return made;
}

static json_t *resolve(const struct remote_host *host, const json_t *commands)
{
    json_t *made = json_array(), *command, *word;
    bool all = true;
    size_t i, j;
    json_array_foreach((json_t *)(uintptr_t)commands, i, command)
    {
        json_t *words = json_array();
        json_array_foreach(command, j, word)
        {
            const char *text = json_string_value(word);
            all = text && json_array_append_new(words, read_places(host, text)) == 0 && all;
        }
        json_array_append_new(made, words);
    }
    if (all)
        return made;
    json_decref(made);
    return NULL;
}

static bool is_there(const struct undo *undo, const json_t *commands)
{
    size_t i;
    json_t *line;
    json_array_foreach(undo->lines, i, line)
    {
        if (json_equal(line, commands))
            return true;
    }
    return false;
}

bool undo_push(struct undo *undo, const json_t *commands)
{
    assert(undo->lines && commands);
    if (json_array_size(commands) == 0)
        return true;
    json_t *resolved = resolve(undo->host, commands);
    char *line = resolved ? json_dumps(resolved, JSON_COMPACT) : NULL;
    bool written = line && (is_there(undo, resolved) || PLANTED(scenario_undo_not_on_disk) ||
                            undo->host->append(undo->host->context, undo->path, line));
    if (written && !is_there(undo, resolved))
        json_array_append(undo->lines, resolved);
    free(line);
    json_decref(resolved);
    return written;
}

static bool run_command(const struct remote_host *host, const json_t *command, char *detail)
{
    const char *words[REMOTE_WORDS] = {NULL};
    char said[160] = "";
    size_t count = json_array_size(command);
    if (count == 0 || count >= REMOTE_WORDS) {
        snprintf(detail, REMOTE_DETAIL, "a command of %zu words", count);
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        words[i] = json_string_value(json_array_get(command, i));
        if (!words[i]) {
            snprintf(detail, REMOTE_DETAIL, "a command whose word %zu is no text", i + 1);
            return false;
        }
    }
    bool may_fail = words[0][0] == '-';
    words[0] += may_fail;
    int status = host->run(host->context, words, UNDO_PATIENCE, said, sizeof said);
    if (status == 0 || may_fail)
        return true;
    struct text line = {0};
    for (size_t i = 0; i < count; i++)
        text_add(&line, "%s%s", i ? " " : "", words[i]);
    snprintf(detail, REMOTE_DETAIL, "%.80s: ended with %d: %s", text_data(&line), status, said);
    text_free(&line);
    return false;
}

bool undo_run_commands(const struct remote_host *host, const json_t *commands, char *detail)
{
    assert(host && detail);
    for (size_t i = 0; i < json_array_size(commands); i++) {
        if (!run_command(host, json_array_get(commands, i), detail))
            return false;
    }
    return true;
}

/* The file says what is left. Who is killed meanwhile leaves more in it, never less. */
static void rewrite(struct undo *undo, const json_t *left)
{
    const struct remote_host *host = undo->host;
    struct text lines = {0};
    for (size_t i = 0; i < json_array_size(left); i++) {
        char *line = json_dumps(json_array_get(left, i), JSON_COMPACT);
        text_add(&lines, "%s\n", line ? line : "[]");
        free(line);
    }
    if (json_array_size(left) == 0)
        host->remove(host->context, undo->path);
    else
        (void)host->replace(host->context, undo->path, text_data(&lines));
    text_free(&lines);
}

bool undo_all(struct undo *undo, char *detail)
{
    json_t *left = json_array();
    char why[REMOTE_DETAIL] = "";
    size_t count = json_array_size(undo->lines);
    assert(undo->lines && detail);
    for (size_t i = 0; i < count; i++) {
        size_t at = PLANTED(scenario_undo_in_order) ? i : count - 1 - i;
        json_t *commands = json_array_get(undo->lines, at);
        if (undo_run_commands(undo->host, commands, why))
            continue;
        if (json_array_size(left) == 0)
            snprintf(detail, REMOTE_DETAIL, "%s", why);
        json_array_insert(left, 0, commands);
    }
    bool done = json_array_size(left) == 0;
    if (count > 0)
        rewrite(undo, left);
    json_decref(undo->lines);
    undo->lines = left;
    return done;
}
