/* SPDX-License-Identifier: Apache-2.0 */
#include "src/scenario/command.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "src/fabric/planted.h"
#include "src/scenario/cases.h"
#include "src/scenario/command_arguments.h"
#include "src/scenario/files.h"
#include "src/scenario/junit.h"
#include "src/scenario/remote.h"
#include "src/scenario/report.h"

/* What a worker needs to run or read the i-th case. */
struct batch {
    const struct command_host *host;
    const struct arguments *arguments;
    const struct case_list *cases;
    FILE *trace;
    bool only_check;
};

static void trace_to_file(void *context, const char *line, size_t length)
{
    FILE *file = context;
    fwrite(line, 1, length, file);
    if (length == 0 || line[length - 1] != '\n')
        fputc('\n', file);
}

static bool has_tag(const struct scenario *scenario, const char *tag)
{
    for (size_t i = 0; i < scenario->tag_count; i++) {
        if (strcmp(scenario->tags[i], tag) == 0)
            return true;
    }
    return false;
}

static uint64_t wall(const struct command_host *host)
{
    return host->wall ? host->wall(host->context) : 0;
}

/* HA-2.4: the same seed must give the same trace and as many draws. */
static void run_again(const struct scenario *scenario, const struct arguments *a,
                      const struct scenario_options *options, struct scenario_result *first)
{
    struct scenario_result second;
    struct scenario_options silent = *options;
    silent.trace = NULL;
    scenario_run(scenario, a->fabric, &silent, &second);
    bool same = second.trace_hash == first->trace_hash && second.draws == first->draws &&
                second.status == first->status;
    if (!same && !PLANTED(scenario_twice_unchecked)) {
        first->status = SCENARIO_BROKEN;
        text_free(&first->reason);
        text_add(&first->reason,
                 "not deterministic: trace %016" PRIx64 " with %" PRIu64
                 " draws, the second time %016" PRIx64 " with %" PRIu64,
                 first->trace_hash, first->draws, second.trace_hash, second.draws);
    }
    scenario_result_free(&second);
}

static json_t *run_one(const struct batch *batch, const struct scenario *scenario)
{
    const struct command_host *host = batch->host;
    const struct arguments *a = batch->arguments;
    struct scenario_options options = {.seed = a->seed,
                                       .caps = a->caps,
                                       .programs = host->programs,
                                       .program_count = host->program_count,
                                       .inventory = a->inventory,
                                       .host = host->machines,
                                       .slow = a->slow,
                                       .trace = batch->trace ? trace_to_file : NULL,
                                       .trace_context = batch->trace,
                                       .interrupted = host->interrupted,
                                       .interrupt_context = host->context};
    struct scenario_result result;
    uint64_t begin = wall(host);
    assert(batch->arguments->fabric);
    scenario_run(scenario, a->fabric, &options, &result);
    uint64_t took = wall(host) - begin;
    if (a->twice && (result.status == SCENARIO_PASSED || result.status == SCENARIO_FAILED))
        run_again(scenario, a, &options, &result);
    json_t *report = report_run(scenario, a->fabric->name, &result, took);
    scenario_result_free(&result);
    return report;
}

/* What would be done, in place of doing it. */
static void show_plan(const struct batch *batch, const struct scenario *scenario)
{
    const struct command_host *host = batch->host;
    const struct arguments *a = batch->arguments;
    const struct scenario_options options = {
        .caps = a->caps, .inventory = a->inventory, .host = host->machines};
    struct text lines = {0};
    if (a->tag && !has_tag(scenario, a->tag))
        return;
    (void)scenario_plan(scenario, a->fabric, &options, &lines);
    fputs(text_data(&lines), host->out);
    text_free(&lines);
}

/* Null: the tag does not fit, or only the plan was wanted. */
static json_t *do_case(const struct batch *batch, const struct case_name *one)
{
    const char *path = one->file;
    const struct command_host *host = batch->host;
    const char *names[SCENARIO_MAX_PROGRAMS];
    char detail[FILES_DETAIL];
    struct text content = {0};
    struct yaml_errors errors;
    assert(path);
    yaml_errors_init(&errors, path);
    for (size_t i = 0; i < host->program_count; i++)
        names[i] = host->programs[i]->name;
    if (!file_read(path, &content, detail)) {
        yaml_complain(&errors, (struct yaml_mark){1, 1}, "%s", detail);
        return report_invalid(path, one->name, &errors);
    }
    struct scenario *scenario = scenario_read(path, text_data(&content), content.length, one->cell,
                                              names, host->program_count, &errors);
    json_t *report = NULL;
    if (!scenario)
        report = report_invalid(path, one->name, &errors);
    else if (batch->only_check)
        report = report_valid(scenario);
    else if (batch->arguments->plan)
        show_plan(batch, scenario);
    else if (!batch->arguments->tag || has_tag(scenario, batch->arguments->tag))
        report = run_one(batch, scenario);
    scenario_free(scenario);
    text_free(&content);
    return report;
}

/* A worker's result travels as text, so that it may be another process. */
static void work(void *job, size_t i, struct text *out)
{
    const struct batch *batch = job;
    json_t *report = do_case(batch, &batch->cases->cases[i]);
    char *dump = report ? json_dumps(report, JSON_COMPACT) : NULL;
    assert(job && out);
    text_add(out, "%s", report ? dump : "null"); /* nothing at all: a worker that died */
    free(dump);
    json_decref(report);
}

struct totals {
    unsigned passed, failed, skipped, invalid;
    bool interrupted;
};

static void count(struct totals *totals, const char *status)
{
    if (strcmp(status, "passed") == 0)
        totals->passed++;
    else if (strcmp(status, "skipped") == 0)
        totals->skipped++;
    else if (strcmp(status, "interrupted") == 0)
        totals->interrupted = true;
    else
        totals->failed++;
    totals->invalid += strcmp(status, "invalid") == 0;
}

static int exit_of(const struct totals *totals)
{
    if (totals->interrupted)
        return COMMAND_INTERRUPTED;
    if (totals->invalid)
        return COMMAND_INVALID;
    if (totals->failed)
        return COMMAND_FAILED;
    return totals->passed ? COMMAND_PASSED : COMMAND_NOTHING;
}

/* What came of a case: JSON null when the tag does not fit; null when the operator's stop came
 * before it. */
static json_t *read_dump(const struct batch *batch, size_t i, const struct text *dump)
{
    const struct command_host *host = batch->host;
    const struct case_name *one = &batch->cases->cases[i];
    json_t *report = json_loads(text_data(dump), JSON_DECODE_ANY, NULL);
    assert(i < batch->cases->count);
    if (report || (host->interrupted && host->interrupted(host->context)))
        return report;
    if (PLANTED(scenario_dead_worker_silent))
        return json_null();
    return report_broken(one->file, one->name, batch->arguments->fabric->name,
                         dump->length ? "its worker died while it told the result"
                                      : "its worker died, or could not be made");
}

static void show(const struct batch *batch, json_t *report, struct totals *totals, json_t *all)
{
    const struct command_host *host = batch->host;
    struct report_style style = {host->color, host->columns};
    struct text lines = {0};
    assert(json_is_object(report) && all);
    count(totals, report_status(report));
    if (host->terminal)
        fputs("\r\033[K", host->err);
    if (!batch->arguments->json) {
        report_text(report, &style, &lines);
        fwrite(text_data(&lines), 1, lines.length, host->out);
        fflush(host->out); /* whoever reads along sees each result when it is known */
        text_free(&lines);
    }
    json_array_append_new(all, report);
}

static bool run_batch(const struct batch *batch, struct totals *totals, json_t *all)
{
    const struct command_host *host = batch->host;
    size_t cases = batch->cases->count;
    struct text *dumps = calloc(cases + 1, sizeof *dumps);
    bool lived = true;
    assert(totals && all);
    if (!dumps)
        abort();
    /* Machines are one world: one case at a time. */
    bool fail_fast = batch->arguments->fail_fast && !PLANTED(scenario_fail_fast_ignored);
    bool spread = host->spread && batch->arguments->jobs > 1 && !batch->trace && !fail_fast &&
                  !batch->arguments->fabric->open;
    if (spread)
        lived = host->spread(host->context, cases, (unsigned)batch->arguments->jobs, work,
                             (void *)(uintptr_t)batch, dumps);
    for (size_t i = 0; i < cases && (spread || !totals->interrupted); i++) {
        if (fail_fast && totals->failed > 0) {
            fprintf(host->err, "memkv-scenario: stopped at the first failure; %zu left\n",
                    cases - i);
            break;
        }
        if (!spread && host->terminal) {
            fprintf(host->err, "\r\033[K%zu of %zu", i + 1, cases);
            fflush(host->err);
        }
        if (!spread)
            work((void *)(uintptr_t)batch, i, &dumps[i]);
        json_t *report = read_dump(batch, i, &dumps[i]);
        if (json_is_object(report))
            show(batch, report, totals, all);
        else
            totals->interrupted = totals->interrupted || !report;
    }
    for (size_t i = 0; i < cases; i++)
        text_free(&dumps[i]);
    free(dumps);
    if (!lived && !(host->interrupted && host->interrupted(host->context)))
        fprintf(host->err, "memkv-scenario: a worker died\n");
    return lived;
}

static void print_json(const struct command_host *host, const struct totals *totals, json_t *all)
{
    json_t *object =
        json_pack("{s:O, s:i, s:i, s:i}", "scenarios", all, "passed", (int)totals->passed, "failed",
                  (int)totals->failed, "skipped", (int)totals->skipped);
    char *dump = object ? json_dumps(object, JSON_INDENT(1)) : NULL;
    if (!dump)
        abort();
    fprintf(host->out, "%s\n", dump);
    free(dump);
    json_decref(object);
}

/* False after a complaint. */
static bool write_junit(const struct command_host *host, const struct arguments *a,
                        const json_t *all)
{
    struct text document = {0};
    FILE *file = a->junit ? fopen(a->junit, "w") : NULL;
    assert(all);
    if (!a->junit)
        return true;
    junit_text(all, a->fabric->name, &document);
    bool written = file && fwrite(document.data, 1, document.length, file) == document.length;
    written = file && fclose(file) == 0 && written;
    text_free(&document);
    if (!written)
        fprintf(host->err, "memkv-scenario: cannot write %s\n", a->junit);
    return written;
}

static int finish(const struct batch *batch, const struct totals *totals, json_t *all, bool lived)
{
    const struct command_host *host = batch->host;
    const struct arguments *a = batch->arguments;
    bool traced = !batch->trace || fclose(batch->trace) == 0;
    struct totals end = *totals;
    if (a->plan) /* nothing ran, and nothing was to */
        return COMMAND_PASSED;
    if (a->json)
        print_json(host, totals, all);
    else
        fprintf(host->out, "%u passed, %u failed, %u skipped\n", totals->passed, totals->failed,
                totals->skipped);
    if (!traced)
        fprintf(host->err, "memkv-scenario: %s is incomplete\n", a->trace);
    end.interrupted = end.interrupted || (host->interrupted && host->interrupted(host->context));
    if (write_junit(host, a, all) && lived && traced)
        return exit_of(&end);
    return end.interrupted ? COMMAND_INTERRUPTED : COMMAND_FAILED;
}

/* The cases of all paths, COMMAND_PASSED; or what is wrong was said. */
static int find_cases(const struct command_host *host, const struct arguments *a,
                      struct case_list *cases)
{
    char detail[FILES_DETAIL], word[CASE_WORD];
    assert(a->path_count > 0);
    for (size_t i = 0; i < a->path_count; i++) {
        if (!case_list_add(cases, a->paths[i], a->cell, detail)) {
            fprintf(host->err, "memkv-scenario: %s\n", detail);
            return COMMAND_INVALID;
        }
    }
    if (a->cell && cases->label_count == 0 && cases->count == 0) {
        fprintf(host->err, "memkv-scenario: --cell: none of these files has a matrix\n");
        return COMMAND_USAGE;
    }
    if (a->cell && cases->label_count > 0 && case_list_lacks(cases, a->cell, word))
        return command_no_such(host, "--cell: no matrix has", word,
                               (const char *const *)cases->labels, cases->label_count);
    case_list_shard(cases, a->shard, a->shards);
    return COMMAND_PASSED;
}

static int do_files(const struct command_host *host, const struct arguments *a, bool only_check)
{
    struct case_list cases = {0};
    struct totals totals = {0};
    struct batch batch = {host, a, &cases, NULL, only_check};
    int status = find_cases(host, a, &cases);
    if (status == COMMAND_PASSED && a->trace && !(batch.trace = fopen(a->trace, "w"))) {
        fprintf(host->err, "memkv-scenario: cannot write %s\n", a->trace);
        status = COMMAND_USAGE;
    }
    if (status == COMMAND_PASSED) {
        json_t *all = json_array();
        bool lived = run_batch(&batch, &totals, all);
        status = finish(&batch, &totals, all, lived);
        json_decref(all);
    }
    case_list_free(&cases);
    return status;
}

/* Before anything is done to machines. */
static int open_fabric(const struct command_host *host, const struct arguments *a)
{
    char detail[TESTBED_DETAIL] = "";
    const struct testbed_options options = {
        .inventory = a->inventory, .host = host->machines, .plan = a->plan};
    if (!a->fabric->open && (a->inventory || a->plan)) {
        fprintf(host->err,
                "memkv-scenario: --inventory and --plan are for fabrics of machines, "
                "not for %s\n",
                a->fabric->name);
        return COMMAND_USAGE;
    }
    if (!a->fabric->open || a->fabric->open(&options, detail))
        return COMMAND_PASSED;
    fprintf(host->err, "memkv-scenario: %s: %s\n", a->fabric->name, detail);
    return a->inventory ? COMMAND_INVALID : COMMAND_USAGE;
}

static int undo(const struct command_host *host, const struct arguments *a)
{
    char detail[TESTBED_DETAIL] = "";
    const struct testbed_options options = {.inventory = a->inventory, .host = host->machines};
    if (!a->inventory) {
        fprintf(host->err, "memkv-scenario: undo where? --inventory FILE says it\n");
        return COMMAND_USAGE;
    }
    bool done = remote_undo(&options, detail);
    fprintf(done ? host->out : host->err, "%s%s\n", done ? "" : "memkv-scenario: ", detail);
    return done ? COMMAND_PASSED : COMMAND_FAILED;
}

static int dispatch(const struct command_host *host, const struct arguments *a)
{
    if (!a->command && !a->help) {
        fputs(command_usage, host->err);
        return COMMAND_USAGE;
    }
    bool help = a->command && strcmp(a->command, "help") == 0;
    if (help && a->path_count > 0)
        return command_help(host, a->paths[0]) ? COMMAND_PASSED : COMMAND_USAGE;
    if (a->help || help) {
        fputs(command_usage, host->out);
        return COMMAND_PASSED;
    }
    if (strcmp(a->command, "undo") == 0)
        return undo(host, a);
    bool run = strcmp(a->command, "run") == 0;
    if (!run && strcmp(a->command, "check") != 0)
        return command_unknown(host, a->command);
    if (a->path_count == 0) {
        fprintf(host->err, "memkv-scenario: %s what? Name files or folders with scenarios\n",
                a->command);
        return COMMAND_USAGE;
    }
    int opened = run ? open_fabric(host, a) : COMMAND_PASSED;
    return opened ? opened : do_files(host, a, !run);
}

int command_main(const struct command_host *host, int argc, const char *const *argv)
{
    assert(host && host->out && host->err && host->fabric_count > 0 && argc >= 0);
    struct arguments a = {.fabric = host->fabrics[0],
                          .seed = 1,
                          .jobs = 1,
                          .shard = 1,
                          .shards = 1,
                          .caps = FABRIC_CAPS_ALL};
    a.paths = calloc((size_t)argc + 1, sizeof *a.paths);
    if (!a.paths)
        abort();
    int status = command_read_arguments(host, argc, argv, &a);
    if (status == COMMAND_PASSED)
        status = dispatch(host, &a);
    free(a.paths);
    /* A result that nobody could read is no success. */
    if ((fflush(host->out) != 0 || ferror(host->out)) && status != COMMAND_INTERRUPTED) {
        fprintf(host->err, "memkv-scenario: standard output could not be written\n");
        return COMMAND_FAILED;
    }
    return status;
}
