/* SPDX-License-Identifier: Apache-2.0 */
/* What an operator's HTTP client would do at a node: "http /v1/health". */
#include <assert.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "fabric_sim/testbed_state.h"

/* A request under way. */
struct tb_request {
    struct tb_node *node;
    uint32_t status; /* 0: no answer yet */
    bool waits;      /* nobody looks at `status` any more: it is freed with the answer */
    char path[FABRIC_HTTP_PATH_MAX];
};

/* JSON as it is, other text as a string; what is neither is nothing that a step could look into. */
static json_t *body_of(const struct fabric_http_answer *answer)
{
    static const char json[] = "application/json";
    json_t *body = NULL;
    assert(answer->body || answer->length == 0);
    if (answer->length && strncmp(answer->type, json, sizeof(json) - 1) == 0)
        body = json_loadb(answer->body, answer->length, JSON_DECODE_ANY, NULL);
    if (!body)
        body = json_stringn(answer->length ? answer->body : "", answer->length);
    return body ? body : json_null();
}

/* Every answer is also a report of the node, so that steps can look into it. */
static void report(const struct tb_request *request, const struct fabric_http_answer *answer)
{
    assert(answer->status >= 200);
    json_t *object = json_pack("{s:s, s:i, s:s, s:o}", "event", "http", "status",
                               (int)answer->status, "path", request->path, "body", body_of(answer));
    char *text = object ? json_dumps(object, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;
    assert(text);
    SIM_TRACE(request->node->tb->sim, request->node->name, "http %u %s", answer->status,
              request->path);
    tb_tell(request->node->tb, TESTBED_EVENT_REPORT, request->node, text, FABRIC_LOG_INFO,
            FABRIC_OK);
    free(text);
    json_decref(object);
}

static void on_answered(void *context, const struct fabric_http_answer *answer)
{
    struct tb_request *request = context;
    if (answer && !request->node->mute)
        report(request, answer);
    if (request->waits)
        free(request);
    else
        request->status = answer ? answer->status : 0;
}

bool tb_http(struct tb_node *node, const char *path, char *answer)
{
    if (path[0] != '/' || strlen(path) >= FABRIC_HTTP_PATH_MAX) {
        tb_say(answer, "'%.60s' is no path: http /v1/health", path);
        return false;
    }
    struct tb_request *request = calloc(1, sizeof(*request));
    assert(request);
    request->node = node;
    memcpy(request->path, path, strlen(path));
    const struct sim_http_client client = {request, on_answered};
    if (!node->base || !sim_fabric_http_ask(node->base, NULL, "GET", path, &client)) {
        tb_say(answer, "refused");
        free(request);
        return true;
    }
    tb_look(node);
    if (request->status)
        tb_say(answer, "%u", request->status);
    else
        tb_say(answer, "waits");
    request->waits = request->status == 0;
    if (!request->waits)
        free(request);
    return true;
}
