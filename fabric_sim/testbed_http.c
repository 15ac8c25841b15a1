/* SPDX-License-Identifier: Apache-2.0 */
/* What an operator's HTTP client would do at a node: "http /v1/health". */
#include <stdio.h>
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

struct builder {
    char *text;
    size_t length, capacity;
};

static void add(struct builder *b, const char *text, size_t length)
{
    if (b->length + length + 1 > b->capacity) {
        b->capacity = (b->length + length + 1) * 2;
        b->text = realloc(b->text, b->capacity);
        assert(b->text);
    }
    memcpy(b->text + b->length, text, length);
    b->length += length;
    b->text[b->length] = '\0';
}

/* As a JSON string. */
static void add_string(struct builder *b, const char *text, size_t length)
{
    add(b, "\"", 1);
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        char escape[8];
        int n = c == '"' || c == '\\' ? snprintf(escape, sizeof(escape), "\\%c", c)
                : c < ' ' || c > '~'  ? snprintf(escape, sizeof(escape), "\\u%04x", c)
                                      : snprintf(escape, sizeof(escape), "%c", c);
        add(b, escape, (size_t)n);
    }
    add(b, "\"", 1);
}

/* Every answer is also a report of the node, so that steps can look into it: JSON as it is,
 * everything else as a string. */
static void report(const struct tb_request *request, const struct fabric_http_answer *answer)
{
    static const char json[] = "application/json";
    struct builder b = {0};
    char status[64];
    assert(answer->status >= 200);
    snprintf(status, sizeof(status), "{\"event\":\"http\",\"status\":%u,\"path\":", answer->status);
    add(&b, status, strlen(status));
    add_string(&b, request->path, strlen(request->path));
    add(&b, ",\"body\":", 8);
    if (answer->length && strncmp(answer->type, json, sizeof(json) - 1) == 0)
        add(&b, answer->body, answer->length);
    else
        add_string(&b, answer->body, answer->length);
    add(&b, "}", 1);
    SIM_TRACE(request->node->tb->sim, request->node->name, "http %u %s", answer->status,
              request->path);
    tb_tell(request->node->tb, TESTBED_EVENT_REPORT, request->node, b.text, FABRIC_LOG_INFO,
            FABRIC_OK);
    free(b.text);
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
