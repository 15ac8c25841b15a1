/* SPDX-License-Identifier: Apache-2.0 */
#include "src/cli/work.h"

#include <assert.h>
#include <openssl/crypto.h>
#include <string.h>

#include "src/fabric/planted.h"

static void drop_report(void *context, const char *json)
{
    (void)context;
    (void)json; /* the log says it in words */
}

static void drain(struct cli_work *w)
{
    struct client_completion completion;
    while (!w->done && client_completions(w->client, &completion, 1) == 1)
        w->completed(w, &completion);
    if (!w->done && w->drained)
        w->drained(w);
}

static enum fabric_error start(struct fabric *f, const char *config, size_t length,
                               const struct fabric_report_sink *sink, void **state)
{
    static const struct fabric_report_sink nowhere = {.report = drop_report};
    struct cli_work *w = sink->context;
    (void)config; /* the work is configured already */
    assert(w && length == 0);
    w->fabric = f;
    enum fabric_error error = client_create(f, &w->config, &nowhere, &w->client);
    if (error)
        return error;
    *state = w;
    w->begin(w);
    drain(w);
    return FABRIC_OK;
}

static void take(void *state, const struct fabric_event *event)
{
    struct cli_work *w = state;
    assert(w && event);
    client_event(w->client, event);
    drain(w);
}

/* There is one: a signal came. */
static void command(void *state, const char *json)
{
    struct cli_work *w = state;
    (void)json;
    if (!w->done && w->interrupted)
        w->interrupted(w);
}

static void stop(void *state)
{
    struct cli_work *w = state;
    assert(w && w->client);
    client_destroy(w->client);
    w->client = NULL;
}

static const struct fabric_program work_program = {
    .name = "command", .start = start, .event = take, .command = command, .stop = stop};

static bool is_done(void *context)
{
    const struct cli_work *w = context;
    return w->done;
}

/* Most commands have nothing to finish: what was not acknowledged did not happen. */
static const char *take_signal(void *context, int cli_signal)
{
    struct cli_work *w = context;
    (void)cli_signal;
    w->cancelled = true;
    return w->interrupted ? "{}" : NULL;
}

static struct cli_node node_of(struct cli_work *work)
{
    return (struct cli_node){.program = &work_program,
                             .config = "",
                             .sink = {.context = work, .report = drop_report},
                             .done = is_done,
                             .signal = take_signal,
                             .context = work,
                             .log_level = FABRIC_LOG_WARN,
                             .busy_poll = work->config.rdma.busy_poll};
}

static enum fabric_error run_all(struct cli_work *works, size_t count)
{
    const struct cli_host *host = works->cli->host;
    struct cli_node nodes[CLI_MAX_NODES];
    assert(count >= 1 && count <= CLI_MAX_NODES);
    for (size_t i = 0; i < count; i++) {
        assert(works[i].begin && works[i].completed && (count == 1 || works[i].interrupted));
        works[i].config = works->config;
        nodes[i] = node_of(&works[i]);
    }
    return count == 1 ? host->run(host->context, nodes)
                      : host->run_several(host->context, nodes, count);
}

bool cli_works_run(struct cli_work *works, size_t count, enum cli_exit *code)
{
    assert(works && count && code);
    bool done = true;
    *code = cli_client_config(works->cli, works->transport, &works->config);
    if (*code != CLI_DONE)
        return false;
    if (works->one_server && works->config.server_count > 1 && !PLANTED(cli_verify_any_server)) {
        *code = cli_usage(works->cli, "found %u servers; one is expected: --server HOST:PORT",
                          (unsigned)works->config.server_count);
        return false;
    }
    enum fabric_error error = run_all(works, count);
    for (size_t i = 0; i < count; i++) {
        OPENSSL_cleanse(works[i].config.auth_key, sizeof works[i].config.auth_key);
        done = done && works[i].done;
    }
    if (done)
        return true;
    if (works->cancelled || error == ERR_CANCELLED)
        *code = CLI_INTERRUPTED;
    else
        *code = cli_fail(works->cli, error ? error : ERR_INTERNAL, "the client did not start");
    return false;
}

bool cli_work_run(struct cli_work *work, enum cli_exit *code)
{
    assert(work);
    return cli_works_run(work, 1, code);
}

void cli_work_submit(struct cli_work *work, enum client_kind kind, const char *key, void *data,
                     uint64_t length, uint64_t cookie)
{
    const struct client_request request = {.kind = kind,
                                           .key = key,
                                           .key_length = strlen(key),
                                           .data = data,
                                           .length = length,
                                           .cookie = cookie};
    assert(work && work->client && key);
    enum fabric_error error = client_submit(work->client, &request, 1, NULL);
    if (error)
        cli_work_end(work, error);
}

void cli_work_end(struct cli_work *work, enum fabric_error error)
{
    assert(work);
    work->error = error;
    work->done = true;
}

void cli_work_end_by(struct cli_work *work, const struct client_completion *completion)
{
    assert(work && completion);
    work->last = *completion;
    work->last.server = work->config.servers[0]; /* the client's own text goes with it */
    for (uint32_t i = 0; completion->server && i < work->config.server_count; i++) {
        if (strcmp(work->config.servers[i], completion->server) == 0)
            work->last.server = work->config.servers[i];
    }
    cli_work_end(work, completion->error);
}

enum cli_exit cli_work_fail(struct cli_work *work, const char *what)
{
    assert(work && work->error && what);
    const struct client_completion *last = &work->last;
    const char *server = last->server ? last->server : work->config.servers[0];
    const size_t length = strlen(server);
    if (strncmp(last->detail, server, length) == 0 && last->detail[length] == ':')
        return cli_fail(work->cli, work->error, "%s: server %s", what, last->detail);
    return cli_fail(work->cli, work->error, "%s: server %s%s%s", what, server,
                    last->detail[0] ? ": " : "", last->detail);
}
