/* SPDX-License-Identifier: Apache-2.0 */
#include "src/client/program.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "src/client/job.h"
#include "src/rail/log.h"

void program_report(struct program *p, json_t *object)
{
    assert(p);
    char *text = object ? json_dumps(object, JSON_COMPACT) : NULL;
    if (text)
        p->sink.report(p->sink.context, text);
    free(text);
    json_decref(object);
}

static enum fabric_error read_config(struct fabric *f, const char *text, size_t length,
                                     struct client_config *config)
{
    struct yaml_errors errors;
    yaml_errors_init(&errors, "client.yaml");
    bool ok = client_config_read(text, length, config, &errors);
    enum fabric_error error = yaml_errors_error(&errors);
    assert(ok == !error);
    for (size_t i = 0; i < errors.count; i++)
        rail_log(f, FABRIC_LOG_ERROR, "%s: %s", error_name(errors.items[i].error),
                 errors.items[i].text);
    if (!error && !config->auth_key_set) {
        error = ERR_CONFIG_INVALID;
        rail_log(f, FABRIC_LOG_ERROR,
                 "config_invalid: auth_key is expected; auth_key_file is not read here");
    }
    return error;
}

static enum fabric_error program_start(struct fabric *f, const char *config, size_t config_length,
                                       const struct fabric_report_sink *sink, void **state)
{
    assert(f && (config || config_length == 0) && sink && sink->report && state);
    struct program *p = calloc(1, sizeof *p);
    struct client_config *read = calloc(1, sizeof *read);
    enum fabric_error error = p && read ? FABRIC_OK : ERR_RESOURCES_EXHAUSTED;
    if (!error)
        error = read_config(f, config, config_length, read);
    if (!error) {
        p->fabric = f;
        p->sink = *sink;
        p->timeout = read->timeout;
        error = client_create(f, read, sink, &p->client);
    }
    free(read);
    if (error) {
        free(p);
        return error;
    }
    program_report(p, json_pack("{s:s}", "event", "ready"));
    *state = p;
    return FABRIC_OK;
}

static void program_stop(void *state)
{
    struct program *p = state;
    assert(p);
    client_destroy(p->client);
    program_jobs_free(p);
    free(p);
}

static void program_event(void *state, const struct fabric_event *event)
{
    struct program *p = state;
    assert(p && event);
    client_event(p->client, event);
    if (event->type == FABRIC_EVENT_IO_DONE)
        program_job_io(p, &event->u.io);
    program_turn(p);
}

static void program_run_command(void *state, const char *json)
{
    struct program *p = state;
    assert(p && json);
    program_command(p, json);
    program_turn(p);
}

const struct fabric_program memkv_client_program = {
    .name = "client",
    .start = program_start,
    .event = program_event,
    .command = program_run_command,
    .stop = program_stop,
};
