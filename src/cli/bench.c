/* SPDX-License-Identifier: Apache-2.0 */
#include "src/cli/bench.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "src/cli/commands.h"

#define SECOND UINT64_C(1000000000)
#define MOST_KEYS 1000000
#define MOST_MEMORY (UINT64_C(8) << 30) /* bytes, of the values under way */

struct bench { /* as the command holds it */
    struct bench_plan plan;
    struct bench_load *loads;
    struct cli_work *works;
};

/* ------------------------------------------------------------------ options */

static enum cli_exit read_count(struct cli *cli, const char *option, int64_t most, uint64_t *out)
{
    const char *given;
    struct yaml_errors errors;
    int64_t number = 0;
    struct yaml_tree *tree = cli_option_value(cli, option, &given);
    if (!tree)
        return CLI_DONE;
    yaml_errors_init(&errors, option);
    const struct yaml_value *value = yaml_find(yaml_root(tree), "value");
    bool ok = yaml_read_integer(value, option, 1, most, &number, &errors);
    yaml_tree_free(tree);
    if (!ok)
        return cli_usage(cli, "--%s: found '%.60s'; 1 to %lld is expected", option, given,
                         (long long)most);
    *out = (uint64_t)number;
    return CLI_DONE;
}

static enum cli_exit read_time(struct cli *cli, const char *option, uint64_t *out)
{
    const char *given;
    struct yaml_errors errors;
    struct yaml_tree *tree = cli_option_value(cli, option, &given);
    if (!tree)
        return CLI_DONE;
    yaml_errors_init(&errors, option);
    const struct yaml_value *value = yaml_find(yaml_root(tree), "value");
    bool ok = yaml_read_duration(value, option, 0, 24 * 3600 * SECOND, out, &errors);
    yaml_tree_free(tree);
    return ok ? CLI_DONE
              : cli_usage(cli, "--%s: found '%.60s'; a time such as 10s, at most 24 h, is expected",
                          option, given);
}

static enum cli_exit read_size(struct cli *cli, uint64_t *out)
{
    const char *given;
    struct yaml_errors errors;
    struct yaml_tree *tree = cli_option_value(cli, "size", &given);
    if (!tree)
        return CLI_DONE;
    yaml_errors_init(&errors, "size");
    const struct yaml_value *value = yaml_find(yaml_root(tree), "value");
    bool ok = yaml_read_size(value, "size", 1, CLIENT_MAX_VALUE, out, &errors);
    yaml_tree_free(tree);
    return ok ? CLI_DONE
              : cli_usage(cli, "--size: found '%.60s'; 1 byte to 16 MiB are expected", given);
}

/* PUT:GET or PUT:GET:EXISTS, of which one is not 0. */
static enum cli_exit read_mix(struct cli *cli, uint64_t mix[BENCH_KINDS])
{
    static const enum client_kind order[BENCH_KINDS] = {CLIENT_PUT, CLIENT_GET, CLIENT_EXISTS};
    const char *given = cli_value(cli->arguments, "mix"), *at = given;
    uint64_t sum = 0;
    uint32_t count = 0;
    if (!given)
        return CLI_DONE;
    memset(mix, 0, BENCH_KINDS * sizeof *mix);
    while (at && count < BENCH_KINDS) {
        char *end;
        if (*at < '0' || *at > '9')
            break;
        const unsigned long number = strtoul(at, &end, 10);
        if (end - at > 4 || (*end && *end != ':'))
            break;
        mix[order[count++]] = number;
        sum += number;
        at = *end ? end + 1 : NULL;
    }
    if (!at && count >= 2 && sum > 0)
        return CLI_DONE;
    return cli_usage(
        cli, "--mix: found '%.60s'; PUT:GET or PUT:GET:EXISTS is expected, such as 1:4", given);
}

static enum cli_exit read_plan(struct cli *cli, struct bench_plan *p)
{
    *p = (struct bench_plan){.size = UINT64_C(2) << 20,
                             .depth = 8,
                             .threads = 1,
                             .mix = {[CLIENT_PUT] = 1, [CLIENT_GET] = 1},
                             .keys = 64,
                             .warm_up = SECOND,
                             .duration = 10 * SECOND,
                             .seed = 1,
                             .keep = cli_has(cli->arguments, "keep")};
    enum cli_exit code = read_size(cli, &p->size);
    code = code ? code : read_count(cli, "depth", BENCH_MAX_DEPTH, &p->depth);
    code = code ? code : read_count(cli, "threads", CLI_MAX_NODES, &p->threads);
    code = code ? code : read_mix(cli, p->mix);
    code = code ? code : read_count(cli, "keys", MOST_KEYS, &p->keys);
    code = code ? code : read_time(cli, "warm-up", &p->warm_up);
    code = code ? code : read_time(cli, "duration", &p->duration);
    code = code ? code : read_count(cli, "count", INT64_MAX, &p->count);
    code = code ? code : read_count(cli, "seed", INT64_MAX, &p->seed);
    if (code == CLI_DONE && p->size * p->depth * p->threads > MOST_MEMORY)
        return cli_usage(cli, "--size, --depth and --threads: found more than 8 GiB under way");
    if (code == CLI_DONE && p->count)
        p->count = (p->count + p->threads - 1) / p->threads;
    return code;
}

/* ------------------------------------------------------------------ the command */

static enum cli_exit open_loads(struct cli *cli, struct bench *b)
{
    const uint64_t threads = b->plan.threads;
    b->loads = calloc((size_t)threads, sizeof *b->loads);
    b->works = calloc((size_t)threads, sizeof *b->works);
    bool ok = b->loads && b->works;
    for (uint32_t i = 0; ok && i < threads; i++) {
        ok = bench_load_open(&b->loads[i], &b->plan, i);
        b->works[i] = (struct cli_work){.cli = cli,
                                        .context = &b->loads[i],
                                        .begin = bench_load_begin,
                                        .completed = bench_load_completed,
                                        .drained = bench_load_drained,
                                        .interrupted = bench_load_interrupted};
    }
    return ok ? CLI_DONE
              : cli_fail(cli, ERR_RESOURCES_EXHAUSTED, "no memory for the values under way");
}

static enum cli_exit judge(struct cli *cli, struct bench *b)
{
    bool interrupted = false;
    cli_progress_end(&b->loads[0].progress, &b->works[0]);
    for (uint64_t i = 0; i < b->plan.threads; i++) {
        struct cli_work *w = &b->works[i];
        interrupted = interrupted || b->loads[i].interrupted;
        if (w->error && w->error != ERR_CANCELLED)
            return cli_work_fail(w, "bench");
    }
    bench_report(cli, &b->plan, &b->works[0].config, b->loads);
    return interrupted ? CLI_INTERRUPTED : CLI_DONE;
}

enum cli_exit cli_run_bench(struct cli *cli)
{
    struct bench bench = {.loads = NULL};
    assert(cli);
    enum cli_exit code = read_plan(cli, &bench.plan);
    if (code == CLI_DONE)
        code = open_loads(cli, &bench);
    if (code == CLI_DONE && cli_works_run(bench.works, (size_t)bench.plan.threads, &code))
        code = judge(cli, &bench);
    for (uint64_t i = 0; bench.loads && i < bench.plan.threads; i++)
        bench_load_close(&bench.loads[i]);
    free(bench.loads);
    free(bench.works);
    return code;
}
