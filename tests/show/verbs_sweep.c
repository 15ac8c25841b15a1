/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every verb of set-up failing in turn, on the soft-RoCE devices of ci/vm: a server on rxe_v0 and a
 * client on rxe_v1 in one thread, one of them with a verb that fails once or always. With `auto` a
 * block is put and got all the same, with `rdma` there is a named error at worst. CASE-F1, MK-A6.
 *
 *     verbs_sweep [SECONDS]     of any trial; then it counts as hung
 */
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabric_hw/os/os.h"
#include "fabric_hw/rdma/calls.h"
#include "fabric_hw/rdma/rdma.h"
#include "src/client/program.h"
#include "src/fabric/seam.h"
#include "src/server/program.h"

#define KEY "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
#define SECOND UINT64_C(1000000000)

/* ------------------------------------------------------------------ verbs that fail */

static struct {
    const char *verb;
    bool once;
    unsigned fired;
} fault;

static bool fails(const char *verb)
{
    if (!fault.verb || strcmp(fault.verb, verb) != 0 || (fault.once && fault.fired))
        return false;
    fault.fired++;
    errno = ENOMEM;
    return true;
}

#define POINTERS(X)                                                                                \
    X(struct ibv_device **, get_device_list, (int *count), (count))                                \
    X(struct ibv_context *, open_device, (struct ibv_device * device), (device))                   \
    X(struct ibv_pd *, alloc_pd, (struct ibv_context * context), (context))                        \
    X(struct ibv_mr *, reg_mr_iova,                                                                \
      (struct ibv_pd * pd, void *addr, size_t length, uint64_t iova, int access),                  \
      (pd, addr, length, iova, access))                                                            \
    X(struct ibv_mw *, alloc_mw, (struct ibv_pd * pd, enum ibv_mw_type type), (pd, type))          \
    X(struct ibv_comp_channel *, create_comp_channel, (struct ibv_context * context), (context))   \
    X(struct ibv_cq *, create_cq,                                                                  \
      (struct ibv_context * context, int depth, void *cq_context,                                  \
       struct ibv_comp_channel *channel, int vector),                                              \
      (context, depth, cq_context, channel, vector))                                               \
    X(struct ibv_qp *, create_qp, (struct ibv_pd * pd, struct ibv_qp_init_attr * init),            \
      (pd, init))                                                                                  \
    X(struct ibv_ah *, create_ah, (struct ibv_pd * pd, struct ibv_ah_attr * attr), (pd, attr))

#define NUMBERS(X)                                                                                 \
    X(query_device, (struct ibv_context * context, struct ibv_device_attr * attr),                 \
      (context, attr))                                                                             \
    X(query_port, (struct ibv_context * context, uint8_t port_num, struct ibv_port_attr * attr),   \
      (context, port_num, attr))                                                                   \
    X(query_gid_ex,                                                                                \
      (struct ibv_context * context, uint32_t port_num, uint32_t index,                            \
       struct ibv_gid_entry * entry, uint32_t flags),                                              \
      (context, port_num, index, entry, flags))                                                    \
    X(query_pkey, (struct ibv_context * context, uint8_t port_num, int index, __be16 *pkey),       \
      (context, port_num, index, pkey))                                                            \
    X(bind_mw, (struct ibv_qp * qp, struct ibv_mw * mw, struct ibv_mw_bind * bind),                \
      (qp, mw, bind))                                                                              \
    X(post_send, (struct ibv_qp * qp, struct ibv_send_wr * wr, struct ibv_send_wr * *bad),         \
      (qp, wr, bad))                                                                               \
    X(post_recv, (struct ibv_qp * qp, struct ibv_recv_wr * wr, struct ibv_recv_wr * *bad),         \
      (qp, wr, bad))

#define X(result, name, parameters, arguments)                                                     \
    static result faulty_##name parameters                                                         \
    {                                                                                              \
        return fails(#name) ? NULL : verbs_calls_real.name arguments;                              \
    }
POINTERS(X)
#undef X
#define X(name, parameters, arguments)                                                             \
    static int faulty_##name parameters                                                            \
    {                                                                                              \
        return fails(#name) ? ENOMEM : verbs_calls_real.name arguments;                            \
    }
NUMBERS(X)
#undef X

static const char *const moves[] = {"modify_qp to RESET", "modify_qp to INIT", "modify_qp to RTR",
                                    "modify_qp to RTS",   "modify_qp",         "modify_qp",
                                    "modify_qp to ERR"};

static int faulty_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
    return fails(moves[attr->qp_state]) ? ENOMEM : verbs_calls_real.modify_qp(qp, attr, mask);
}

static const char *const verbs[] = {
#define X(result, name, parameters, arguments) #name,
    POINTERS(X)
#undef X
#define X(name, parameters, arguments) #name,
        NUMBERS(X)
#undef X
            "modify_qp to INIT",
    "modify_qp to RTR", "modify_qp to RTS", "modify_qp to ERR"};

static struct verbs_calls faulty_calls(void)
{
    struct verbs_calls calls = verbs_calls_real;
#define X(result, name, parameters, arguments) calls.name = faulty_##name;
    POINTERS(X)
#undef X
#define X(name, parameters, arguments) calls.name = faulty_##name;
    NUMBERS(X)
#undef X
    calls.modify_qp = faulty_modify_qp;
    return calls;
}

/* ------------------------------------------------------------------ two nodes */

struct node {
    const struct fabric_program *program;
    struct fabric *f;
    void *state;
    char answer[4096]; /* the latest report with an id */
};

static void report(void *context, const char *json)
{
    struct node *node = context;
    if (strstr(json, "\"id\":"))
        snprintf(node->answer, sizeof(node->answer), "%s", json);
}

static enum fabric_error start(struct node *node, const char *config, bool broken)
{
    static struct verbs_calls calls;
    calls = faulty_calls();
    struct rdma_options verbs_of = {.calls = broken ? &calls : NULL};
    const struct os_fabric_options options = {
        .log_fd = getenv("SWEEP_LOG") ? 2 : -1, .part = &rdma_part, .part_context = &verbs_of};
    const struct fabric_report_sink sink = {node, report};
    enum fabric_error error = os_fabric_create(&options, &node->f);
    assert(!error);
    (void)os_fabric_descriptor(node->f);
    return node->program->start(node->f, config, strlen(config), &sink, &node->state);
}

static void stop(struct node *node)
{
    if (node->state)
        node->program->stop(node->state);
    if (node->f)
        fabric_destroy(node->f);
    node->state = node->f = NULL;
}

static bool work(struct node *node)
{
    struct fabric_event events[64];
    size_t count = 0;
    if (!node->state)
        return false;
    (void)fabric_poll(node->f, events, 64, 0, &count);
    for (size_t i = 0; i < count; i++)
        node->program->event(node->state, &events[i]);
    return count > 0;
}

static uint64_t patience = 60 * SECOND;

/* Gives the client a command and waits for its report. */
static const char *ask(struct node *server, struct node *client, const char *command)
{
    uint64_t now, begin;
    (void)fabric_now(client->f, &begin);
    client->answer[0] = '\0';
    client->program->command(client->state, command);
    do {
        bool worked = work(server);
        worked = work(client) || worked;
        struct pollfd both[2] = {{os_fabric_descriptor(client->f), POLLIN, 0},
                                 {os_fabric_descriptor(server->f), POLLIN, 0}};
        if (!worked && !client->answer[0])
            poll(both, 2, 100);
        (void)fabric_now(client->f, &now);
    } while (!client->answer[0] && now - begin < patience);
    return client->answer;
}

/* ------------------------------------------------------------------ trials */

struct outcome {
    unsigned trials, rdma, tcp, named, bad;
};

static bool has(const char *text, const char *part)
{
    return strstr(text, part) != NULL;
}

/* One operation's report, counted by what it came to; false when it must not be. */
static bool judge(const char *answer, bool is_auto, struct outcome *outcome)
{
    if (has(answer, "\"class\":\"rdma\""))
        outcome->rdma++;
    else if (has(answer, "\"class\":\"fell_back\"") || has(answer, "\"class\":\"tcp_by_choice\""))
        outcome->tcp++;
    else if (!is_auto &&
             (has(answer, "\"class\":\"refused:") || has(answer, "\"class\":\"failed:") ||
              has(answer, "\"class\":\"unreachable\"")))
        outcome->named++;
    else
        return false;
    return !has(answer, "internal") && !has(answer, "\"equal\":false");
}

static void trial(const char *verb, bool once, bool at_server, bool is_auto,
                  struct outcome *outcome)
{
    struct node server = {.program = &memkv_server_program},
                client = {.program = &memkv_client_program};
    char config[512], put[2048] = "", got[2048] = "";
    fault.verb = verb;
    fault.once = once;
    fault.fired = 0;
    enum fabric_error error =
        start(&server,
              "network: {address: \"10.77.0.1:9900\", auth_key: " KEY "}\n"
              "admin: {address: \"127.0.0.1:0\"}\n"
              "memory: {block_size: 64 KiB, max_size: 4 MiB}\nrdma: {devices: [rxe_v0]}\n",
              at_server);
    snprintf(config, sizeof(config),
             "servers: [\"10.77.0.1:9900\"]\nauth_key: " KEY
             "\nrdma_devices: [rxe_v1]\ntransport: %s\n",
             is_auto ? "auto" : "rdma");
    if (!error)
        error = start(&client, config, !at_server);
    if (!error) {
        snprintf(put, sizeof(put), "%s",
                 ask(&server, &client,
                     "{\"id\":1,\"op\":\"put\",\"key\":\"k\",\"size\":100000,\"seed\":7,"
                     "\"timeout_ms\":20000}"));
        bool stored = has(put, "\"ok\":true");
        snprintf(got, sizeof(got), "%s",
                 ask(&server, &client,
                     stored ? "{\"id\":2,\"op\":\"get\",\"key\":\"k\",\"size\":100000,\"seed\":7,"
                              "\"timeout_ms\":20000}"
                            : "{\"id\":2,\"op\":\"put\",\"key\":\"l\",\"size\":1000,\"seed\":7,"
                              "\"timeout_ms\":20000}"));
    }
    stop(&client);
    stop(&server);
    outcome->trials++;
    bool good = !error && judge(put, is_auto, outcome) && judge(got, is_auto, outcome);
    outcome->bad += !good;
    printf("%s %s fails %s at the %s, %s: fired %u, %.60s | %.60s\n", good ? "ok" : "FAILED", verb,
           once ? "once" : "always", at_server ? "server" : "client", is_auto ? "auto" : "rdma",
           fault.fired, has(put, "\"class\"") ? strstr(put, "\"class\"") : error_name(error),
           has(got, "\"class\"") ? strstr(got, "\"class\"") : "");
    fflush(stdout);
}

int main(int argc, char **argv)
{
    struct outcome outcome = {0};
    unsigned fired = 0, count = sizeof(verbs) / sizeof(*verbs);
    if (argc > 1)
        patience = strtoull(argv[1], NULL, 10) * SECOND;
    for (unsigned i = 0; i < count; i++) {
        bool reached = false;
        for (unsigned kind = 0; kind < 6; kind++) { /* rdma only where the verb fails for good */
            bool is_auto = kind < 4, once = is_auto && kind % 2;
            trial(verbs[i], once, is_auto ? kind / 2 : kind % 2, is_auto, &outcome);
            reached = reached || fault.fired;
        }
        fired += reached;
    }
    printf("verbs-sweep: %u verbs (%u reached), %u trials: %u operations by RDMA, %u by TCP, %u "
           "with a named error, %u trials otherwise\n",
           count, fired, outcome.trials, outcome.rdma, outcome.tcp, outcome.named, outcome.bad);
    return outcome.bad > 0;
}
