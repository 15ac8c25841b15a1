/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The HTTP end point, by libmicrohttpd in the loop's own thread: its epoll descriptor is watched
 * and it runs when that is ready or its time has come. A request that waits for its answer is a
 * suspended connection; the answer resumes it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fabric_hw/os/address.h"
#include "src/fabric/planted.h"

#include "fabric_hw/os/state.h"

#define CONNECTIONS 256u    /* of one end point */
#define IDLE_SECONDS 30u    /* of a connection without a request */
#define MEMORY 16384u       /* bytes a connection may take for a request */
#define PEM_MOST (1u << 20) /* bytes of a certificate chain or a key */
#define ROUNDS_AT_CLOSE 64  /* for answers that are on their way */

struct os_http {
    struct os_source source; /* first: it is found by it */
    struct os_fabric *os;
    struct os_http *previous, *next;
    struct os_alarm alarm;
    struct MHD_Daemon *daemon;
    struct http_request *requests; /* that wait for an answer */
    size_t waiting;
    uint64_t cookie;
    uint32_t id;
    int epoll;
    bool closing, running;
};

/* Of one connection, from its request line to its last byte. */
struct http_request {
    struct os_http *http;
    struct http_request *previous, *next; /* while it waits */
    struct MHD_Connection *connection;
    struct MHD_Response *response; /* not yet queued */
    unsigned int status;
    uint32_t id; /* 0: not told, or answered */
    bool seen;   /* its headers were */
    bool too_long;
    char method[FABRIC_HTTP_METHOD_MAX], path[FABRIC_HTTP_PATH_MAX];
};

/* ------------------------------------------------------------------ running */

static void run(struct os_http *http);

static void on_alarm(struct os_alarm *alarm)
{
    run((struct os_http *)((char *)alarm - offsetof(struct os_http, alarm)));
}

static void on_ready(struct os_source *source, uint32_t events)
{
    (void)events;
    run((struct os_http *)source);
}

/* Lets the library work, and again when it wants to. */
static void run(struct os_http *http)
{
    MHD_UNSIGNED_LONG_LONG ms;
    if (http->running)
        return;
    http->running = true;
    MHD_run(http->daemon);
    http->running = false;
    os_alarm_cancel(&http->os->alarms, &http->alarm);
    if (MHD_get_timeout(http->daemon, &ms) == MHD_YES)
        (void)os_set_alarm(http->os, &http->alarm, os_clock() + (uint64_t)ms * OS_MS, on_alarm);
}

/* ------------------------------------------------------------------ requests */

static void unlink_request(struct http_request *request)
{
    struct os_http *http = request->http;
    os_handles_remove(&http->os->handles, request->id);
    request->id = 0;
    *(request->previous ? &request->previous->next : &http->requests) = request->next;
    if (request->next)
        request->next->previous = request->previous;
    request->previous = request->next = NULL;
    http->waiting--;
}

/* The request line as it came: what the handler is given has lost its query and its escapes. */
static void *on_request_line(void *context, const char *uri, struct MHD_Connection *connection)
{
    struct http_request *request = calloc(1, sizeof(*request));
    if (!request)
        return NULL;
    request->http = context;
    request->connection = connection;
    request->too_long = strlen(uri) >= FABRIC_HTTP_PATH_MAX;
    if (!request->too_long)
        strcpy(request->path, uri);
    return request;
}

static void on_over(void *context, struct MHD_Connection *connection, void **place,
                    enum MHD_RequestTerminationCode code)
{
    struct http_request *request = *place;
    (void)context;
    (void)connection;
    (void)code;
    *place = NULL;
    if (!request)
        return;
    if (request->id)
        unlink_request(request);
    if (request->response)
        MHD_destroy_response(request->response);
    free(request);
}

static enum MHD_Result refuse(struct MHD_Connection *connection, unsigned int status)
{
    struct MHD_Response *response =
        MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
    if (!response)
        return MHD_NO;
    enum MHD_Result queued = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return queued;
}

static bool has_body(struct MHD_Connection *connection)
{
    const char *length = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Content-Length");
    return (length && strcmp(length, "0") != 0) ||
           MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Transfer-Encoding");
}

/* The status that is answered without the program; 0: the program answers. */
static unsigned int judge(const struct http_request *request, const char *method)
{
    const struct os_http *http = request->http;
    if (request->too_long && !PLANTED(os_http_long_path))
        return MHD_HTTP_URI_TOO_LONG;
    if (strlen(method) >= FABRIC_HTTP_METHOD_MAX || request->path[0] != '/')
        return MHD_HTTP_BAD_REQUEST;
    if (http->closing || (http->waiting >= FABRIC_HTTP_REQUESTS && !PLANTED(os_http_without_end)))
        return MHD_HTTP_SERVICE_UNAVAILABLE;
    return 0;
}

static bool tell(struct http_request *request, const char *method)
{
    struct os_http *http = request->http;
    request->id = os_handles_new(&http->os->handles, OS_HTTP_REQUEST, request);
    if (!request->id)
        return false;
    strcpy(request->method, method);
    request->next = http->requests;
    if (request->next)
        request->next->previous = request;
    http->requests = request;
    http->waiting++;
    const struct fabric_event event = {.type = FABRIC_EVENT_HTTP_REQUEST,
                                       .u.http = {.http = {http->id},
                                                  .request = {request->id},
                                                  .cookie = http->cookie,
                                                  .method = request->method,
                                                  .path = request->path}};
    os_push(&http->os->head, &event);
    return true;
}

static enum MHD_Result on_request(void *context, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *upload,
                                  size_t *upload_size, void **place)
{
    struct http_request *request = *place;
    (void)context;
    (void)url;
    (void)version;
    (void)upload;
    if (!request)
        return MHD_NO;       /* no memory: the connection ends */
    if (request->response) { /* resumed */
        enum MHD_Result queued = MHD_queue_response(connection, request->status, request->response);
        MHD_destroy_response(request->response);
        request->response = NULL;
        return queued;
    }
    *upload_size = 0;
    if (!request
             ->seen) { /* an answer now would end the connection: only what has a body gets one */
        request->seen = true;
        return has_body(connection) ? refuse(connection, MHD_HTTP_CONTENT_TOO_LARGE) : MHD_YES;
    }
    unsigned int status = judge(request, method);
    if (!status && !tell(request, method))
        status = MHD_HTTP_SERVICE_UNAVAILABLE;
    if (status)
        return refuse(connection, status);
    MHD_suspend_connection(connection);
    return MHD_YES;
}

bool os_http_keep(struct os_fabric *os, const struct fabric_event *event)
{
    return os_handles_find(&os->handles, event->u.http.request.id, OS_HTTP_REQUEST) != NULL ||
           PLANTED(os_http_closed_told);
}

/* ------------------------------------------------------------------ answers */

static struct MHD_Response *make_response(const struct fabric_http_answer *answer)
{
    struct MHD_Response *response = MHD_create_response_from_buffer(
        answer->length, (void *)(uintptr_t)answer->body, MHD_RESPMEM_MUST_COPY);
    if (response && answer->type && answer->length)
        (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, answer->type);
    return response;
}

/* Without memory for the answer the client gets a plain 500. */
static void answer_request(struct http_request *request, const struct fabric_http_answer *answer)
{
    static const struct fabric_http_answer failed = {.status = MHD_HTTP_INTERNAL_SERVER_ERROR};
    unlink_request(request);
    request->status = answer->status;
    request->response = make_response(answer);
    if (!request->response) {
        request->status = failed.status;
        request->response = make_response(&failed);
    }
    assert(request->response);
    MHD_resume_connection(request->connection);
}

enum fabric_error os_http_reply(struct fabric *f, fabric_http_request handle,
                                const struct fabric_http_answer *answer)
{
    struct http_request *request = os_handles_get(&os_of(f)->handles, handle.id, OS_HTTP_REQUEST);
    struct os_http *http = request->http;
    answer_request(request, answer);
    run(http);
    return FABRIC_OK;
}

/* ------------------------------------------------------------------ opening and closing */

/* A whole PEM file, ending in NUL; null when it cannot be that. */
static char *read_pem(const char *path)
{
    struct stat about;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    char *text = NULL;
    if (fd >= 0 && fstat(fd, &about) == 0 && S_ISREG(about.st_mode) && about.st_size > 0 &&
        about.st_size <= PEM_MOST)
        text = calloc(1, (size_t)about.st_size + 1);
    if (text && read(fd, text, (size_t)about.st_size) != about.st_size) {
        free(text);
        text = NULL;
    }
    if (fd >= 0)
        close(fd);
    return text;
}

static void silent(void *context, const char *format, va_list values)
{
    (void)context;
    (void)format;
    (void)values;
}

static struct MHD_Daemon *start(struct os_http *http, int fd, const char *certificate,
                                const char *key)
{
    const struct MHD_OptionItem tls[] = {
        {MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)(uintptr_t)certificate},
        {MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)(uintptr_t)key},
        {MHD_OPTION_END, 0, NULL},
    };
    unsigned int flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG |
                         (certificate ? MHD_USE_TLS : 0);
    return MHD_start_daemon(flags, 0, NULL, NULL, on_request, http, MHD_OPTION_EXTERNAL_LOGGER,
                            silent, NULL, MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
                            CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT, IDLE_SECONDS,
                            MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)MEMORY,
                            MHD_OPTION_URI_LOG_CALLBACK, on_request_line, http,
                            MHD_OPTION_NOTIFY_COMPLETED, on_over, http, MHD_OPTION_ARRAY,
                            certificate ? tls : &tls[2], MHD_OPTION_END);
}

static enum fabric_error open_daemon(struct os_http *http, int fd,
                                     const struct fabric_http_init *init)
{
    char *certificate = init->tls_cert ? read_pem(init->tls_cert) : NULL;
    char *key = init->tls_key ? read_pem(init->tls_key) : NULL;
    bool usable = !init->tls_cert || (certificate && key);
    if (usable)
        http->daemon = start(http, fd, certificate, key); /* which closes the socket if it fails */
    else
        close(fd);
    if (key)
        explicit_bzero(key, strlen(key));
    free(certificate);
    free(key);
    if (http->daemon)
        return FABRIC_OK;
    return init->tls_cert ? ERR_TLS_INVALID : ERR_RESOURCES_EXHAUSTED;
}

static bool watch(struct os_http *http)
{
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    http->epoll = info ? info->epoll_fd : -1;
    return http->epoll >= 0 && !os_watch(&http->os->head, http->epoll, EPOLLIN, &http->source);
}

static void link_http(struct os_http *http)
{
    struct os_fabric *os = http->os;
    http->next = os->https;
    if (http->next)
        http->next->previous = http;
    os->https = http;
}

static enum fabric_error open_http(struct os_http *http, const struct fabric_http_init *init,
                                   char *bound)
{
    int fd;
    enum fabric_error error = os_listen_socket(init->address, &fd, bound);
    if (error)
        return error;
    error = open_daemon(http, fd, init);
    if (error)
        return error;
    http->id = os_handles_new(&http->os->handles, OS_HTTP, http);
    if (http->id && watch(http))
        return FABRIC_OK;
    if (http->id)
        os_handles_remove(&http->os->handles, http->id);
    MHD_stop_daemon(http->daemon);
    return ERR_RESOURCES_EXHAUSTED;
}

enum fabric_error os_http_listen(struct fabric *f, const struct fabric_http_init *init,
                                 fabric_http *out, char *bound)
{
    char taken[FABRIC_ADDRESS_MAX];
    struct os_http *http = calloc(1, sizeof(*http));
    if (!http)
        return ERR_RESOURCES_EXHAUSTED;
    http->source.ready = on_ready;
    http->os = os_of(f);
    http->cookie = init->cookie;
    enum fabric_error error = open_http(http, init, taken);
    if (error) {
        free(http);
        return error;
    }
    link_http(http);
    run(http);
    strcpy(bound, taken);
    out->id = http->id;
    return FABRIC_OK;
}

static void close_http(struct os_http *http)
{
    static const struct fabric_http_answer unavailable = {.status = MHD_HTTP_SERVICE_UNAVAILABLE};
    struct os_fabric *os = http->os;
    http->closing = true;
    while (http->requests)
        answer_request(http->requests, &unavailable);
    for (unsigned i = 0; i < ROUNDS_AT_CLOSE; i++) /* resumed ones are answered, small ones sent */
        MHD_run(http->daemon);
    os_unwatch(&os->head, http->epoll);
    os_alarm_cancel(&os->alarms, &http->alarm);
    MHD_stop_daemon(http->daemon);
    os_handles_remove(&os->handles, http->id);
    *(http->previous ? &http->previous->next : &os->https) = http->next;
    if (http->next)
        http->next->previous = http->previous;
    free(http);
}

enum fabric_error os_http_close(struct fabric *f, fabric_http handle)
{
    close_http(os_handles_get(&os_of(f)->handles, handle.id, OS_HTTP));
    return FABRIC_OK;
}

void os_http_close_all(struct os_fabric *os)
{
    while (os->https)
        close_http(os->https);
}
