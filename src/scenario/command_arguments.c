/* SPDX-License-Identifier: Apache-2.0 */
#include "src/scenario/command_arguments.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "src/config/nearest.h"
#include "src/scenario/words.h"

static const char *const command_names[] = {"run", "check", "undo", "help"};
static const char *const option_names[] = {"--fabric", "--seed",      "--tag",       "--jobs",
                                           "--trace",  "--without",   "--cell",      "--shard",
                                           "--junit",  "--inventory", "--twice",     "--json",
                                           "--plan",   "--slow",      "--fail-fast", "--help"};
#define VALUE_OPTIONS 10 /* the first so many have a value */
#define COUNT(array) (sizeof(array) / sizeof(array)[0])

int command_no_such(const struct command_host *host, const char *what, const char *found,
                    const char *const *names, size_t count)
{
    const char *near = nearest_name(found, names, count);
    assert(what && found && names);
    fprintf(host->err, "memkv-scenario: %s '%s'", what, found);
    if (near) {
        fprintf(host->err, "; did you mean '%s'?\n", near);
    } else {
        fprintf(host->err, "; one of these is expected:");
        for (size_t i = 0; i < count; i++)
            fprintf(host->err, " %s", names[i]);
        fprintf(host->err, "\n");
    }
    return COMMAND_USAGE;
}

static int set_fabric(const struct command_host *host, struct arguments *a, const char *name)
{
    const char *names[8];
    assert(host->fabric_count <= COUNT(names));
    for (size_t i = 0; i < host->fabric_count; i++) {
        names[i] = host->fabrics[i]->name;
        if (strcmp(names[i], name) == 0) {
            a->fabric = host->fabrics[i];
            return COMMAND_PASSED;
        }
    }
    return command_no_such(host, "no such fabric:", name, names, host->fabric_count);
}

static int set_number(const struct command_host *host, const char *option, const char *value,
                      uint64_t min, uint64_t max, uint64_t *out)
{
    char *end;
    bool digits = *value && strspn(value, "0123456789") == strlen(value) && strlen(value) <= 20;
    uint64_t number = digits ? strtoull(value, &end, 10) : 0;
    assert(option && value && out);
    if (!digits || number < min || number > max) {
        fprintf(host->err,
                "memkv-scenario: %s: found '%s'; a number from %" PRIu64 " to %" PRIu64
                " is expected\n",
                option, value, min, max);
        return COMMAND_USAGE;
    }
    *out = number;
    return COMMAND_PASSED;
}

static int set_without(const struct command_host *host, struct arguments *a, const char *value)
{
    const char *names[FABRIC_CAP_COUNT];
    fabric_caps cap;
    if (capability_by_name(value, &cap)) {
        a->caps &= ~cap;
        return COMMAND_PASSED;
    }
    for (unsigned bit = 0; bit < FABRIC_CAP_COUNT; bit++)
        names[bit] = fabric_cap_name((enum fabric_cap_bit)bit);
    return command_no_such(host, "no such capability:", value, names, FABRIC_CAP_COUNT);
}

/* "2/4": the second of four parts. */
static int set_shard(const struct command_host *host, struct arguments *a, const char *value)
{
    char part[24];
    size_t slash = strcspn(value, "/");
    assert(value);
    if (!value[slash] || slash >= sizeof part) {
        fprintf(host->err, "memkv-scenario: --shard: found '%s'; a part such as 1/4 is expected\n",
                value);
        return COMMAND_USAGE;
    }
    memcpy(part, value, slash);
    part[slash] = '\0';
    int status = set_number(host, "--shard", value + slash + 1, 1, 4096, &a->shards);
    return status ? status : set_number(host, "--shard", part, 1, a->shards, &a->shard);
}

static int set_value(const struct command_host *host, struct arguments *a, const char *option,
                     const char *value)
{
    assert(option && value);
    if (strcmp(option, "--fabric") == 0)
        return set_fabric(host, a, value);
    if (strcmp(option, "--seed") == 0)
        return set_number(host, option, value, 0, INT64_MAX, &a->seed);
    if (strcmp(option, "--jobs") == 0)
        return set_number(host, option, value, 1, 256, &a->jobs);
    if (strcmp(option, "--without") == 0)
        return set_without(host, a, value);
    if (strcmp(option, "--shard") == 0)
        return set_shard(host, a, value);
    if (strcmp(option, "--tag") == 0)
        a->tag = value;
    else if (strcmp(option, "--cell") == 0)
        a->cell = value;
    else if (strcmp(option, "--junit") == 0)
        a->junit = value;
    else if (strcmp(option, "--inventory") == 0)
        a->inventory = value;
    else
        a->trace = value;
    return COMMAND_PASSED;
}

/* One option; *used is 2 when its value was the next argument. */
static int read_option(const struct command_host *host, struct arguments *a, const char *text,
                       const char *next, int *used)
{
    char option[32];
    size_t length = strcspn(text, "=");
    const char *value = text[length] ? text + length + 1 : next;
    assert(text && used);
    if (strcmp(text, "-j") == 0 || strcmp(text, "--json") == 0)
        a->json = true;
    else if (strcmp(text, "-h") == 0 || strcmp(text, "--help") == 0)
        a->help = true;
    else if (strcmp(text, "--twice") == 0)
        a->twice = true;
    else if (strcmp(text, "--plan") == 0)
        a->plan = true;
    else if (strcmp(text, "--slow") == 0)
        a->slow = true;
    else if (strcmp(text, "--fail-fast") == 0)
        a->fail_fast = true;
    else {
        snprintf(option, sizeof option, "%.*s", (int)(length < 31 ? length : 31), text);
        size_t i = 0;
        while (i < VALUE_OPTIONS && strcmp(option_names[i], option) != 0)
            i++;
        if (i == VALUE_OPTIONS)
            return command_no_such(host, "unknown option", option, option_names,
                                   COUNT(option_names));
        if (!value) {
            fprintf(host->err, "memkv-scenario: %s wants a value\n", option);
            return COMMAND_USAGE;
        }
        *used = text[length] ? 1 : 2;
        return set_value(host, a, option, value);
    }
    return COMMAND_PASSED;
}

int command_unknown(const struct command_host *host, const char *name)
{
    return command_no_such(host, "unknown command", name, command_names, COUNT(command_names));
}

int command_read_arguments(const struct command_host *host, int argc, const char *const *argv,
                           struct arguments *a)
{
    bool options = true;
    int status = COMMAND_PASSED, used;
    for (int i = 1; i < argc && status == COMMAND_PASSED; i += used) {
        used = 1;
        if (options && strcmp(argv[i], "--") == 0)
            options = false;
        else if (options && argv[i][0] == '-' && argv[i][1])
            status = read_option(host, a, argv[i], i + 1 < argc ? argv[i + 1] : NULL, &used);
        else if (!a->command)
            a->command = argv[i];
        else
            a->paths[a->path_count++] = argv[i];
    }
    return status;
}
