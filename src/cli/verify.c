/* SPDX-License-Identifier: Apache-2.0 */
/* memkv net verify: a block there and back, and what agreed on the way (MK-H2). */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "src/cli/commands.h"
#include "src/cli/work.h"
#include "src/config/yaml_edit.h"
#include "src/fabric/planted.h"

#define DEFAULT_SIZE (1024u * 1024u + 1u) /* bytes */
#define LEAST_SIZE (2u * 4096u + 1u)      /* two packets of the largest MTU and one of 1 byte */

enum step { PUT, GET, DELETE };

struct verify {
    char key[64];
    uint8_t *sent, *received;
    uint64_t size, seed, differs_at;
    bool differs;
    enum client_transport transport;
    json_t *status; /* of the client, before it ended */
};

static void fill(uint8_t *data, uint64_t length, uint64_t seed)
{
    for (uint64_t at = 0; at < length; at += 8) {
        uint64_t word = XXH3_64bits_withSeed(&at, sizeof at, seed);
        memcpy(data + at, &word, length - at < 8 ? (size_t)(length - at) : 8);
    }
}

static void begin(struct cli_work *w)
{
    struct verify *v = w->context;
    uint64_t name = 0;
    assert(v->size >= LEAST_SIZE && v->size <= CLIENT_MAX_VALUE);
    fabric_entropy(w->fabric, &name, sizeof name);
    fabric_entropy(w->fabric, &v->seed, sizeof v->seed);
    snprintf(v->key, sizeof v->key, "memkv-verify-%016" PRIx64, name);
    fill(v->sent, v->size, v->seed);
    cli_work_submit(w, CLIENT_PUT, v->key, v->sent, v->size, PUT);
}

static void compare(struct verify *v, const struct client_completion *completion)
{
    uint64_t at = 0;
    while (at < completion->length && at < v->size && v->sent[at] == v->received[at])
        at++;
    v->differs_at = at;
    v->differs = (at < v->size || completion->length != v->size) && !PLANTED(cli_verify_blind);
}

static void completed(struct cli_work *w, const struct client_completion *completion)
{
    struct verify *v = w->context;
    if (!v->status)
        v->status = client_status(w->client);
    if (completion->error) {
        json_decref(v->status);
        v->status = client_status(w->client);
        cli_work_end_by(w, completion);
        return;
    }
    switch ((enum step)completion->cookie) {
    case PUT:
        cli_work_submit(w, CLIENT_GET, v->key, v->received, v->size, GET);
        break;
    case GET:
        v->transport = completion->transport;
        compare(v, completion);
        json_decref(v->status);
        v->status = client_status(w->client);
        cli_work_submit(w, CLIENT_DELETE, v->key, NULL, 0, DELETE);
        break;
    case DELETE:
        cli_work_end_by(w, completion);
        break;
    }
}

/* ------------------------------------------------------------------ what is shown */

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "";
}

static int number_of(const json_t *object, const char *name)
{
    return (int)json_integer_value(json_object_get(object, name));
}

static void show_rail(struct cli *cli, const json_t *rail)
{
    uint64_t pkey = strtoull(text_of(rail, "pkey"), NULL, 16);
    cli_print(cli, "%-18s: %s  port %d  (%s)\n", "device", text_of(rail, "device"),
              number_of(rail, "port"), text_of(rail, "state"));
    if (number_of(rail, "lid"))
        cli_print(cli, "%-18s: %d\n", "LID", number_of(rail, "lid"));
    cli_print(cli, "%-18s: %s   (%s membership)\n", "P_Key", text_of(rail, "pkey"),
              pkey & 0x8000 ? "full" : "limited");
}

/* What the port counted since the rail was up: all of it where others use the port too. */
static void show_counters(struct cli *cli, const json_t *rail)
{
    const char *name, *before = "";
    json_t *value;
    json_t *counters = json_object_get(rail, "port_counters_growth");
    if (json_object_size(counters) == 0)
        return;
    cli_print(cli, "%-18s: ", "port counters");
    json_object_foreach(counters, name, value)
    {
        if (json_integer_value(value) == 0)
            continue;
        cli_print(cli, "%s%s +%" JSON_INTEGER_FORMAT, before, name, json_integer_value(value));
        before = ", ";
    }
    cli_print(cli, "%s\n", *before ? "" : "nothing grew");
}

static void show_link(struct cli *cli, const json_t *link)
{
    if (strcmp(text_of(link, "state"), "up") != 0) {
        cli_print(cli, "%-18s: %s (%s)\n", "link", text_of(link, "state"), text_of(link, "reason"));
        return;
    }
    if (number_of(link, "peer_lid"))
        cli_print(cli, "%-18s: %d\n", "peer LID", number_of(link, "peer_lid"));
    if (*text_of(link, "gid"))
        cli_print(cli, "%-18s: %s\n", "GID", text_of(link, "gid"));
    if (*text_of(link, "peer_gid"))
        cli_print(cli, "%-18s: %s\n", "peer GID", text_of(link, "peer_gid"));
    cli_print(cli, "%-18s: %d\n", "path MTU", number_of(link, "path_mtu"));
}

static void show(struct cli_work *w, const struct verify *v)
{
    struct cli *cli = w->cli;
    const json_t *item, *server = json_array_get(json_object_get(v->status, "servers"), 0);
    size_t i;
    cli_print(cli, "%-18s: %s\n", "server", w->config.servers[0]);
    cli_print(cli, "%-18s: %s\n", "transport",
              w->error                         ? "none"
              : v->transport == CLIENT_OVER_RC ? "RDMA (RC)"
              : v->transport == CLIENT_OVER_DC ? "RDMA (DC)"
                                               : "TCP");
    json_array_foreach(json_object_get(v->status, "rails"), i, item) show_rail(cli, item);
    json_array_foreach(json_object_get(server, "links"), i, item) show_link(cli, item);
    if (!w->error)
        cli_print(cli, "%-18s: %" PRIu64 " bytes there and back\n", "block", v->size);
    cli_print(cli, "%-18s: %d\n", "retries",
              number_of(json_object_get(v->status, "counters"), "retries"));
    json_array_foreach(json_object_get(v->status, "rails"), i, item) show_counters(cli, item);
}

static void say_verified(struct cli_work *w, const struct verify *v)
{
    if (v->transport != CLIENT_OVER_TCP)
        cli_print(w->cli, "VERIFIED: addressing, partition and MTU agree end to end with %s\n",
                  w->config.servers[0]);
    else
        cli_print(w->cli, "VERIFIED (tcp only: fabric not proven): every byte came back from %s\n",
                  w->config.servers[0]);
}

static void say_failed(struct cli_work *w, enum fabric_error error, const char *detail)
{
    const struct error_info *info = error_info(error);
    struct cli *cli = w->cli;
    cli_print(cli, "FAILED: %s: %s\n", info->name, detail);
    const char *const texts[][2] = {
        {"meaning", info->text}, {"cause", info->cause}, {"check next", info->fix}};
    for (size_t i = 0; i < 3; i++) {
        cli_print(cli, "  %-11s", texts[i][0]);
        cli_wrap(cli->host->out, texts[i][1], 13, cli->host->columns ? cli->host->columns : 100);
    }
}

static void show_json(struct cli_work *w, const struct verify *v, enum fabric_error error,
                      const char *detail)
{
    json_t *page = json_pack("{s:b, s:b, s:o, s:s, s:I}", "ok", !error, "verified", !error,
                             "server", net_string(w->config.servers[0]), "transport",
                             error ? "none" : client_transport_name(v->transport), "bytes",
                             (json_int_t)v->size);
    assert(page);
    json_object_set_new(page, "fabric_proven",
                        json_boolean(!error && v->transport != CLIENT_OVER_TCP));
    if (v->status)
        json_object_set(page, "client", v->status);
    if (error)
        json_object_set_new(page, "error", net_error_object(error, detail, NULL));
    cli_print_json(w->cli, page);
}

/* What the whole of it comes to; `detail` has CLIENT_DETAIL bytes. */
static enum fabric_error judge(const struct cli_work *w, const struct verify *v, char *detail)
{
    assert(w->done);
    detail[0] = '\0';
    if (w->error) {
        const char *said = w->last.detail[0] ? w->last.detail : error_info(w->error)->text;
        snprintf(detail, CLIENT_DETAIL, "server %.70s: %.150s", w->config.servers[0], said);
        return w->error;
    }
    if (v->differs) {
        snprintf(detail, CLIENT_DETAIL, "byte %" PRIu64 " of %" PRIu64 " is not what was written",
                 v->differs_at, v->size);
        return ERR_TAG_MISMATCH;
    }
    if (w->config.transport != CONFIG_TRANSPORT_TCP && v->transport == CLIENT_OVER_TCP) {
        snprintf(detail, CLIENT_DETAIL, "the block went over TCP; --transport tcp accepts that");
        return ERR_FALLBACK_TCP;
    }
    return FABRIC_OK;
}

static enum cli_exit tell(struct cli_work *w, const struct verify *v)
{
    char detail[CLIENT_DETAIL];
    enum fabric_error error = judge(w, v, detail);
    if (w->cli->arguments->json) {
        show_json(w, v, error, detail);
        return cli_exit_of(error);
    }
    show(w, v);
    if (error)
        say_failed(w, error, detail);
    else
        say_verified(w, v);
    return cli_exit_of(error);
}

static enum cli_exit read_size(struct cli *cli, uint64_t *out)
{
    const char *given = cli_value(cli->arguments, "size");
    struct yaml_errors errors;
    *out = DEFAULT_SIZE;
    if (!given)
        return CLI_DONE;
    yaml_errors_init(&errors, "--size");
    struct yaml_tree *tree = yaml_parse("{size: 0}", 9, &errors);
    assert(tree);
    struct yaml_value *value = yaml_find_edit(yaml_root_edit(tree), "size");
    yaml_set_text(value, given, false);
    bool ok = yaml_read_size(value, "size", LEAST_SIZE, CLIENT_MAX_VALUE, out, &errors);
    yaml_tree_free(tree);
    if (ok)
        return CLI_DONE;
    return cli_usage(cli, "--size: found '%.60s'; %u bytes to 16 MiB are expected", given,
                     LEAST_SIZE);
}

static enum cli_exit run(struct cli *cli, struct verify *v)
{
    enum cli_exit code;
    struct cli_work work = {.cli = cli,
                            .context = v,
                            .begin = begin,
                            .completed = completed,
                            .one_server = true,
                            .transport = cli_value(cli->arguments, "transport") ? NULL : "rdma"};
    v->sent = calloc(1, (size_t)v->size);
    v->received = calloc(1, (size_t)v->size);
    if (!v->sent || !v->received)
        return cli_fail(cli, ERR_RESOURCES_EXHAUSTED, "no memory for two blocks");
    return cli_work_run(&work, &code) ? tell(&work, v) : code;
}

enum cli_exit cli_run_verify(struct cli *cli)
{
    struct verify verify = {.size = 0};
    assert(cli);
    enum cli_exit code = read_size(cli, &verify.size);
    if (code == CLI_DONE)
        code = run(cli, &verify);
    json_decref(verify.status);
    free(verify.sent);
    free(verify.received);
    return code;
}
