/* SPDX-License-Identifier: Apache-2.0 */
/* The HTTP end point of a fabric. No HTTP is spoken here: requests come from the testbed, and the
 * certificate files of an HTTPS end point are not looked at. */
#include <stdlib.h>
#include <string.h>

#include "fabric_sim/front.h"
#include "src/fabric/planted.h"

struct front_http {
    struct front_object object;
    struct stream_listener *listener; /* holds the address; answers nobody */
    uint64_t cookie;
    struct front_object *requests; /* latest first */
    size_t request_count;
    char bound[FABRIC_NAME_MAX];
};

struct front_request {
    struct front_object object;
    struct front_http *http;
    struct sim_http_client client;
    char method[FABRIC_HTTP_METHOD_MAX], path[FABRIC_HTTP_PATH_MAX];
};

/* Bytes that are no request of the testbed: nothing of this world speaks HTTP over a stream. */
static void turn_away(void *context, struct stream_listener *listener, struct stream *stream)
{
    (void)context;
    (void)listener;
    stream_close(stream, true);
}

static void hear_nothing(void *context, struct stream *stream, enum stream_event event,
                         enum fabric_error error)
{
    (void)context;
    (void)stream;
    (void)event;
    (void)error;
}

enum fabric_error front_http_listen(struct fabric *fabric, const struct fabric_http_init *init,
                                    fabric_http *out, char *bound)
{
    static const struct stream_owner owner = {NULL, hear_nothing, turn_away};
    struct sim_fabric *f = front_of(fabric);
    if (!(f->caps & FABRIC_CAP_HTTP))
        return ERR_NOT_SUPPORTED;
    struct front_http *http = calloc(1, sizeof(*http));
    assert(http);
    front_object_add(f, &http->object, HANDLE_HTTP, &f->https);
    http->cookie = init->cookie;
    enum fabric_error error = stream_listen(f->host->streams, init->address, &owner,
                                            http->object.id, &http->listener, http->bound);
    if (error) {
        front_object_drop(&http->object);
        return error;
    }
    memcpy(bound, http->bound, sizeof(http->bound));
    out->id = http->object.id;
    return FABRIC_OK;
}

/* The request is over; its client is told last, since it may do anything. */
static void finish(struct front_request *request, const struct fabric_http_answer *answer)
{
    struct sim_http_client client = request->client;
    assert(request->http->request_count > 0);
    request->http->request_count--;
    front_object_drop(&request->object);
    client.answered(client.context, answer);
}

enum fabric_error front_http_reply(struct fabric *f, fabric_http_request handle,
                                   const struct fabric_http_answer *answer)
{
    finish(handles_get(&front_of(f)->handles, handle.id, HANDLE_HTTP_REQUEST), answer);
    return FABRIC_OK;
}

static void drop_http(struct front_http *http, const struct fabric_http_answer *last)
{
    while (http->requests)
        finish((struct front_request *)http->requests, last);
    stream_listener_close(http->listener);
    front_object_drop(&http->object);
}

enum fabric_error front_http_close(struct fabric *fabric, fabric_http handle)
{
    static const struct fabric_http_answer unavailable = {.status = 503};
    struct sim_fabric *f = front_of(fabric);
    drop_http(handles_get(&f->handles, handle.id, HANDLE_HTTP), &unavailable);
    return FABRIC_OK;
}

void front_http_end(struct sim_fabric *f)
{
    while (f->https)
        drop_http((struct front_http *)f->https, NULL);
}

/* The end point of this address, or the one that was made last. */
static struct front_http *find(struct sim_fabric *f, const char *address)
{
    struct front_object *object = f->https;
    while (object && address && strcmp(((struct front_http *)object)->bound, address) != 0)
        object = object->next;
    return (struct front_http *)object;
}

/* The status that is answered without the program; 0: the program answers. */
static uint32_t refuse(const struct front_http *http, const char *method, const char *path)
{
    if (method[0] == '\0' || strlen(method) >= FABRIC_HTTP_METHOD_MAX || path[0] != '/')
        return 400;
    if (strlen(path) >= FABRIC_HTTP_PATH_MAX && !PLANTED(front_http_long_path))
        return 414;
    if (http->request_count >= FABRIC_HTTP_REQUESTS && !PLANTED(front_http_without_end))
        return 503;
    return 0;
}

bool sim_fabric_http_ask(struct fabric *fabric, const char *address, const char *method,
                         const char *path, const struct sim_http_client *client)
{
    struct sim_fabric *f = front_of(fabric);
    struct front_http *http = find(f, address);
    assert(method && path && client && client->answered);
    if (!http)
        return false;
    const struct fabric_http_answer refusal = {.status = refuse(http, method, path)};
    if (refusal.status) {
        client->answered(client->context, &refusal);
        return true;
    }
    struct front_request *request = calloc(1, sizeof(*request));
    assert(request);
    front_object_add(f, &request->object, HANDLE_HTTP_REQUEST, &http->requests);
    http->request_count++;
    request->http = http;
    request->client = *client;
    strncpy(request->method, method, sizeof(request->method) - 1);
    strncpy(request->path, path, sizeof(request->path) - 1);
    const struct fabric_event event = {.type = FABRIC_EVENT_HTTP_REQUEST,
                                       .u.http = {.http = {http->object.id},
                                                  .request = {request->object.id},
                                                  .cookie = http->cookie,
                                                  .method = request->method,
                                                  .path = request->path}};
    front_push(f, &event);
    return true;
}
