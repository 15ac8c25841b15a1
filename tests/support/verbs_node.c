/* SPDX-License-Identifier: Apache-2.0 */
#define _DEFAULT_SOURCE /* mkdtemp */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/verbs_node.h"

static int run(struct node_bed *bed, const char *command)
{
    char full[3072], path[96];
    snprintf(path, sizeof(path), "%s/output", bed->folder);
    snprintf(full, sizeof(full), "{ S=%s; %s; } >%s 2>&1", bed->program, command, path);
    int status = system(full);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    bed->output[fread(bed->output, 1, sizeof(bed->output) - 1, file)] = '\0';
    fclose(file);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int node_shell(struct node_bed *bed, const char *format, ...)
{
    char command[2048];
    va_list values;
    va_start(values, format);
    int length = vsnprintf(command, sizeof(command), format, values);
    va_end(values);
    assert_in_range(length, 1, sizeof(command) - 1);
    return run(bed, command);
}

int node_setup(void **state, const char *nodes)
{
    static struct node_bed bed;
    memset(&bed, 0, sizeof(bed));
    strcpy(bed.folder, "/tmp/simfabric-node-XXXXXX");
    if (!mkdtemp(bed.folder) || readlink("/proc/self/exe", bed.self, sizeof(bed.self) - 1) <= 0)
        return -1;
    snprintf(bed.program, sizeof(bed.program), "%s", bed.self);
    char *tests = strstr(bed.program, "/tests/unit/");
    assert_non_null(tests);
    strcpy(tests, "/simfabric");
    *state = &bed;
    if (setenv("XDG_RUNTIME_DIR", bed.folder, 1) != 0)
        return -1;
    return node_shell(&bed, "echo 'nodes: %s' >%s/nodes.yaml && $S up %s/nodes.yaml --seed 3",
                      nodes, bed.folder, bed.folder);
}

int node_teardown(void **state)
{
    struct node_bed *bed = *state;
    int status = node_shell(bed, "$S down");
    char command[96];
    snprintf(command, sizeof(command), "rm -r %s", bed->folder);
    return system(command) == 0 ? status : -1;
}

void node_run(struct node_bed *bed, const char *node, const char *argument)
{
    if (node_shell(bed, "test -r %s-rdmav34.so && unshare %s --mount true", bed->program,
                   geteuid() == 0 ? "" : "--map-current-user") != 0)
        skip(); /* no plug-in in this build, or no namespaces in this place */
    int status =
        node_shell(bed, "timeout 60 $S exec --node %s -- %s %s", node, bed->self, argument);
    if (status != 0)
        print_message("%s: %d: %s", argument, status, bed->output);
    assert_int_equal(status, 0);
}

struct ibv_context *node_open(const char *node)
{
    if (setenv("SIMFABRIC_NODE", node, 1) != 0)
        return NULL;
    struct ibv_device **list = ibv_get_device_list(NULL);
    struct ibv_context *context = list && list[0] ? ibv_open_device(list[0]) : NULL;
    if (list)
        ibv_free_device_list(list);
    return context;
}

int node_wrong(const char *what)
{
    printf("%s\n", what);
    return 1;
}
