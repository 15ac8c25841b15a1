/* SPDX-License-Identifier: Apache-2.0 */
/* What a program reads when it hears of a change. */
#define _DEFAULT_SOURCE /* be16toh */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <endian.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/verbs_node.h"

#define CHANGES 20

/* ------------------------------------------------------------------ on the node */

/* Somebody else changes the table, so that the event finds us waiting for it. */
static pid_t change(unsigned pkey)
{
    char program[256] = "", value[16];
    if (readlink("/proc/self/exe", program, sizeof(program) - 1) <= 0)
        return -1;
    char *tests = strstr(program, "/tests/unit/");
    if (!tests)
        return -1;
    strcpy(tests, "/simfabric");
    snprintf(value, sizeof(value), "0x%04x", pkey);
    pid_t child = fork();
    if (child == 0) {
        execl(program, program, "ctl", "pkey_set", "n1", "1", value, (char *)NULL);
        _exit(127);
    }
    return child;
}

static int hear(void)
{
    struct ibv_context *context = node_open("n1");
    struct ibv_async_event event;
    if (!context)
        return node_wrong("no device");
    for (unsigned i = 1; i <= CHANGES; i++) {
        __be16 pkey = 0;
        int status = -1;
        pid_t child = change(0x8000 + i);
        do {
            if (child < 0 || ibv_get_async_event(context, &event) != 0)
                return node_wrong("no event");
            ibv_ack_async_event(&event);
        } while (event.event_type != IBV_EVENT_PKEY_CHANGE);
        if (ibv_query_pkey(context, 1, 1, &pkey) != 0 || be16toh(pkey) != 0x8000 + i)
            return node_wrong("the table is older than its event");
        if (waitpid(child, &status, 0) != child || status != 0)
            return node_wrong("the table was not changed");
    }
    return ibv_close_device(context);
}

/* ------------------------------------------------------------------ the tests */

static void a_program_that_hears_of_a_change_finds_it_in_the_table(void **state)
{
    node_run(*state, "n1", "--hear");
}

static int setup(void **state)
{
    return node_setup(state, "{n1: {}, n2: {}}");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(
        a_program_that_hears_of_a_change_finds_it_in_the_table, setup, node_teardown)};
    if (argc == 2 && strcmp(argv[1], "--hear") == 0)
        return hear();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
