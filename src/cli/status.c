/* SPDX-License-Identifier: Apache-2.0 */
/* memkv admin status: asks a server's HTTP end point. HTTP/1.0 without options: the answer is its
 * first line, a blank line, and the page up to the end of the stream. */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "src/cli/commands.h"
#include "src/cli/settings.h"

#define ANSWER_MAX (4u * 1024u * 1024u)
#define WAIT (5ull * 1000000000ull) /* ns for the whole of it */
#define DEFAULT_SERVER "127.0.0.1:9901"

static const char request[] = "GET /v1/status HTTP/1.0\r\nHost: memkv\r\n\r\n";

struct asking {
    const char *server;
    struct fabric *fabric;
    fabric_stream stream; /* id 0: closed */
    size_t sent;
    char *answer; /* ends in NUL */
    size_t length, room;
    bool done;
    enum fabric_error error;
};

static void finish(struct asking *a, enum fabric_error error)
{
    a->error = error;
    a->done = true;
}

static void send_request(struct asking *a)
{
    size_t accepted = 0;
    assert(a->sent <= sizeof request - 1);
    enum fabric_error error = fabric_stream_send(a->fabric, a->stream, request + a->sent,
                                                 sizeof request - 1 - a->sent, &accepted);
    a->sent += accepted;
    if (error)
        finish(a, error);
}

static bool make_room(struct asking *a)
{
    if (a->room - a->length > 4096)
        return true;
    size_t room = a->room ? 2 * a->room : 65536;
    char *answer = room <= ANSWER_MAX ? realloc(a->answer, room) : NULL;
    if (!answer)
        return false;
    a->answer = answer;
    a->room = room;
    return true;
}

static void receive(struct asking *a)
{
    bool end = false;
    for (size_t received = 1; received > 0 && !a->done;) {
        if (!make_room(a)) {
            finish(a, ERR_FRAME_TOO_LARGE);
            return;
        }
        enum fabric_error error = fabric_stream_recv(a->fabric, a->stream, a->answer + a->length,
                                                     a->room - a->length - 1, &received, &end);
        if (error) {
            finish(a, error);
            return;
        }
        a->length += received;
        a->answer[a->length] = '\0';
    }
    if (end)
        finish(a, FABRIC_OK);
}

static enum fabric_error start(struct fabric *f, const char *config, size_t length,
                               const struct fabric_report_sink *sink, void **state)
{
    struct asking *a = sink->context;
    fabric_timer timer;
    uint64_t now = 0;
    (void)config; /* there is nothing to configure */
    assert(a && length == 0);
    a->fabric = f;
    fabric_now(f, &now);
    enum fabric_error error = fabric_timer_set(f, now + WAIT, 0, &timer);
    if (!error)
        error = fabric_connect(f, a->server, 0, &a->stream);
    if (!error)
        *state = a;
    return error;
}

static void take(void *state, const struct fabric_event *event)
{
    struct asking *a = state;
    assert(a && event);
    if (a->done)
        return;
    switch (event->type) {
    case FABRIC_EVENT_CONNECTED:
    case FABRIC_EVENT_WRITABLE:
        send_request(a);
        break;
    case FABRIC_EVENT_READABLE:
        receive(a);
        break;
    case FABRIC_EVENT_CLOSED:
        finish(a, event->u.stream.error);
        break;
    case FABRIC_EVENT_TIMER:
        finish(a, ERR_TIMEOUT);
        break;
    default:
        break;
    }
}

static void drop_report(void *context, const char *json)
{
    (void)context;
    (void)json; /* this program reports nothing */
}

static void command(void *state, const char *json)
{
    (void)state;
    (void)json; /* nobody gives any: signals end it at once */
}

static void stop(void *state)
{
    struct asking *a = state;
    assert(a);
    if (a->stream.id)
        fabric_stream_close(a->fabric, a->stream, true);
    a->stream = (fabric_stream){0};
}

static const struct fabric_program asking_program = {
    .name = "admin status", .start = start, .event = take, .command = command, .stop = stop};

static bool is_done(void *context)
{
    const struct asking *a = context;
    return a->done;
}

/* ------------------------------------------------------------------ what is shown */

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "?";
}

static void line(struct cli *cli, const char *title, const json_t *object, const char *name)
{
    cli_print(cli, "%-18s: %" PRId64 "\n", title,
              (int64_t)json_integer_value(json_object_get(object, name)));
}

/* What a port that is well counts none of, since its rail was up. */
static void show_troubles(struct cli *cli, const json_t *counters)
{
    static const char *const troubles[] = {"xmit_discards", "rcv_errors", "symbol_errors",
                                           "link_downed",   "bad_pkey",   "bad_qkey",
                                           "ack_timeouts",  "seq_errors", "rnr_retries"};
    const char *before = "";
    for (size_t i = 0; i < sizeof troubles / sizeof *troubles; i++) {
        json_int_t value = json_integer_value(json_object_get(counters, troubles[i]));
        if (value == 0)
            continue;
        if (!*before)
            cli_print(cli, "%-18s: ", "port counters");
        cli_print(cli, "%s%s +%" JSON_INTEGER_FORMAT, before, troubles[i], value);
        before = ", ";
    }
    if (*before)
        cli_print(cli, "\n");
}

static void show(struct cli *cli, const json_t *status)
{
    const json_t *store = json_object_get(status, "store"), *rail;
    const json_t *counters = json_object_get(status, "counters");
    size_t i;
    cli_print(cli, "%-18s: %s\n", "health", text_of(status, "health"));
    cli_print(cli, "%-18s: %s\n", "version", text_of(status, "version"));
    line(cli, "uptime (s)", status, "uptime_seconds");
    cli_print(cli, "%-18s: %s\n", "RDMA active",
              json_is_true(json_object_get(status, "rdma_active")) ? "yes" : "no");
    json_array_foreach(json_object_get(status, "rails"), i, rail)
    {
        cli_print(cli, "%-18s: %s port %d: %s", "rail", text_of(rail, "device"),
                  (int)json_integer_value(json_object_get(rail, "port")), text_of(rail, "state"));
        if (strcmp(text_of(rail, "reason"), "ok") != 0)
            cli_print(cli, " (%s: %s)", text_of(rail, "reason"), text_of(rail, "detail"));
        cli_print(cli, "\n");
        show_troubles(cli, json_object_get(rail, "port_counters_growth"));
    }
    line(cli, "connections", status, "connections");
    line(cli, "blocks", store, "blocks");
    line(cli, "used (bytes)", store, "used");
    line(cli, "capacity (bytes)", store, "capacity");
    line(cli, "evictions", store, "evictions");
    line(cli, "puts", counters, "puts");
    line(cli, "gets", counters, "gets");
    line(cli, "auth failures", counters, "auth_failures");
}

static enum cli_exit check_server(struct cli *cli)
{
    const char *given;
    char address[CONFIG_NAME_MAX];
    struct yaml_errors errors;
    struct yaml_tree *tree = cli_option_value(cli, "server", &given);
    if (!given)
        return CLI_DONE;
    yaml_errors_init(&errors, "--server");
    bool ok = config_read_address(yaml_find(yaml_root(tree), "value"), "server", address, &errors);
    yaml_tree_free(tree);
    return ok ? CLI_DONE
              : cli_usage(cli, "--server: found '%.60s'; HOST:PORT or [IPv6]:PORT is expected",
                          given);
}

static const char where[] =
    "Check that the server runs, and take the address from its line `memkv: ready data=IP:PORT "
    "admin=IP:PORT`: it is admin.address, the data port + 1 unless set.";

static enum cli_exit unreached(struct cli *cli, const struct asking *a)
{
    return cli_fail_as(cli, a->error, cli_exit_of(a->error), where,
                       "%s: the HTTP end point of the server%s", a->server,
                       a->error == ERR_PEER_GONE ? "; with TLS, ask with curl https://" : "");
}

static enum cli_exit judge(struct cli *cli, const struct asking *a)
{
    if (a->error)
        return unreached(cli, a);
    const char *page = a->answer ? strstr(a->answer, "\r\n\r\n") : NULL;
    bool http = a->answer && strncmp(a->answer, "HTTP/1.", 7) == 0;
    if (!http || !page)
        return cli_fail_as(
            cli, ERR_FRAME_INVALID, cli_exit_of(ERR_FRAME_INVALID), where,
            "%s: what answers there speaks no HTTP; with TLS, ask with curl https://", a->server);
    json_t *status = json_loads(page + 4, 0, NULL);
    bool ok = strncmp(a->answer + 8, " 200", 4) == 0 && json_is_object(status);
    enum cli_exit code = CLI_DONE;
    if (!ok)
        code = cli_fail_as(cli, ERR_NOT_FOUND, CLI_NOT_FOUND, where,
                           "%s: found '%.12s'; is this a memkv server?", a->server, a->answer);
    else if (cli->arguments->json)
        cli_print_json(cli, json_incref(status));
    else
        show(cli, status);
    json_decref(status);
    return code;
}

enum cli_exit cli_run_status(struct cli *cli)
{
    const char *server = cli_value(cli->arguments, "server");
    struct asking asking = {.server = server ? server : DEFAULT_SERVER};
    const struct cli_node node = {.program = &asking_program,
                                  .config = "",
                                  .sink = {.context = &asking, .report = drop_report},
                                  .done = is_done,
                                  .context = &asking,
                                  .log_level = FABRIC_LOG_WARN};
    enum cli_exit code = check_server(cli);
    if (code != CLI_DONE)
        return code;
    enum fabric_error error = cli->host->run(cli->host->context, &node);
    if (error == ERR_CANCELLED)
        code = CLI_INTERRUPTED;
    else if (error)
        code = cli_fail(cli, error, "%s: the HTTP end point of the server", asking.server);
    else
        code = judge(cli, &asking);
    free(asking.answer);
    return code;
}
