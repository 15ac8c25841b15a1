/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "tests/support/lib_server.h"

#include <arpa/inet.h>
#include <assert.h>
#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "fabric_hw/os/os.h"
#include "fabric_hw/os/run.h"
#include "src/fabric/seam.h"
#include "src/server/program.h"

struct lib_server {
    struct fabric *fabric;
    struct os_run *run;
    pthread_t thread;
    atomic_bool stops;
    char address[64];
};

static void take_report(void *context, const char *json)
{
    struct lib_server *s = context;
    json_t *report = json_loads(json, 0, NULL);
    const char *event = json_string_value(json_object_get(report, "event"));
    if (event && strcmp(event, "ready") == 0)
        snprintf(s->address, sizeof s->address, "%s",
                 json_string_value(json_object_get(report, "data")));
    json_decref(report);
}

static bool is_done(void *context)
{
    struct lib_server *s = context;
    return atomic_load(&s->stops);
}

static void *serve(void *context)
{
    struct lib_server *s = context;
    os_run_until(s->run, FABRIC_FOREVER);
    return NULL;
}

struct lib_server *lib_server_start(void)
{
    static const char config[] = "network: {address: 127.0.0.1:0, auth_key: " LIB_SERVER_KEY "}\n"
                                 "memory: {block_size: 2 MiB, max_size: 64 MiB}\n"
                                 "storage: {mode: memory}\n";
    const struct os_fabric_options options = {.log_fd = -1};
    struct lib_server *s = calloc(1, sizeof *s);
    assert(s);
    const struct os_run_init init = {.program = &memkv_server_program,
                                     .config = config,
                                     .config_length = sizeof config - 1,
                                     .sink = {s, take_report},
                                     .done = is_done,
                                     .context = s};
    enum fabric_error error = os_fabric_create(&options, &s->fabric);
    assert(!error);
    error = os_run_start(s->fabric, &init, &s->run);
    assert(!error && s->address[0]);
    int failed = pthread_create(&s->thread, NULL, serve, s);
    assert(!failed);
    return s;
}

void lib_server_stop(struct lib_server *server)
{
    atomic_store(&server->stops, true);
    os_run_tell(server->run, "{\"id\":1,\"op\":\"status\"}");
    pthread_join(server->thread, NULL);
    os_run_stop(server->run);
    fabric_destroy(server->fabric);
    free(server);
}

const char *lib_server_address(const struct lib_server *server)
{
    return server->address;
}

int lib_server_silent(char address[64])
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int failed = bind(fd, (struct sockaddr *)&at, length) || listen(fd, 16) ||
                 getsockname(fd, (struct sockaddr *)&at, &length);
    assert(fd >= 0 && !failed);
    snprintf(address, 64, "127.0.0.1:%u", ntohs(at.sin_port));
    return fd;
}

const struct memkv_options *lib_server_options(const char *address, const char *more)
{
    static char servers[80];
    static const char *settings[5];
    static struct memkv_options options;
    snprintf(servers, sizeof servers, "servers=%s", address);
    settings[0] = servers;
    settings[1] = "auth_key=" LIB_SERVER_KEY;
    settings[2] = "transport=tcp";
    settings[3] = more;
    options = (struct memkv_options){.size = sizeof options,
                                     .settings = settings,
                                     .ignore_environment = true,
                                     .log_level = MEMKV_LOG_NONE};
    return &options;
}
