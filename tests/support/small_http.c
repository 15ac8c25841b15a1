/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/small_world_inside.h"

static enum fabric_error http_listen(struct fabric *f, const struct fabric_http_init *init,
                                     fabric_http *out, char *bound)
{
    struct small_node *n = small_of(f);
    if (small_fails(n, FABRIC_OP_HTTP_LISTEN))
        return n->fail_error;
    n->http = true;
    n->http_cookie = init->cookie;
    snprintf(bound, FABRIC_ADDRESS_MAX, "%s", init->address);
    out->id = 1;
    return FABRIC_OK;
}

static enum fabric_error http_reply(struct fabric *f, fabric_http_request request,
                                    const struct fabric_http_answer *answer)
{
    struct small_node *n = small_of(f);
    assert(request.id == 1 && n->http_asked && answer->length < sizeof n->http_body);
    n->http_asked = false;
    n->http_status = answer->status;
    snprintf(n->http_body, sizeof n->http_body, "%.*s", (int)answer->length,
             (const char *)answer->body);
    return FABRIC_OK;
}

static enum fabric_error http_close(struct fabric *f, fabric_http http)
{
    (void)http;
    small_of(f)->http = false;
    return FABRIC_OK;
}

uint32_t small_http(struct small_world *w, uint32_t node, const char *method, const char *path,
                    const char **body)
{
    struct small_node *n = w->nodes[node];
    struct fabric_event event = {.type = FABRIC_EVENT_HTTP_REQUEST, .time = w->now};
    if (!n->http)
        return 0;
    event.u.http.http.id = event.u.http.request.id = 1;
    event.u.http.cookie = n->http_cookie;
    event.u.http.method = method;
    event.u.http.path = path;
    n->http_asked = true;
    n->program->event(n->state, &event);
    assert(!n->http_asked);
    *body = n->http_body;
    return n->http_status;
}

const struct fabric_ops small_web = {
    .http_listen = http_listen, .http_reply = http_reply, .http_close = http_close};
