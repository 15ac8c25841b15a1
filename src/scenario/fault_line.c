/* SPDX-License-Identifier: Apache-2.0 */
#include "src/scenario/fault_line.h"

#include <assert.h>
#include <ctype.h>
#include <stdarg.h>
#include <string.h>

#include "src/config/nearest.h"
#include "src/fabric/planted.h"
#include "src/scenario/scenario_reader.h"
#include "src/scenario/text.h"

static bool complain(struct fault_complaint *out, size_t word, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static bool complain(struct fault_complaint *out, size_t word, const char *format, ...)
{
    va_list values;
    out->word = word;
    out->column = 0;
    va_start(values, format);
    vsnprintf(out->text, sizeof out->text, format, values);
    va_end(values);
    return false;
}

static bool unknown_word(const char *found, struct fault_complaint *complaint)
{
    const char *names[TESTBED_WORD_COUNT];
    for (size_t i = 0; i < TESTBED_WORD_COUNT; i++)
        names[i] = fault_words[i].name;
    const char *near = nearest_name(found, names, TESTBED_WORD_COUNT);
    return complain(complaint, 0, "there is no fault word '%.60s'%s%s", found,
                    near ? "; did you mean " : "", near ? near : "");
}

/* What a value without a name is: the next field that is required, or the first one of all. */
static const struct word_field *next_field(const struct fault_word *word, size_t *at)
{
    while (*at < WORD_MAX_FIELDS && word->fields[*at].name) {
        const struct word_field *field = &word->fields[(*at)++];
        if (field->required || field == word->fields)
            return field;
    }
    return NULL;
}

static size_t name_length(const char *word)
{
    size_t length = 0;
    while (islower((unsigned char)word[length]) || isdigit((unsigned char)word[length]) ||
           word[length] == '_')
        length++;
    return word[length] == '=' ? length : 0;
}

/* One line for each word, so that the line of a complaint tells the word. */
static bool write_lines(const struct fault_word *word, char *const *words, size_t count,
                        struct text *out, struct fault_complaint *complaint)
{
    size_t at = 0;
    for (size_t i = 1; i < count; i++) {
        size_t length = name_length(words[i]);
        const struct word_field *field = length ? NULL : next_field(word, &at);
        for (const char *c = words[i]; *c; c++) {
            if (iscntrl((unsigned char)*c))
                return complain(complaint, i, "a control character is in it");
        }
        if (length)
            text_add(out, "%.*s: %s\n", (int)length, words[i], words[i] + length + 1);
        else if (field)
            text_add(out, "%s: %s\n", field->name, words[i]);
        else
            return complain(complaint, i, "%s takes no further value; others are NAME=VALUE",
                            word->name);
    }
    return true;
}

/* From a line and column of what write_lines wrote to a word and a column of it. */
static void place(const struct yaml_error *error, char *const *words, size_t count,
                  struct fault_complaint *out)
{
    static const char label[] = "x:"; /* as yaml_errors_init was told, before LINE:COLUMN: */
    const char *text = error->text;
    assert(error->mark.line >= 1 && error->mark.column >= 1);
    if (strncmp(text, label, strlen(label)) == 0)
        text = strstr(text, ": ") + 2;
    complain(out, error->mark.line, "%s", text);
    if (out->word >= count) {
        out->word = count;
        return;
    }
    size_t length = name_length(words[out->word]), column = error->mark.column - 1;
    if (length && column >= length + 2) /* behind "name: ", which was typed "name=" */
        out->column = column - 1;
}

static bool is_missing(const struct yaml_error *error)
{
    return strstr(error->text, "is missing") != NULL;
}

static bool read_tree(const struct topology *topology, const struct fault_word *word,
                      const struct text *text, struct fault_line *out, struct yaml_errors *errors)
{
    /* The reader only looks at it. */
    struct scenario scenario = {.topology = (struct topology *)(uintptr_t)topology};
    struct scenario_reader reader = {.arena = &out->arena, .errors = errors, .scenario = &scenario};
    out->tree = yaml_parse(text->data, text->length, errors);
    reader.tree = out->tree;
    return out->tree && scenario_read_fault(&reader, word, yaml_root(out->tree), &out->fault);
}

bool fault_line_read(const struct topology *topology, char *const *words, size_t count,
                     struct fault_line *out, struct fault_complaint *complaint)
{
    struct yaml_errors errors;
    struct text text = {0};
    assert(topology && words && count > 0 && out && complaint);
    const struct fault_word *word = fault_word_by_name(words[0]);
    if (!word)
        return unknown_word(words[0], complaint);
    *out = (struct fault_line){.tree = NULL};
    yaml_errors_init(&errors, "x");
    if (count == 1) {
        complain(complaint, 1, "%s: '%s' is missing", word->name, word->fields[0].name);
    } else if (write_lines(word, words, count, &text, complaint)) {
        if (read_tree(topology, word, &text, out, &errors)) {
            text_free(&text);
            return true;
        }
        assert(errors.count > 0);
        place(&errors.items[0], words, count, complaint);
        if (is_missing(&errors.items[0]) && !PLANTED(fault_line_missing_at_front))
            complaint->word = count;
    }
    text_free(&text);
    fault_line_free(out);
    return false;
}

void fault_line_free(struct fault_line *line)
{
    assert(line);
    yaml_tree_free(line->tree);
    arena_free(&line->arena);
    line->tree = NULL;
}

void fault_line_usage(FILE *out, const struct fault_word *word)
{
    assert(out && word);
    fputs(word->name, out);
    for (size_t i = 0; i < WORD_MAX_FIELDS && word->fields[i].name; i++) {
        const struct word_field *field = &word->fields[i];
        if (field->required || i == 0) {
            fputc(' ', out);
            for (const char *c = field->name; *c; c++)
                fputc(toupper((unsigned char)*c), out);
        }
    }
    for (size_t i = 1; i < WORD_MAX_FIELDS && word->fields[i].name; i++) {
        if (!word->fields[i].required)
            fprintf(out, " [%s=...]", word->fields[i].name);
    }
}
