/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "src/client/program.h"
#include "src/server/program.h"
#include "tests/support/memkv_pair.h"

enum fabric_error pair_server(struct small_world *w, const char *rdma)
{
    char config[1024];
    snprintf(config, sizeof config,
             "network: {address: \"0.0.0.0:9900\", auth_key: " PAIR_KEY "}\n"
             "memory: {block_size: 16 KiB, max_size: 4 MiB}\n"
             "rdma: {%s}\n",
             rdma);
    return small_start(w, PAIR_SERVER, &memkv_server_program, config);
}

enum fabric_error pair_client(struct small_world *w, const char *transport, const char *more)
{
    char config[1024];
    snprintf(config, sizeof config,
             "servers: [\"10.0.0.1:9900\"]\nauth_key: " PAIR_KEY "\ntransport: %s\n%s", transport,
             more);
    return small_start(w, PAIR_CLIENT, &memkv_client_program, config);
}

struct small_world *pair_new(const char *transport)
{
    struct small_world *w = small_world_new(2);
    enum fabric_error error = pair_server(w, "devices: [mlx5_0]");
    assert(error == FABRIC_OK);
    error = pair_client(w, transport, "");
    assert(error == FABRIC_OK);
    return w;
}

const char *pair_do(struct small_world *w, const char *json)
{
    char command[1024], wanted[32];
    static unsigned id;
    id++;
    snprintf(command, sizeof command, "{\"id\":%u,%s}", id, json);
    snprintf(wanted, sizeof wanted, "\"id\":%u", id);
    small_command(w, PAIR_CLIENT, command);
    return small_until(w, PAIR_CLIENT, wanted, 60 * SECOND);
}

void pair_has(const char *line, const char *text)
{
    if (!line || !strstr(line, text))
        fail_msg("expected %s in %s", text, line ? line : "(nothing)");
}

void pair_round(struct small_world *w, const char *class)
{
    char wanted[96];
    snprintf(wanted, sizeof wanted, "\"class\":\"%s\"", class);
    pair_has(pair_do(w, "\"op\":\"put\",\"key\":\"k\",\"size\":100000,\"seed\":7"), wanted);
    const char *line = pair_do(w, "\"op\":\"get\",\"key\":\"k\",\"size\":100000,\"seed\":7");
    pair_has(line, wanted);
    pair_has(line, "\"equal\":true");
}
