/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "src/config/nearest.h"
#include "src/scenario/command.h"
#include "src/scenario/words.h"

const char command_usage[] =
    "usage: memkv-scenario run PATH... [--fabric sim] [--seed N] [--tag T] [--jobs N]\n"
    "                      [--cell 'NAME=LABEL ...'] [--shard I/N] [--trace FILE]\n"
    "                      [--junit FILE] [--without CAPABILITY] [--twice] [-j|--json]\n"
    "       memkv-scenario check PATH... [-j|--json]\n"
    "       memkv-scenario help [FIELD-OR-WORD]\n"
    "\n"
    "Runs scenario files (a PATH is a file, or a folder with *.yaml files in it).\n"
    "\n"
    "  --fabric NAME         what the scenarios run on (sim)\n"
    "  --seed N              the same seed gives the same run, byte for byte (1)\n"
    "  --tag T               only scenarios with this tag\n"
    "  --cell 'NAME=LABEL'   only the cells of a matrix that have all these labels\n"
    "  --shard I/N           only the I-th of N parts of the cases, so that N machines share them\n"
    "  --jobs N              so many at a time (1)\n"
    "  --trace FILE          write every event of the world, a line each\n"
    "  --junit FILE          write the results as JUnit XML too\n"
    "  --without CAPABILITY  run as if the fabric lacked it (may be repeated)\n"
    "  --twice               run each a second time and compare the traces\n"
    "  -j, --json            one JSON object on standard output\n"
    "\n"
    "examples:\n"
    "  memkv-scenario run scenarios                      everything on the simulator\n"
    "  memkv-scenario run scenarios/sm --seed 7          one family, another world\n"
    "  memkv-scenario check my.yaml                      is it written correctly?\n"
    "  memkv-scenario run x.yaml --cell 'role=server'    some cases of a matrix\n"
    "  memkv-scenario help lid_set                       what a word means\n"
    "\n"
    "exit: 0 all that ran passed, 1 some failed, 2 usage, 3 a file is invalid, 4 nothing ran,\n"
    "      130 interrupted\n";

static const struct {
    const char *name, *text;
} fields[] = {
    {"name", "what the scenario is called, 3 to 100 characters"},
    {"proves", "list of requirement IDs that it proves, such as [MK-C1, HA-2.2, CASE-S10]"},
    {"about", "a sentence that an operator understands"},
    {"tags", "list of words for run --tag"},
    {"requires", "list of capabilities; a fabric that lacks one skips the scenario. The fault\n"
                 "words that it uses add theirs"},
    {"matrix",
     "NAME: [LABEL, ...], or NAME: {LABEL: {KEY: VALUE}}; every combination is one case,\n"
     "in which ${NAME} is the label and ${NAME.KEY} a value of it"},
    {"except",
     "list of combinations of the matrix that are no case: [{role: client, side: [a, b]}]"},
    {"only", "of a step, an expectation or a program: the cells of the matrix in which it exists,\n"
             "{NAME: LABEL, NAME: [LABEL, LABEL]}"},
    {"topology", "subnets, ethernets, switches, links, nodes; what is left out is implied:\n"
                 "{nodes: [a, b]} is two nodes with a device mlx5_0 on one subnet \"ib\""},
    {"programs", "NODE: {program: server|client, config: {...}}; started at the beginning in this\n"
                 "order, except those that a step starts"},
    {"steps", "list; each waits for its trigger (at, after, when; none: the step before), does\n"
              "one thing (start, stop, ask, nothing, an operation, a fault word), and may\n"
              "expect an answer"},
    {"at", "a trigger: not before this time of the world (at: 2 s)"},
    {"after", "a trigger: so long after the step before was done (after: 100 ms)"},
    {"when", "a trigger: as soon as {node: N, log|report|exit: ...} happens or has happened since\n"
             "the last action; within: 5 s says how long that may take (10 s)"},
    {"within", "beside when: how long to wait; inside expect: the answer comes within that time"},
    {"no_sooner", "inside expect: the answer does not come sooner than that"},
    {"background", "true: the next step does not wait for the answer of this one"},
    {"expect", "of a step: {outcome: CLASS, error: NAME, within: 10 ms, no_sooner: 1 s, and any\n"
               "field of the answer: value}. At the end of the file: a list of conditions that\n"
               "must have been met"},
    {"outcome", "rdma, tcp_by_choice, fell_back, refused:NAME, failed:NAME, unreachable,\n"
                "corrupted, hung"},
    {"error", "an error name such as no_lid, or ok"},
    {"log", "a text, or a list of texts that stand in one log line; level: warn narrows it"},
    {"report", "fields of a report and their values: {event: rail, state: ready}; paths such as\n"
               "rails.0.state, and comparisons such as '>= 2', are allowed"},
    {"exit", "the program ended, or could not start, with this error"},
    {"order", "list of conditions that were met one after the other"},
    {"never", "true: the condition must not be met, within after and by"},
    {"count", "the condition is met exactly so many times"},
    {"by", "the condition is met no later than this time of the world"},
    {"start", "starts the program of a node: start: NODE, or {node: NODE, config: {...}}"},
    {"stop", "ends the program of a node in order: stop: NODE"},
    {"ask", "a fact about a node that needs no program: {node: N, query: \"mlx5_0/1 lid\"};\n"
            "expect: {answer: ...}"},
    {"nothing", "nothing may be logged or reported for so long: nothing: 2 s, or\n"
                "{for: 2 s, node: N}"},
};
#define FIELD_COUNT (sizeof fields / sizeof fields[0])

static void help_list(FILE *out)
{
    fprintf(out, "fields:\n");
    for (size_t i = 0; i < FIELD_COUNT; i++)
        fprintf(out, "  %-18s %.*s\n", fields[i].name, (int)strcspn(fields[i].text, "\n"),
                fields[i].text);
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

static void help_fault(FILE *out, const struct fault_word *word)
{
    static const char *const types[] = {
        [WORD_NODE] = "NODE",     [WORD_DEVICE] = "DEVICE",     [WORD_PEER] = "NODE",
        [WORD_SM] = "NAME",       [WORD_NETWORK] = "NAME",      [WORD_TEXT] = "TEXT",
        [WORD_PORT] = "NUMBER",   [WORD_INDEX] = "NUMBER",      [WORD_VALUE] = "NUMBER",
        [WORD_ON] = "true|false", [WORD_DURATION] = "DURATION", [WORD_JITTER] = "DURATION",
        [WORD_ERROR] = "ERROR",   [WORD_GID] = "GID",           [WORD_GID_TYPE] = "TYPE",
    };
    unsigned bit = 0;
    while (bit < FABRIC_CAP_COUNT - 1 && UINT64_C(1) << bit != word->cap)
        bit++;
    fprintf(out, "%s: %s\n\n  %s: {", word->name, word->help, word->name);
    for (size_t i = 0; i < WORD_MAX_FIELDS && word->fields[i].name; i++) {
        const struct word_field *field = &word->fields[i];
        fprintf(out, "%s%s: %s%s", i ? ", " : "", field->name, types[field->slot],
                field->required ? "" : " (optional)");
    }
    fprintf(out, "}\n\nneeds the capability %s\n", fabric_cap_name((enum fabric_cap_bit)bit));
}

static void help_operation(FILE *out, const struct operation_word *word)
{
    static const char *const parameters[] = {"key: KEY",    "size: 64 KiB", "seed: N",
                                             "file: PATH",  "path: PATH",   "block_size: 64 KiB",
                                             "timeout: 1 s"};
    fprintf(out, "%s: %s\n\n  %s: {node: NODE", word->name, word->help, word->name);
    for (unsigned i = 0; i < 7; i++) {
        unsigned bit = 1u << i;
        if (word->required & bit)
            fprintf(out, ", %s", parameters[i]);
        else if ((word->allowed | OPERATION_TIMEOUT) & bit)
            fprintf(out, ", %s (optional)", parameters[i]);
    }
    fprintf(out, "}\n");
    if (word->allowed & OPERATION_FILE)
        fprintf(out, "\nfile is relative to the scenario and is put on the node; path is on the "
                     "node already; one of the two\n");
}

static void suggest(FILE *err, const char *topic)
{
    const char *names[FIELD_COUNT + OPERATION_WORD_COUNT + TESTBED_WORD_COUNT];
    size_t count = 0;
    for (size_t i = 0; i < FIELD_COUNT; i++)
        names[count++] = fields[i].name;
    for (size_t i = 0; i < OPERATION_WORD_COUNT; i++)
        names[count++] = operation_words[i].name;
    for (size_t i = 0; i < TESTBED_WORD_COUNT; i++)
        names[count++] = fault_words[i].name;
    const char *near = nearest_name(topic, names, count);
    fprintf(err, "memkv-scenario: no field or word '%s'", topic);
    if (near)
        fprintf(err, "; did you mean '%s'?\n", near);
    else
        fprintf(err, "; `memkv-scenario help words` lists them\n");
}

bool command_help(const struct command_host *host, const char *topic)
{
    const struct fault_word *fault = fault_word_by_name(topic);
    const struct operation_word *operation = operation_word_by_name(topic);
    enum fabric_error error;
    if (strcmp(topic, "words") == 0) {
        help_list(host->out);
        return true;
    }
    if (fault)
        help_fault(host->out, fault);
    else if (operation)
        help_operation(host->out, operation);
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        if (strcmp(fields[i].name, topic) == 0) {
            fprintf(host->out, "%s: %s\n", topic, fields[i].text);
            return true;
        }
    }
    if (fault || operation)
        return true;
    if (error_by_name(topic, &error)) {
        fprintf(host->out, "%s: %s\n  cause: %s\n  fix: %s\n", topic, error_info(error)->text,
                error_info(error)->cause, error_info(error)->fix);
        return true;
    }
    suggest(host->err, topic);
    return false;
}
