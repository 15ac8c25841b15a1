/* SPDX-License-Identifier: Apache-2.0 */
#include "src/cli/arguments.h"

#include <assert.h>
#include <string.h>

#include "src/config/nearest.h"
#include "src/fabric/planted.h"

#define MAX_NAMES 128

const struct cli_option cli_common_options[] = {
    {.name = "json", .letter = 'j', .help = "the result, and errors, as JSON"},
    {.name = "pretty", .letter = 'p', .help = "JSON for reading: indented"},
    {.name = "help", .letter = 'h', .help = "what the command does, with examples"},
    {.name = NULL},
};

struct reader {
    const struct cli_command *commands;
    struct cli_arguments *out;
    char *problem; /* CLI_PROBLEM bytes */
    bool plain;    /* after "--": no more options */
};

static void complain(char *problem, const char *what, const char *found, const char *const *names,
                     size_t count, const char *dashes)
{
    const char *near = nearest_name(found, names, count);
    assert(problem && what && found);
    if (near) {
        snprintf(problem, CLI_PROBLEM, "%s '%s%.60s'; did you mean '%s%s'?", what, dashes, found,
                 dashes, near);
        return;
    }
    snprintf(problem, CLI_PROBLEM, "%s '%s%.60s'; expected:", what, dashes, found);
    for (size_t i = 0; i < count; i++) {
        size_t used = strlen(problem);
        snprintf(problem + used, CLI_PROBLEM - used, " %s%s", dashes, names[i]);
    }
}

static size_t add_name(const char **names, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(names[i], name) == 0)
            return count;
    }
    assert(count < MAX_NAMES);
    names[count] = name;
    return count + 1;
}

/* ------------------------------------------------------------------ options */

static const struct cli_option *find_in(const struct cli_option *options, const char *name,
                                        size_t length, char letter)
{
    for (; options && options->name; options++) {
        if (letter ? options->letter == letter
                   : strlen(options->name) == length && memcmp(options->name, name, length) == 0)
            return options;
    }
    return NULL;
}

static const struct cli_option *find_option(const struct reader *r, const char *name, size_t length,
                                            char letter)
{
    const struct cli_command *command = r->out->command;
    const struct cli_option *found = find_in(cli_common_options, name, length, letter);
    return found || !command ? found : find_in(command->options, name, length, letter);
}

static bool unknown_option(const struct reader *r, const char *text)
{
    const char *names[MAX_NAMES];
    char word[64];
    size_t count = 0, length = strcspn(text, "=");
    const struct cli_option *const tables[] = {r->out->command ? r->out->command->options : NULL,
                                               cli_common_options};
    for (size_t t = 0; t < 2; t++) {
        for (const struct cli_option *o = tables[t]; o && o->name; o++)
            count = add_name(names, count, o->name);
    }
    snprintf(word, sizeof word, "%.*s", length < 63 ? (int)length : 63, text);
    complain(r->problem, "unknown option", word, names, count, "--");
    return false;
}

static bool check_choice(const struct reader *r, const struct cli_option *option, const char *value)
{
    size_t count = 0;
    if (!option->choices || PLANTED(cli_choice_any))
        return true;
    for (; option->choices[count]; count++) {
        if (strcmp(option->choices[count], value) == 0)
            return true;
    }
    char what[64];
    snprintf(what, sizeof what, "--%s: no such value", option->name);
    complain(r->problem, what, value, option->choices, count, "");
    return false;
}

static bool take_option(struct reader *r, const struct cli_option *option, const char *value)
{
    struct cli_arguments *a = r->out;
    assert(option->value ? value != NULL : value == NULL);
    if (value && !check_choice(r, option, value))
        return false;
    for (size_t i = 0; value && !option->repeats && i < a->given_count; i++) {
        if (a->given[i].option == option) {
            snprintf(r->problem, CLI_PROBLEM, "--%s was given twice", option->name);
            return false;
        }
    }
    if (a->given_count == CLI_MAX_OPTIONS) {
        snprintf(r->problem, CLI_PROBLEM, "more than %d options", CLI_MAX_OPTIONS);
        return false;
    }
    a->given[a->given_count++] = (struct cli_given){option, value};
    return true;
}

/* "--name", "--name=value" and "--name value". */
static bool long_option(struct reader *r, const char *text, const char *next, bool *used_next)
{
    size_t length = strcspn(text, "=");
    const struct cli_option *option = find_option(r, text, length, 0);
    if (!option)
        return unknown_option(r, text);
    if (!option->value) {
        if (text[length]) {
            snprintf(r->problem, CLI_PROBLEM, "--%s takes no value", option->name);
            return false;
        }
        return take_option(r, option, NULL);
    }
    *used_next = !text[length];
    const char *value = text[length] ? text + length + 1 : next;
    if (!value) {
        snprintf(r->problem, CLI_PROBLEM, "--%s wants a value: --%s %s", option->name, option->name,
                 option->value);
        return false;
    }
    return take_option(r, option, value);
}

/* "-jp", "-vVALUE" and "-v VALUE". */
static bool short_options(struct reader *r, const char *letters, const char *next, bool *used_next)
{
    for (const char *at = letters; *at; at++) {
        const struct cli_option *option = find_option(r, "", 0, *at);
        if (!option) {
            snprintf(r->problem, CLI_PROBLEM, "unknown option '-%c'; see --help", *at);
            return false;
        }
        if (!option->value) {
            if (!take_option(r, option, NULL))
                return false;
            continue;
        }
        *used_next = !at[1];
        const char *value = at[1] ? at + 1 : next;
        if (!value) {
            snprintf(r->problem, CLI_PROBLEM, "-%c wants a value: %s", *at, option->value);
            return false;
        }
        return take_option(r, option, value);
    }
    return true;
}

/* ------------------------------------------------------------------ words */

static bool unknown_word(const struct reader *r, const char *word)
{
    const char *names[MAX_NAMES];
    const char *object = r->out->object;
    size_t count = 0;
    for (const struct cli_command *c = r->commands; c->object; c++) {
        if (!object)
            count = add_name(names, count, c->object);
        else if (strcmp(c->object, object) == 0)
            count = add_name(names, count, c->verb);
    }
    char what[64];
    snprintf(what, sizeof what, object ? "%.40s: no such command" : "no such command",
             object ? object : "");
    complain(r->problem, what, word, names, count, "");
    return false;
}

/* A word before the command is complete. */
static bool take_word(struct reader *r, const char *word)
{
    struct cli_arguments *a = r->out;
    for (const struct cli_command *c = r->commands; c->object; c++) {
        bool here = strcmp(c->object, a->object ? a->object : word) == 0;
        if (here && (!c->verb || (a->object && strcmp(c->verb, word) == 0))) {
            a->command = c;
            return true;
        }
        if (here && !a->object) {
            a->object = c->object;
            return true;
        }
    }
    return unknown_word(r, word);
}

static bool take_operand(struct reader *r, const char *word)
{
    struct cli_arguments *a = r->out;
    if (a->operand_count == CLI_MAX_OPERANDS) {
        snprintf(r->problem, CLI_PROBLEM, "more than %d operands", CLI_MAX_OPERANDS);
        return false;
    }
    a->operands[a->operand_count++] = word;
    return true;
}

static bool check_operands(const struct reader *r)
{
    const struct cli_arguments *a = r->out;
    const struct cli_command *c = a->command;
    if (a->operand_count >= c->least && a->operand_count <= c->most)
        return true;
    snprintf(r->problem, CLI_PROBLEM, "%s%s%s: found %zu operand%s; %s expected: memkv %s%s%s%s%s",
             c->object, c->verb ? " " : "", c->verb ? c->verb : "", a->operand_count,
             a->operand_count == 1 ? "" : "s", c->most ? "this is" : "none is", c->object,
             c->verb ? " " : "", c->verb ? c->verb : "", *c->operands ? " " : "", c->operands);
    return false;
}

/* Errors are told in the asked form too, also those of the arguments. */
static void guess_form(int argc, const char *const *argv, struct cli_arguments *a)
{
    for (int i = 1; i < argc; i++) {
        bool pretty = strcmp(argv[i], "-p") == 0 || strcmp(argv[i], "--pretty") == 0;
        a->pretty = a->pretty || pretty;
        a->json = a->json || pretty || strcmp(argv[i], "-j") == 0 || strcmp(argv[i], "--json") == 0;
    }
}

static void note_common(struct cli_arguments *a)
{
    a->pretty = cli_has(a, "pretty");
    a->json = cli_has(a, "json") || a->pretty;
    a->help = cli_has(a, "help");
}

bool cli_arguments_read(const struct cli_command *commands, int argc, const char *const *argv,
                        struct cli_arguments *out, char problem[CLI_PROBLEM])
{
    assert(commands && argv && out && problem);
    struct reader r = {.commands = commands, .out = out, .problem = problem};
    *out = (struct cli_arguments){.command = NULL};
    guess_form(argc, argv, out);
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i], *next = i + 1 < argc ? argv[i + 1] : NULL;
        bool used_next = false, ok;
        if (!r.plain && strcmp(word, "--") == 0) {
            r.plain = true;
            continue;
        }
        if (!r.plain && !out->command && strcmp(word, "--version") == 0)
            ok = out->version = true;
        else if (!r.plain && strncmp(word, "--", 2) == 0)
            ok = long_option(&r, word + 2, next, &used_next);
        else if (!r.plain && word[0] == '-' && word[1])
            ok = short_options(&r, word + 1, next, &used_next);
        else
            ok = out->command ? take_operand(&r, word) : take_word(&r, word);
        if (!ok)
            return false;
        i += used_next;
    }
    note_common(out);
    if (out->help || !out->command)
        return true;
    return check_operands(&r);
}

const char *cli_value(const struct cli_arguments *arguments, const char *option)
{
    const char *value = NULL;
    assert(arguments && option);
    for (size_t i = 0; i < arguments->given_count; i++) {
        if (strcmp(arguments->given[i].option->name, option) == 0)
            value = arguments->given[i].value;
    }
    return value;
}

bool cli_has(const struct cli_arguments *arguments, const char *option)
{
    assert(arguments && option);
    for (size_t i = 0; i < arguments->given_count; i++) {
        if (strcmp(arguments->given[i].option->name, option) == 0)
            return true;
    }
    return false;
}
