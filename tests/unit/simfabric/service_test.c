/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fabric_sim/hca/queue.h"
#include "fabric_sim/simfabric/client.h"
#include "fabric_sim/simfabric/service.h"
#include "src/scenario/topology_read.h"

#define MS UINT64_C(1000000)
#define MEMORY 65536u

static const char pair[] = "nodes: {n1: {}, n2: {}}\n";

/* One program on a node; this process, as far as anybody can tell. */
struct user {
    struct service_client *client;
    int socket[2];
    int fds[PROTOCOL_FDS];
    struct protocol_reply reply;
    struct hca_state state;
    uint32_t pd, cq, qp, mr, key, qp_num, lid, channel;
    uint32_t qp_id, cq_id;
    int events;
    uint8_t *memory;
};

struct bench {
    struct service service;
    uint64_t now;
    struct user users[2];
};

static void run(struct bench *b, uint64_t ns)
{
    b->now += ns;
    for (bool more = true; more; service_announce(&b->service))
        more = service_run(&b->service, b->now);
}

static int ask(struct bench *b, struct user *user, const struct protocol_request *request)
{
    struct service_answer answer;
    service_request(&b->service, user->client, request, sizeof(*request), &answer);
    user->reply = answer.reply;
    assert_int_equal(answer.reply.magic, PROTOCOL_MAGIC);
    for (size_t i = 0; i < PROTOCOL_FDS; i++)
        user->fds[i] = i < answer.fd_count ? answer.fds[i] : -1;
    return answer.reply.error;
}

static int end(struct bench *b, struct user *user, enum protocol_op op, uint32_t handle)
{
    struct protocol_request request = client_request(op);
    request.u.handle = handle;
    return ask(b, user, &request);
}

static int join(struct bench *b, struct user *user, const char *node)
{
    struct protocol_request request = client_request(PROTOCOL_OPEN);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, user->socket), 0);
    user->client = service_join(&b->service, user->socket[0]);
    strcpy(request.u.open.node, node);
    strcpy(request.u.open.device, "mlx5_0");
    return ask(b, user, &request);
}

static void leave(struct bench *b, struct user *user)
{
    if (!user->client)
        return;
    if (user->state.device)
        state_close(&user->state);
    service_leave(&b->service, user->client);
    close(user->socket[0]);
    close(user->socket[1]);
    free(user->memory);
    *user = (struct user){.client = NULL};
}

static int setup(void **state)
{
    struct bench *b = calloc(1, sizeof(*b));
    struct yaml_errors errors;
    struct arena arena = {0};
    char detail[TESTBED_DETAIL];
    yaml_errors_init(&errors, "pair");
    struct yaml_tree *tree = yaml_parse(pair, strlen(pair), &errors);
    assert_non_null(tree);
    struct topology *topology = topology_read(yaml_root(tree), &arena, &errors);
    assert_non_null(topology);
    assert_true(service_create(&b->service, topology, 7, detail));
    yaml_tree_free(tree);
    arena_free(&arena);
    run(b, 3000 * MS);
    *state = b;
    return 0;
}

static int teardown(void **state)
{
    struct bench *b = *state;
    for (int i = 0; i < 2; i++)
        leave(b, &b->users[i]);
    service_destroy(&b->service);
    free(b);
    return 0;
}

/* ------------------------------------------------------------------ things of one user */

static void make_memory(struct bench *b, struct user *user)
{
    struct protocol_request request = client_request(PROTOCOL_REG_MR);
    user->memory = aligned_alloc(4096, MEMORY);
    assert_non_null(user->memory);
    memset(user->memory, 0, MEMORY);
    request.u.mr.pd = user->pd;
    request.u.mr.addr = request.u.mr.iova = (uint64_t)(uintptr_t)user->memory;
    request.u.mr.length = MEMORY;
    request.u.mr.access = HCA_ACCESS_LOCAL_WRITE | HCA_ACCESS_REMOTE_WRITE | HCA_ACCESS_REMOTE_READ;
    assert_int_equal(ask(b, user, &request), 0);
    user->mr = user->reply.u.made.handle;
    user->key = user->reply.u.made.key;
}

static void make_queues(struct bench *b, struct user *user)
{
    struct protocol_request request = client_request(PROTOCOL_CREATE_CHANNEL);
    assert_int_equal(ask(b, user, &request), 0);
    user->channel = user->reply.u.made.handle;
    user->events = user->fds[0];
    request = client_request(PROTOCOL_CREATE_CQ);
    request.u.cq.depth = 16;
    request.u.cq.cookie = 0xc0;
    request.u.cq.channel = user->channel;
    assert_int_equal(ask(b, user, &request), 0);
    user->cq = user->reply.u.made.handle;
    user->cq_id = user->reply.u.made.id;
    request = client_request(PROTOCOL_CREATE_QP);
    request.u.qp.type = HCA_QP_RC;
    request.u.qp.cookie = 0x99;
    request.u.qp.pd = user->pd;
    request.u.qp.send_cq = request.u.qp.recv_cq = user->cq;
    request.u.qp.max_send_wr = request.u.qp.max_recv_wr = 8;
    request.u.qp.max_send_sge = request.u.qp.max_recv_sge = 1;
    assert_int_equal(ask(b, user, &request), 0);
    user->qp = user->reply.u.made.handle;
    user->qp_id = user->reply.u.made.id;
    user->qp_num = user->reply.u.made.key;
}

static void make_all(struct bench *b, struct user *user, const char *node)
{
    struct protocol_request request = client_request(PROTOCOL_ALLOC_PD);
    assert_int_equal(join(b, user, node), 0);
    const struct service_place *place = &b->service.places[user->reply.u.opened.device];
    assert_true(state_open(&user->state, place->base, SERVICE_ARENA));
    assert_int_equal(ask(b, user, &request), 0);
    user->pd = user->reply.u.made.handle;
    make_memory(b, user);
    make_queues(b, user);
    request = client_request(PROTOCOL_QUERY_PORT);
    request.u.port = 1;
    assert_int_equal(ask(b, user, &request), 0);
    assert_int_equal(user->reply.u.port.state, FABRIC_PORT_ACTIVE);
    user->lid = user->reply.u.port.lid;
}

static int modify(struct bench *b, struct user *user, const struct protocol_qp_attr *attr,
                  uint32_t mask)
{
    struct protocol_request request = client_request(PROTOCOL_MODIFY_QP);
    request.u.modify.handle = user->qp;
    request.u.modify.mask = mask;
    request.u.modify.attr = *attr;
    return ask(b, user, &request);
}

static void connect_to(struct bench *b, struct user *user, const struct user *peer)
{
    struct protocol_qp_attr attr = {.state = FABRIC_QPS_INIT,
                                    .port_num = 1,
                                    .access = HCA_ACCESS_REMOTE_WRITE | HCA_ACCESS_REMOTE_READ,
                                    .path_mtu = FABRIC_MTU_1024,
                                    .dest_qp_num = peer->qp_num,
                                    .max_rd_atomic = 1,
                                    .max_dest_rd_atomic = 1,
                                    .min_rnr_timer = 12,
                                    .timeout = 10,
                                    .retry_cnt = 1,
                                    .rnr_retry = 7};
    attr.av.dlid = (uint16_t)peer->lid;
    attr.av.port_num = 1;
    assert_int_equal(modify(b, user, &attr,
                            HCA_QP_STATE | HCA_QP_PKEY_INDEX | HCA_QP_PORT | HCA_QP_ACCESS_FLAGS),
                     0);
    attr.state = FABRIC_QPS_RTR;
    assert_int_equal(modify(b, user, &attr,
                            HCA_QP_STATE | HCA_QP_AV | HCA_QP_PATH_MTU | HCA_QP_DEST_QPN |
                                HCA_QP_RQ_PSN | HCA_QP_MAX_DEST_RD_ATOMIC | HCA_QP_MIN_RNR_TIMER),
                     0);
    attr.state = FABRIC_QPS_RTS;
    assert_int_equal(modify(b, user, &attr,
                            HCA_QP_STATE | HCA_QP_TIMEOUT | HCA_QP_RETRY_CNT | HCA_QP_RNR_RETRY |
                                HCA_QP_SQ_PSN | HCA_QP_MAX_QP_RD_ATOMIC),
                     0);
}

static void connect_both(struct bench *b)
{
    make_all(b, &b->users[0], "n1");
    make_all(b, &b->users[1], "n2");
    connect_to(b, &b->users[0], &b->users[1]);
    connect_to(b, &b->users[1], &b->users[0]);
}

/* As a program posts: into its arena, then the doorbell. */
static void write_to_peer(struct bench *b, uint32_t length)
{
    struct user *from = &b->users[0];
    const struct user *to = &b->users[1];
    struct hca_sge sge = {(uint64_t)(uintptr_t)from->memory, length, from->key};
    const struct hca_send_wr wr = {.wr_id = 5,
                                   .opcode = HCA_WR_RDMA_WRITE,
                                   .flags = HCA_SEND_SIGNALED,
                                   .sges = &sge,
                                   .sge_count = 1,
                                   .remote_addr = (uint64_t)(uintptr_t)to->memory,
                                   .rkey = to->key};
    struct qp_state *qp = state_qp(&from->state, from->qp_id);
    assert_true(shared_lock(b->service.shared));
    assert_int_equal(queue_post_send(&from->state, qp, &wr), FABRIC_OK);
    shared_ring(b->service.shared, from->client->place - 1, from->qp_id);
    shared_unlock(b->service.shared);
}

static int status_of(struct bench *b, const struct user *user)
{
    struct hca_state state = user->state;
    struct cq_state *cq = table_find(&state.arena, &state.device->cqs, user->cq_id);
    struct hca_wc wc;
    run(b, MS); /* the doorbell is heard at its end */
    run(b, 1000 * MS);
    return queue_poll(&state, cq, &wc, 1) == 1 ? wc.status : -1;
}

/* ------------------------------------------------------------------ the tests */

static void bytes_go_from_program_to_program(void **state)
{
    struct bench *b = *state;
    connect_both(b);
    for (uint32_t i = 0; i < 5000; i++)
        b->users[0].memory[i] = (uint8_t)(i * 3);
    write_to_peer(b, 5000);
    assert_int_equal(status_of(b, &b->users[0]), FABRIC_WC_SUCCESS);
    assert_memory_equal(b->users[0].memory, b->users[1].memory, 5000);
}

static void a_completion_that_was_asked_for_is_told_by_a_record(void **state)
{
    struct bench *b = *state;
    struct protocol_completion record;
    connect_both(b);
    struct user *user = &b->users[0];
    queue_arm(table_find(&user->state.arena, &user->state.device->cqs, user->cq_id), false);
    for (int i = 0; i < 2; i++) {
        write_to_peer(b, 10);
        assert_int_equal(status_of(b, user), FABRIC_WC_SUCCESS);
    }
    struct pollfd look = {.fd = user->events, .events = POLLIN};
    assert_int_equal(poll(&look, 1, 0), 1);
    assert_int_equal(read(user->events, &record, sizeof(record)), sizeof(record));
    assert_int_equal(record.cookie, 0xc0);
    assert_int_equal(poll(&look, 1, 0), 0); /* asked for once, told once */
}

static void a_program_is_told_of_a_completion_at_the_doorbell_of_its_cq(void **state)
{
    struct bench *b = *state;
    connect_both(b);
    struct user *user = &b->users[0];
    struct protocol_completion record = {0};
    struct pollfd look = {.fd = user->events, .events = POLLIN};
    struct cq_state *cq = table_find(&user->state.arena, &user->state.device->cqs, user->cq_id);
    for (int i = 0; i < 2; i++) { /* the second doorbell is for nothing */
        cq->tells = i == 0;
        assert_true(shared_lock(b->service.shared));
        shared_ring_cq(b->service.shared, user->client->place - 1, user->cq_id);
        shared_unlock(b->service.shared);
        run(b, MS);
        assert_int_equal(poll(&look, 1, 0), i == 0);
        if (i == 0)
            assert_int_equal(read(user->events, &record, sizeof(record)), sizeof(record));
    }
    assert_int_equal(record.cookie, 0xc0);
}

static int ask_route(struct bench *b, struct user *user, uint32_t dlid)
{
    struct protocol_request request = client_request(PROTOCOL_ROUTE);
    request.u.route.device = user->client->place - 1;
    request.u.route.port = 1;
    request.u.route.dlid = dlid;
    return ask(b, user, &request);
}

static void a_plain_way_is_told_and_the_epoch_moves_when_it_is_not_plain_any_more(void **state)
{
    struct bench *b = *state;
    connect_both(b);
    struct user *user = &b->users[0], *peer = &b->users[1];
    assert_int_equal(ask_route(b, user, peer->lid), 0);
    assert_int_equal(user->reply.u.route.device, peer->client->place - 1);
    assert_true(user->fds[0] >= 0 && user->reply.u.route.port == 1);
    assert_int_equal(ask_route(b, user, 999), ENOENT);
    uint64_t epoch = b->service.shared->epoch;
    run(b, 1000 * MS);
    assert_int_equal(b->service.shared->epoch, epoch);
    struct net_node *node = sim_device_node(b->service.places[user->client->place - 1].device);
    net_link_set_loss(net_node_port(node, 1), 1000);
    run(b, MS);
    assert_int_not_equal(b->service.shared->epoch, epoch);
    assert_int_equal(ask_route(b, user, peer->lid), ENOENT);
}

static void an_owner_of_memory_is_told_as_a_process_while_it_is_connected(void **state)
{
    struct bench *b = *state;
    connect_both(b);
    struct protocol_request request = client_request(PROTOCOL_OWNER);
    request.u.handle = b->users[1].client->number;
    assert_int_equal(ask(b, &b->users[0], &request), 0);
    assert_int_equal(b->users[0].reply.u.owner.pid, getpid());
    uint64_t epoch = b->service.shared->epoch;
    leave(b, &b->users[1]);
    assert_int_not_equal(b->service.shared->epoch, epoch);
    assert_int_equal(ask(b, &b->users[0], &request), ESRCH);
}

static void what_a_program_made_ends_with_it_and_its_peer_sees_retry_exceeded(void **state)
{
    struct bench *b = *state;
    connect_both(b);
    struct hca *hca = service_hca(&b->service, b->users[1].client);
    uint32_t number = b->users[1].client->number;
    leave(b, &b->users[1]);
    assert_int_equal(objects_count(&b->service.objects, number), 0);
    struct fabric_device_attr attr;
    hca_device_query(hca, &attr);
    struct user *user = &b->users[0];
    struct hca_sge sge = {(uint64_t)(uintptr_t)user->memory, 10, user->key};
    const struct hca_send_wr wr = {
        .opcode = HCA_WR_SEND, .flags = HCA_SEND_SIGNALED, .sges = &sge, .sge_count = 1};
    assert_int_equal(queue_post_send(&user->state, state_qp(&user->state, user->qp_id), &wr),
                     FABRIC_OK);
    shared_ring(b->service.shared, user->client->place - 1, user->qp_id);
    assert_int_equal(status_of(b, user), FABRIC_WC_RETRY_EXC_ERR);
    make_all(b, &b->users[1], "n2"); /* and its node is as before */
}

static void the_handles_of_another_program_are_no_handles(void **state)
{
    struct bench *b = *state;
    make_all(b, &b->users[0], "n1");
    make_all(b, &b->users[1], "n1");
    struct user *stranger = &b->users[1];
    const struct user *owner = &b->users[0];
    assert_int_equal(end(b, stranger, PROTOCOL_DESTROY_QP, owner->qp), EINVAL);
    assert_int_equal(end(b, stranger, PROTOCOL_DEREG_MR, owner->mr), EINVAL);
    assert_int_equal(end(b, stranger, PROTOCOL_QUERY_QP, owner->qp), EINVAL);
    assert_int_equal(end(b, stranger, PROTOCOL_DESTROY_CQ, stranger->qp), EINVAL);
    struct protocol_request request = client_request(PROTOCOL_REG_MR);
    request.u.mr.pd = owner->pd;
    request.u.mr.addr = 4096;
    request.u.mr.length = 10;
    assert_int_equal(ask(b, stranger, &request), EINVAL);
}

static void what_is_in_use_is_not_ended(void **state)
{
    struct bench *b = *state;
    make_all(b, &b->users[0], "n1");
    struct user *user = &b->users[0];
    assert_int_equal(end(b, user, PROTOCOL_DESTROY_CQ, user->cq), EBUSY);
    assert_int_equal(end(b, user, PROTOCOL_DEALLOC_PD, user->pd), EBUSY);
    assert_int_equal(end(b, user, PROTOCOL_DESTROY_QP, user->qp), 0);
    assert_int_equal(end(b, user, PROTOCOL_DESTROY_CQ, user->cq), 0);
    assert_int_equal(end(b, user, PROTOCOL_DEREG_MR, user->mr), 0);
    assert_int_equal(end(b, user, PROTOCOL_DEALLOC_PD, user->pd), 0);
    assert_int_equal(end(b, user, PROTOCOL_DEALLOC_PD, user->pd), EINVAL);
}

static void events_of_what_is_ended_wait_no_longer(void **state)
{
    struct bench *b = *state;
    struct user *user = &b->users[0];
    make_all(b, user, "n1");
    struct outbox *outbox = &objects_get(&b->service.objects, user->channel)->outbox;
    const struct protocol_completion records[] = {{.cookie = 0xc1}, {.cookie = 0xc0}};
    while (!outbox_put(outbox, &records[0], sizeof(records[0])))
        continue;
    assert_true(outbox_put(outbox, &records[1], sizeof(records[1])));
    assert_int_equal(end(b, user, PROTOCOL_DESTROY_QP, user->qp), 0);
    assert_int_equal(end(b, user, PROTOCOL_DESTROY_CQ, user->cq), 0); /* its cookie is 0xc0 */
    assert_int_equal(outbox->length, sizeof(records[0]));
    assert_memory_equal(outbox->waiting, &records[0], sizeof(records[0]));
}

static void a_device_is_opened_by_its_names_and_once_a_connection(void **state)
{
    struct bench *b = *state;
    assert_int_equal(join(b, &b->users[0], "n3"), ENODEV);
    struct protocol_request request = client_request(PROTOCOL_ALLOC_PD);
    assert_int_equal(ask(b, &b->users[0], &request), ENODEV); /* nothing is opened */
    assert_int_equal(join(b, &b->users[1], "n2"), 0);
    request = client_request(PROTOCOL_OPEN);
    strcpy(request.u.open.node, "n1");
    strcpy(request.u.open.device, "mlx5_0");
    assert_int_equal(ask(b, &b->users[1], &request), EBUSY);
    struct service_answer answer;
    service_request(&b->service, b->users[1].client, &request, 3, &answer);
    assert_int_equal(answer.reply.error, EPROTO);
}

static void an_event_of_a_queue_pair_is_for_its_program_one_of_a_port_for_all(void **state)
{
    struct bench *b = *state;
    struct protocol_request request = client_request(PROTOCOL_CREATE_CHANNEL);
    struct protocol_async record;
    char detail[TESTBED_DETAIL];
    int fds[2];
    request.u.channel.async = 1;
    for (int i = 0; i < 2; i++) {
        make_all(b, &b->users[i], "n1");
        assert_int_equal(ask(b, &b->users[i], &request), 0);
        fds[i] = b->users[i].fds[0];
    }
    assert_int_equal(ask(b, &b->users[0], &request), EBUSY); /* one is enough */
    struct hca_event event = {.kind = HCA_EVENT_ASYNC,
                              .type = FABRIC_ASYNC_COMM_EST,
                              .qp = {b->users[0].qp_id},
                              .context = b->users[0].qp};
    const struct service_place *place = &b->service.places[b->users[0].client->place - 1];
    b->service.outside.event(&b->service, place->device, &event);
    const struct testbed_fault down = {.word = TESTBED_PORT_DOWN, .node = "n1"};
    assert_int_equal(sim_testbed.apply(b->service.tb, &down, detail), TESTBED_DONE);
    run(b, MS);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(read(fds[i], &record, sizeof(record)), sizeof(record));
        if (i == 0) {
            assert_int_equal(record.type, FABRIC_ASYNC_COMM_EST);
            assert_int_equal(record.element, 0x99);
            assert_int_equal(read(fds[i], &record, sizeof(record)), sizeof(record));
        }
        assert_int_equal(record.type, FABRIC_ASYNC_PORT_ERR);
        assert_int_equal(record.element, 1);
        close(fds[i]);
    }
}

static void shared_receives_and_address_handles_are_made_asked_and_ended(void **state)
{
    struct bench *b = *state;
    struct user *user = &b->users[0];
    make_all(b, user, "n1");
    struct protocol_request request = client_request(PROTOCOL_CREATE_SRQ);
    request.u.srq.pd = user->pd;
    request.u.srq.max_wr = 8;
    request.u.srq.max_sge = 2;
    assert_int_equal(ask(b, user, &request), 0);
    uint32_t srq = user->reply.u.made.handle;
    request = client_request(PROTOCOL_SET_SRQ_LIMIT);
    request.u.srq.handle = srq;
    request.u.srq.limit = 3;
    assert_int_equal(ask(b, user, &request), 0);
    assert_int_equal(end(b, user, PROTOCOL_QUERY_SRQ, srq), 0);
    assert_int_equal(user->reply.u.srq.max_wr, 8);
    assert_int_equal(user->reply.u.srq.limit, 3);
    assert_int_equal(end(b, user, PROTOCOL_DESTROY_SRQ, srq), 0);
    request = client_request(PROTOCOL_CREATE_AH);
    request.u.ah.pd = user->pd;
    request.u.ah.av.dlid = 2;
    request.u.ah.av.port_num = 9;
    assert_int_equal(ask(b, user, &request), EINVAL);
    request.u.ah.av.port_num = 1;
    assert_int_equal(ask(b, user, &request), 0);
    assert_int_equal(end(b, user, PROTOCOL_DESTROY_AH, user->reply.u.made.handle), 0);
}

/* What the fabric tells of itself; the caller's. */
static json_t *inspect(struct bench *b)
{
    struct protocol_request request = client_request(PROTOCOL_INSPECT);
    static char text[65536];
    json_error_t error;
    assert_int_equal(ask(b, &b->users[0], &request), 0);
    ssize_t length = pread(b->users[0].fds[0], text, sizeof(text), 0);
    assert_in_range(length, 1, sizeof(text) - 1);
    close(b->users[0].fds[0]);
    json_t *all = json_loadb(text, (size_t)length, 0, &error);
    assert_non_null(all);
    return all;
}

static long long number(const json_t *of, const char *name)
{
    assert_true(json_is_integer(json_object_get(of, name)));
    return json_integer_value(json_object_get(of, name));
}

static const json_t *first(const json_t *of, const char *name)
{
    assert_int_equal(json_array_size(json_object_get(of, name)), 1);
    return json_array_get(json_object_get(of, name), 0);
}

static void the_fabric_tells_who_made_what_and_where_it_goes(void **state)
{
    struct bench *b = *state;
    connect_both(b);
    write_to_peer(b, 100);
    assert_int_equal(status_of(b, &b->users[0]), FABRIC_WC_SUCCESS);
    json_t *all = inspect(b);
    const json_t *n1 = json_array_get(json_object_get(all, "devices"), 0);
    const json_t *port = first(n1, "ports"), *qp = first(n1, "queue_pairs");
    assert_string_equal(json_string_value(json_object_get(n1, "node")), "n1");
    assert_string_equal(json_string_value(json_object_get(port, "state")), "ACTIVE");
    assert_int_equal(number(port, "lid"), b->users[0].lid);
    assert_true(number(json_object_get(port, "counters"), "port_xmit_packets") > 0);
    const json_t *pkeys = json_object_get(port, "pkeys");
    assert_string_equal(json_string_value(json_object_get(pkeys, "0")), "0xffff");
    assert_int_equal(number(first(n1, "programs"), "objects"), 5);
    assert_int_equal(number(first(n1, "programs"), "pid"), getpid());
    assert_int_equal(number(qp, "qp_num"), b->users[0].qp_num);
    assert_string_equal(json_string_value(json_object_get(qp, "state")), "RTS");
    assert_int_equal(number(qp, "sq_psn"), 1);
    const json_t *peer = json_object_get(qp, "peer");
    assert_int_equal(number(peer, "qp_num"), b->users[1].qp_num);
    assert_int_equal(number(peer, "lid"), b->users[1].lid);
    assert_int_equal(number(first(n1, "completion_queues"), "cqe"), 16);
    assert_int_equal(number(first(n1, "memory_regions"), "length"), MEMORY);
    json_decref(all);
}

static void the_fabric_tells_how_it_is_cabled(void **state)
{
    struct bench *b = *state;
    char detail[TESTBED_DETAIL];
    make_all(b, &b->users[0], "n1");
    const struct testbed_fault down = {.word = TESTBED_PORT_DOWN, .node = "n2"};
    const struct testbed_fault gone = {.word = TESTBED_DEVICE_REMOVE, .node = "n2"};
    assert_int_equal(sim_testbed.apply(b->service.tb, &down, detail), TESTBED_DONE);
    assert_int_equal(sim_testbed.apply(b->service.tb, &gone, detail), TESTBED_DONE);
    json_t *all = inspect(b);
    const json_t *links = json_object_get(all, "links");
    assert_int_equal(json_array_size(json_object_get(all, "nodes")), 4); /* with the manager's */
    assert_int_equal(json_array_size(links), 3);
    const json_t *end = json_object_get(json_array_get(links, 1), "b");
    assert_string_equal(json_string_value(json_object_get(end, "node")), "n2/mlx5_0");
    assert_string_equal(json_string_value(json_object_get(end, "state")), "DOWN");
    assert_int_equal(number(json_array_get(links, 0), "rate_mbps"), 100000);
    const json_t *n2 = json_array_get(json_object_get(all, "devices"), 1);
    assert_true(json_is_true(json_object_get(n2, "removed")));
    json_decref(all);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(bytes_go_from_program_to_program),
        TEST(a_program_is_told_of_a_completion_at_the_doorbell_of_its_cq),
        TEST(a_plain_way_is_told_and_the_epoch_moves_when_it_is_not_plain_any_more),
        TEST(an_owner_of_memory_is_told_as_a_process_while_it_is_connected),
        TEST(a_completion_that_was_asked_for_is_told_by_a_record),
        TEST(what_a_program_made_ends_with_it_and_its_peer_sees_retry_exceeded),
        TEST(the_handles_of_another_program_are_no_handles),
        TEST(what_is_in_use_is_not_ended),
        TEST(events_of_what_is_ended_wait_no_longer),
        TEST(a_device_is_opened_by_its_names_and_once_a_connection),
        TEST(an_event_of_a_queue_pair_is_for_its_program_one_of_a_port_for_all),
        TEST(shared_receives_and_address_handles_are_made_asked_and_ended),
        TEST(the_fabric_tells_who_made_what_and_where_it_goes),
        TEST(the_fabric_tells_how_it_is_cabled)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
