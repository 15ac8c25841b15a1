/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <string.h>

#include "src/config/nearest.h"
#include "src/scenario/command.h"
#include "src/scenario/help.h"
#include "src/scenario/words.h"

const char command_usage[] =
    "usage: memkv-scenario run PATH... [--fabric sim] [--seed N] [--tag T] [--jobs N]\n"
    "                      [--cell 'NAME=LABEL ...'] [--shard I/N] [--trace FILE]\n"
    "                      [--junit FILE] [--without CAPABILITY] [--twice] [--fail-fast]\n"
    "                      [-j|--json]\n"
    "       memkv-scenario run PATH... --fabric emulated [--slow]\n"
    "       memkv-scenario run PATH... --fabric soft-roce|lab --inventory FILE [--plan] [--slow]\n"
    "       memkv-scenario undo --inventory FILE\n"
    "       memkv-scenario check PATH... [-j|--json]\n"
    "       memkv-scenario help [FIELD-OR-WORD]\n"
    "\n"
    "Runs scenario files (a PATH is a file, or a folder with *.yaml files in it).\n"
    "\n"
    "  --fabric NAME         what the scenarios run on: sim, emulated, soft-roce, lab (sim)\n"
    "  --inventory FILE      the machines of soft-roce and lab, and what may be done to them\n"
    "  --plan                show what would be done to them, and do nothing\n"
    "  --slow                where time is real also scenarios that take longer than 5 s\n"
    "  --seed N              the same seed gives the same run, byte for byte (1)\n"
    "  --tag T               only scenarios with this tag\n"
    "  --cell 'NAME=LABEL'   only the cells of a matrix that have all these labels\n"
    "  --shard I/N           only the I-th of N parts of the cases, so that N machines share them\n"
    "  --jobs N              so many at a time (1)\n"
    "  --fail-fast           stop at the first failure; one at a time\n"
    "  --trace FILE          write every event of the world, a line each\n"
    "  --junit FILE          write the results as JUnit XML too\n"
    "  --without CAPABILITY  run as if the fabric lacked it (may be repeated)\n"
    "  --twice               run each a second time and compare the traces\n"
    "  -j, --json            one JSON object on standard output\n"
    "\n"
    "examples:\n"
    "  memkv-scenario run scenarios                      everything on the simulator\n"
    "  memkv-scenario run scenarios/sm --seed 7          one family, another world\n"
    "  memkv-scenario run scenarios --fabric emulated --jobs 8   real processes, simulated HCAs\n"
    "  memkv-scenario check my.yaml                      is it written correctly?\n"
    "  memkv-scenario run x.yaml --cell 'role=server'    some cases of a matrix\n"
    "  memkv-scenario help lid_set                       what a word means\n"
    "  memkv-scenario undo --inventory lab.yaml          take back what a killed run left\n"
    "\n"
    "exit: 0 all that ran passed, 1 some failed, 2 usage, 3 a file is invalid, 4 nothing ran,\n"
    "      130 interrupted\n";

static void help_list(FILE *out)
{
    fprintf(out, "fields:\n");
    for (size_t i = 0; i < help_field_count; i++)
        fprintf(out, "  %-18s %.*s\n", help_fields[i].name, (int)strcspn(help_fields[i].text, "\n"),
                help_fields[i].text);
    fprintf(out, "operations:\n");
    for (size_t i = 0; i < OPERATION_WORD_COUNT; i++)
        fprintf(out, "  %-18s %s\n", operation_words[i].name, operation_words[i].help);
    fprintf(out, "fault words:\n");
    for (size_t i = 0; i < TESTBED_WORD_COUNT; i++)
        fprintf(out, "  %-18s %s\n", fault_words[i].name, fault_words[i].help);
    fprintf(out, "capabilities:\n");
    for (unsigned bit = 0; bit < FABRIC_CAP_COUNT; bit++)
        fprintf(out, "  %s\n", fabric_cap_name((enum fabric_cap_bit)bit));
}

/* A value for each parameter that makes sense in an example. */
static const char *example_value(const struct word_field *field)
{
    static const struct {
        const char *name, *value;
    } values[] = {
        {"node", "store"},
        {"peer", "host"},
        {"sm", "sm"},
        {"network", "ib"},
        {"lid", "40"},
        {"lmc", "1"},
        {"index", "3"},
        {"pkey", "0x8001"},
        {"gid", "'::ffff:10.1.0.9'"},
        {"to", "8"},
        {"mtu", "2048"},
        {"prefix", "0xfec0000000000001"},
        {"sl", "1"},
        {"vl", "0"},
        {"ppm", "10000"},
        {"duration", "10 ms"},
        {"event", "PORT_ERR"},
        {"events", "'PORT_ERR, PORT_ACTIVE'"},
        {"operation", "qp_create"},
        {"error", "internal"},
        {"status", "REM_ACCESS_ERR"},
        {"bytes_per_second", "100000"},
    };
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        if (strcmp(values[i].name, field->name) == 0)
            return values[i].value;
    }
    assert(0 && "a parameter without an example");
    return "";
}

static const char *capability_text(enum fabric_cap_bit bit)
{
    static const char *const texts[FABRIC_CAP_COUNT] = {
#define TEXT(upper, lower, text) text,
        FABRIC_CAPABILITIES(TEXT)
#undef TEXT
    };
    assert((unsigned)bit < FABRIC_CAP_COUNT);
    return texts[bit];
}

static enum fabric_cap_bit bit_of(fabric_caps cap)
{
    unsigned bit = 0;
    while (bit < FABRIC_CAP_COUNT - 1 && UINT64_C(1) << bit != cap)
        bit++;
    return (enum fabric_cap_bit)bit;
}

static void help_fault(FILE *out, const struct fault_word *word)
{
    static const char *const types[] = {
        [WORD_NODE] = "NODE",     [WORD_DEVICE] = "DEVICE",     [WORD_PEER] = "NODE",
        [WORD_SM] = "NAME",       [WORD_NETWORK] = "NAME",      [WORD_TEXT] = "TEXT",
        [WORD_PORT] = "NUMBER",   [WORD_INDEX] = "NUMBER",      [WORD_VALUE] = "NUMBER",
        [WORD_ON] = "true|false", [WORD_DURATION] = "DURATION", [WORD_JITTER] = "DURATION",
        [WORD_ERROR] = "ERROR",   [WORD_GID] = "GID",           [WORD_GID_TYPE] = "TYPE",
    };
    fprintf(out, "%s: %s\n\n  %s: {", word->name, word->help, word->name);
    for (size_t i = 0; i < WORD_MAX_FIELDS && word->fields[i].name; i++) {
        const struct word_field *field = &word->fields[i];
        fprintf(out, "%s%s: %s%s", i ? ", " : "", field->name, types[field->slot],
                field->required ? "" : " (optional)");
    }
    fprintf(out, "}\n\nexample:\n  - {at: 2 s, %s: {", word->name);
    for (size_t i = 0; i < WORD_MAX_FIELDS && word->fields[i].name; i++) {
        const struct word_field *field = &word->fields[i];
        if (field->required)
            fprintf(out, "%s%s: %s", i ? ", " : "", field->name, example_value(field));
    }
    fprintf(out, "}}\n\n");
    fprintf(out, "needs the capability %s: %s\n", fabric_cap_name(bit_of(word->cap)),
            capability_text(bit_of(word->cap)));
}

#define KEY_EXAMPLE "0f0e0d0c0b0a09080706050403020100f0e0d0c0b0a090807060504030201000"

static void help_operation(FILE *out, const struct operation_word *word)
{
    static const char *const parameters[] = {"key: a",
                                             "size: 64 KiB",
                                             "seed: 1",
                                             "file: PATH",
                                             "path: /data",
                                             "block_size: 64 KiB",
                                             "timeout: 1 s",
                                             "count: 8",
                                             "namespace: tenant/",
                                             "or_seed: 2",
                                             ("auth_key: " KEY_EXAMPLE)};
    fprintf(out, "%s: %s\n\n  %s: {node: NODE", word->name, word->help, word->name);
    for (unsigned i = 0; i < OPERATION_PARAMETERS; i++) {
        unsigned bit = 1u << i;
        if (word->required & bit)
            fprintf(out, ", %s", parameters[i]);
        else if ((word->allowed | OPERATION_TIMEOUT) & bit)
            fprintf(out, ", %s (optional)", parameters[i]);
    }
    fprintf(out, "}\n\nexample:\n  - {%s: {node: host", word->name);
    for (unsigned i = 0; i < OPERATION_PARAMETERS; i++) {
        if ((word->required & 1u << i) || (1u << i == OPERATION_PATH && word->allowed & 1u << i))
            fprintf(out, ", %s", parameters[i]);
    }
    fprintf(out, "}, expect: {error: ok}}\n");
    if (word->allowed & OPERATION_FILE)
        fprintf(out, "\nfile is relative to the scenario and is put on the node; path is on the "
                     "node already; one of the two\n");
}

/* What it is, and the fault words that a fabric without it cannot carry out. */
static void help_capability(FILE *out, const char *name, fabric_caps cap)
{
    const char *lead = "\n\nneeded by ";
    assert(name && cap);
    fprintf(out, "capability %s: %s\n\nexample:\n  requires: [%s]", name,
            capability_text(bit_of(cap)), name);
    for (size_t i = 0; i < TESTBED_WORD_COUNT; i++) {
        if (fault_words[i].cap != cap)
            continue;
        fprintf(out, "%s%s", lead, fault_words[i].name);
        lead = ", ";
    }
    fprintf(out, "\n");
}

static bool help_field(FILE *out, const char *name)
{
    bool found = false;
    for (size_t i = 0; i < help_field_count; i++) {
        if (strcmp(help_fields[i].name, name) == 0) {
            fprintf(out, "%s: %s\n", name, help_fields[i].text);
            found = true;
        }
    }
    return found;
}

static void suggest(FILE *err, const char *topic)
{
    const char *names[256];
    size_t count = 0;
    assert(help_field_count + OPERATION_WORD_COUNT + TESTBED_WORD_COUNT + FABRIC_CAP_COUNT <= 256);
    for (size_t i = 0; i < help_field_count; i++)
        names[count++] = help_fields[i].name;
    for (size_t i = 0; i < OPERATION_WORD_COUNT; i++)
        names[count++] = operation_words[i].name;
    for (size_t i = 0; i < TESTBED_WORD_COUNT; i++)
        names[count++] = fault_words[i].name;
    for (unsigned bit = 0; bit < FABRIC_CAP_COUNT; bit++)
        names[count++] = fabric_cap_name((enum fabric_cap_bit)bit);
    const char *near = nearest_name(topic, names, count);
    fprintf(err, "memkv-scenario: no field or word '%s'", topic);
    if (near)
        fprintf(err, "; did you mean '%s'?\n", near);
    else
        fprintf(err, "; `memkv-scenario help words` lists them\n");
}

static void help_error(FILE *out, enum fabric_error error)
{
    const struct error_info *info = error_info(error);
    assert(info);
    fprintf(out, "error %s: %s\n  cause: %s\n  fix: %s\n\nexample:\n  expect: {error: %s}\n",
            error_name(error), info->text, info->cause, info->fix, error_name(error));
}

/* Some names are several things: a fault word and a capability, a field of two places. */
bool command_help(const struct command_host *host, const char *topic)
{
    const struct fault_word *fault = fault_word_by_name(topic);
    const struct operation_word *operation = operation_word_by_name(topic);
    enum fabric_error error;
    fabric_caps cap;
    if (strcmp(topic, "words") == 0) {
        help_list(host->out);
        return true;
    }
    bool known = fault || operation;
    if (fault)
        help_fault(host->out, fault);
    if (operation)
        help_operation(host->out, operation);
    known = help_field(host->out, topic) || known;
    if (capability_by_name(topic, &cap)) {
        help_capability(host->out, topic, cap);
        known = true;
    }
    if (error_by_name(topic, &error)) {
        help_error(host->out, error);
        known = true;
    }
    if (!known)
        suggest(host->err, topic);
    return known;
}
