/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests of programs to the daemon of their fabric (HA-3.3): whatever comes, the daemon answers
 * each with a reply of this version and lives on. The input is a row of requests from two clients
 * that have a device opened.
 */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "fabric_sim/simfabric/client.h"
#include "fabric_sim/simfabric/service.h"
#include "src/scenario/topology_read.h"
#include "tests/fuzz/fuzz.h"

#define REQUESTS 64 /* of one input */

static const char topology_text[] = "nodes: {n1: {}}\n";

static void begin(struct service *service)
{
    struct yaml_errors errors;
    struct arena arena = {0};
    char detail[TESTBED_DETAIL];
    yaml_errors_init(&errors, "fuzz");
    struct yaml_tree *tree = yaml_parse(topology_text, strlen(topology_text), &errors);
    HOLDS(tree);
    struct topology *topology = topology_read(yaml_root(tree), &arena, &errors);
    HOLDS(topology && service_create(service, topology, 1, detail));
    yaml_tree_free(tree);
    arena_free(&arena);
}

static void ask(struct service *service, struct service_client *client, const void *bytes,
                size_t length)
{
    struct service_answer answer;
    service_request(service, client, bytes, length, &answer);
    HOLDS(answer.reply.magic == PROTOCOL_MAGIC && answer.fd_count <= PROTOCOL_FDS);
    for (size_t i = 0; i < answer.fd_count; i++) {
        if (!answer.lent[i])
            close(answer.fds[i]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length)
{
    struct service service;
    struct service_client *clients[2];
    struct protocol_request request = client_request(PROTOCOL_OPEN);
    uint64_t now = 0;
    signal(SIGPIPE, SIG_IGN); /* as the daemon does */
    begin(&service);
    strcpy(request.u.open.node, "n1");
    strcpy(request.u.open.device, "mlx5_0");
    for (int i = 0; i < 2; i++) {
        clients[i] = service_join(&service, -1);
        ask(&service, clients[i], &request, sizeof(request));
    }
    for (int i = 0; i < REQUESTS && length > 2; i++) {
        size_t part = length - 2 < sizeof(request) ? length - 2 : sizeof(request);
        memset(&request, 0, sizeof(request));
        memcpy(&request, data + 2, part);
        request.magic = PROTOCOL_MAGIC + (data[0] == 255);
        request.op %= PROTOCOL_OP_COUNT + 1;
        ask(&service, clients[data[0] & 1], &request, sizeof(request) - (data[1] == 255));
        now += (uint64_t)data[1] * 1000;
        service_run(&service, now);
        service_announce(&service);
        data += 2 + part;
        length -= 2 + part;
    }
    service_leave(&service, clients[0]);
    service_destroy(&service);
    return 0;
}
