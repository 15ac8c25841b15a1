/* SPDX-License-Identifier: Apache-2.0 */
/* Proves HA-3.1, HA-4.3: fault words on a fabric that programs use. */
#define _DEFAULT_SOURCE /* syscall */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fabric_sim/simfabric/client.h"
#include "fabric_sim/simfabric/control.h"
#include "fabric_sim/simfabric/service.h"
#include "src/scenario/topology_read.h"

#define MS UINT64_C(1000000)

struct bench {
    struct service service;
    struct service_client *desk, *program;
    uint64_t now;
    int sockets[2];
    pid_t child;
    struct protocol_reply reply;
};

static void run(struct bench *b, uint64_t ns)
{
    b->now += ns;
    for (bool more = true; more; service_announce(&b->service))
        more = service_run(&b->service, b->now);
}

static int ask(struct bench *b, struct service_client *client,
               const struct protocol_request *request)
{
    struct service_answer answer;
    service_request(&b->service, client, request, sizeof(*request), &answer);
    b->reply = answer.reply;
    return answer.reply.error;
}

static enum testbed_result told(struct bench *b, const struct protocol_request *request)
{
    assert_int_equal(ask(b, b->desk, request), 0);
    run(b, 2000 * MS);
    return (enum testbed_result)b->reply.u.told.result;
}

static enum testbed_result fault(struct bench *b, enum testbed_word word, const char *node,
                                 uint64_t value)
{
    struct protocol_request request = client_request(PROTOCOL_FAULT);
    request.u.fault.word = word;
    request.u.fault.value = value;
    request.u.fault.on = 1;
    if (node)
        strcpy(request.u.fault.node, node);
    return told(b, &request);
}

static const char *fact(struct bench *b, const char *query)
{
    struct protocol_request request = client_request(PROTOCOL_ASK);
    strcpy(request.u.ask.node, "n1");
    strcpy(request.u.ask.query, query);
    return told(b, &request) == TESTBED_DONE ? b->reply.u.told.text : "";
}

static int setup(void **state)
{
    static const char text[] = "nodes: {n1: {}, n2: {}}\n";
    struct bench *b = calloc(1, sizeof(*b));
    struct yaml_errors errors;
    struct arena arena = {0};
    char detail[TESTBED_DETAIL];
    assert_non_null(b);
    yaml_errors_init(&errors, "pair");
    struct yaml_tree *tree = yaml_parse(text, strlen(text), &errors);
    struct topology *topology = tree ? topology_read(yaml_root(tree), &arena, &errors) : NULL;
    assert_non_null(topology);
    assert_true(service_create(&b->service, topology, 7, detail));
    yaml_tree_free(tree);
    arena_free(&arena);
    run(b, 3000 * MS);
    b->desk = service_join(&b->service, -1);
    *state = b;
    return 0;
}

/* A process of its own that has the device of n1 open. */
static void begin_program(struct bench *b)
{
    struct protocol_request request = client_request(PROTOCOL_OPEN);
    int ready[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ready), 0);
    b->child = fork();
    assert_true(b->child >= 0);
    if (b->child == 0) {
        char byte = 0;
        (void)!write(ready[1], &byte, 1);
        (void)!read(ready[1], &byte, 1);
        _exit(0);
    }
    b->program = service_join(&b->service, -1);
    strcpy(request.u.open.node, "n1");
    strcpy(request.u.open.device, "mlx5_0");
    assert_int_equal(ask(b, b->program, &request), 0);
    b->sockets[0] = ready[0];
    b->sockets[1] = ready[1];
    /* Whom the system would name at the other end of the program's socket. */
    b->program->program.pid = b->child;
    b->program->program.pidfd = (int)syscall(SYS_pidfd_open, b->child, 0);
    assert_true(b->program->program.pidfd >= 0);
}

static int teardown(void **state)
{
    struct bench *b = *state;
    if (b->child > 0) {
        kill(b->child, SIGKILL);
        waitpid(b->child, NULL, 0);
        close(b->sockets[0]);
        close(b->sockets[1]);
    }
    service_destroy(&b->service);
    free(b);
    return 0;
}

static void a_word_about_the_fabric_is_carried_out_and_taken_back(void **state)
{
    struct bench *b = *state;
    const struct protocol_request undo = client_request(PROTOCOL_UNDO);
    assert_string_equal(fact(b, "mlx5_0 state"), "ACTIVE");
    char lid[TESTBED_DETAIL];
    strcpy(lid, fact(b, "mlx5_0 lid"));
    assert_int_equal(fault(b, TESTBED_LID_SET, "n1", 77), TESTBED_DONE);
    assert_string_equal(fact(b, "mlx5_0 lid"), "77");
    assert_int_equal(fault(b, TESTBED_PORT_DOWN, "n1", 0), TESTBED_DONE);
    assert_string_equal(fact(b, "mlx5_0 state"), "DOWN");
    assert_int_equal(told(b, &undo), TESTBED_DONE);
    assert_string_equal(fact(b, "mlx5_0 state"), "ACTIVE");
    assert_string_equal(fact(b, "mlx5_0 lid"), lid);
}

static void what_the_fabric_does_not_have_is_refused_with_a_sentence(void **state)
{
    struct bench *b = *state;
    assert_int_equal(fault(b, TESTBED_PORT_DOWN, "n3", 0), TESTBED_WRONG);
    assert_non_null(strstr(b->reply.u.told.text, "no node 'n3'"));
    assert_int_equal(fault(b, TESTBED_PORT_DOWN, NULL, 0), TESTBED_WRONG);
    assert_int_equal(fault(b, TESTBED_PROCESS_KILL, NULL, 0), TESTBED_WRONG);
    assert_int_equal(fault(b, TESTBED_PROCESS_KILL, "n1", 0), TESTBED_WRONG);
    assert_non_null(strstr(b->reply.u.told.text, "no program on node 'n1'"));
    assert_int_equal(fault(b, TESTBED_LID_SET, "n1", 70000), TESTBED_WRONG);
    for (int i = 0; i < TESTBED_WORD_COUNT; i++) {
        if (!control_has((enum testbed_word)i))
            assert_int_equal(fault(b, (enum testbed_word)i, "n1", 1), TESTBED_LACKS);
    }
    assert_string_equal(fact(b, "mlx5_0 colour"), "");
}

static void the_programs_of_a_node_are_killed(void **state)
{
    struct bench *b = *state;
    int status;
    begin_program(b);
    assert_int_equal(fault(b, TESTBED_PROCESS_KILL, "n2", 0), TESTBED_WRONG);
    assert_int_equal(fault(b, TESTBED_PROCESS_KILL, "n1", 0), TESTBED_DONE);
    assert_int_equal(waitpid(b->child, &status, 0), b->child);
    b->child = 0;
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    close(b->sockets[0]);
    close(b->sockets[1]);
}

static void a_node_that_loses_power_takes_its_programs_along(void **state)
{
    struct bench *b = *state;
    int status;
    begin_program(b);
    assert_int_equal(fault(b, TESTBED_POWER_LOSS, "n1", 0), TESTBED_DONE);
    assert_int_equal(waitpid(b->child, &status, 0), b->child);
    b->child = 0;
    assert_true(WIFSIGNALED(status));
    assert_string_equal(fact(b, "mlx5_0 state"), "DOWN");
    assert_int_equal(fault(b, TESTBED_POWER_RETURN, "n1", 0), TESTBED_DONE);
    assert_string_equal(fact(b, "mlx5_0 state"), "ACTIVE");
    close(b->sockets[0]);
    close(b->sockets[1]);
}

static void a_frozen_program_goes_on_when_all_is_taken_back(void **state)
{
    struct bench *b = *state;
    const struct protocol_request undo = client_request(PROTOCOL_UNDO);
    int status;
    begin_program(b);
    assert_int_equal(fault(b, TESTBED_PROCESS_FREEZE, "n1", 0), TESTBED_DONE);
    assert_int_equal(waitpid(b->child, &status, WUNTRACED), b->child);
    assert_true(WIFSTOPPED(status));
    assert_int_equal(told(b, &undo), TESTBED_DONE);
    assert_int_equal(waitpid(b->child, &status, WCONTINUED | WNOHANG), b->child);
    assert_true(WIFCONTINUED(status));
    assert_int_equal(told(b, &undo), TESTBED_DONE); /* it is not frozen any more */
    assert_int_equal(waitpid(b->child, &status, WCONTINUED | WNOHANG), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_word_about_the_fabric_is_carried_out_and_taken_back),
        TEST(what_the_fabric_does_not_have_is_refused_with_a_sentence),
        TEST(the_programs_of_a_node_are_killed),
        TEST(a_node_that_loses_power_takes_its_programs_along),
        TEST(a_frozen_program_goes_on_when_all_is_taken_back)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
