/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/answerer.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct answerer {
    struct fabric *f;
    fabric_http http;
    fabric_http_request waiting;
};

static enum fabric_error start(struct fabric *f, const char *config, size_t config_length,
                               const struct fabric_report_sink *sink, void **state)
{
    const struct fabric_http_init init = {.address = "0.0.0.0:80"};
    char bound[FABRIC_ADDRESS_MAX];
    struct answerer *a = calloc(1, sizeof(*a));
    (void)config;
    (void)config_length;
    (void)sink;
    assert(a);
    a->f = f;
    enum fabric_error error = fabric_http_listen(f, &init, &a->http, bound);
    if (error)
        free(a);
    else
        *state = a;
    return error;
}

static void reply(struct answerer *a, fabric_http_request request, uint32_t status,
                  const char *type, const char *body)
{
    const struct fabric_http_answer answer = {status, type, body, strlen(body)};
    fabric_http_reply(a->f, request, &answer);
}

static void event(void *state, const struct fabric_event *e)
{
    struct answerer *a = state;
    if (e->type != FABRIC_EVENT_HTTP_REQUEST)
        return;
    if (strcmp(e->u.http.path, "/json") == 0)
        reply(a, e->u.http.request, 200, "application/json", "{\"status\":\"healthy\"}");
    else if (strcmp(e->u.http.path, "/text") == 0)
        reply(a, e->u.http.request, 200, "text/plain", "a \"b\"\n");
    else if (strcmp(e->u.http.path, "/later") == 0)
        a->waiting = e->u.http.request;
    else
        reply(a, e->u.http.request, 404, NULL, "");
}

static void command(void *state, const char *json)
{
    struct answerer *a = state;
    assert(strcmp(json, "answer") == 0 && a->waiting.id);
    reply(a, a->waiting, 200, "text/plain", "at last");
}

static void stop(void *state)
{
    struct answerer *a = state;
    fabric_http_close(a->f, a->http);
    free(a);
}

const struct fabric_program answerer_program = {"answerer", start, event, command, stop};
