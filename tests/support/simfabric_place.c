/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fabric_sim/simfabric/tree.h"
#include "tests/support/simfabric_place.h"

int shell(struct place *place, const char *format, ...)
{
    char command[1024], full[2048], path[96];
    va_list values;
    va_start(values, format);
    vsnprintf(command, sizeof(command), format, values);
    va_end(values);
    snprintf(path, sizeof(path), "%s/output", place->folder);
    snprintf(full, sizeof(full), "{ S=%s; %s; } >%s 2>&1", place->program, command, path);
    int status = system(full);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    place->output[fread(place->output, 1, OUTPUT - 1, file)] = '\0';
    fclose(file);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool said(const struct place *place, const char *text)
{
    return strstr(place->output, text) != NULL;
}

int place_setup(void **state)
{
    static struct place place;
    char topology[96];
    strcpy(place.folder, "/tmp/simfabric-program-XXXXXX");
    assert_non_null(mkdtemp(place.folder));
    assert_true(readlink("/proc/self/exe", place.self, sizeof(place.self) - 1) > 0);
    snprintf(place.program, sizeof(place.program), "%s", place.self);
    char *tests = strstr(place.program, "/tests/unit/");
    assert_non_null(tests);
    strcpy(tests, "/simfabric");
    assert_int_equal(setenv("XDG_RUNTIME_DIR", place.folder, 1), 0);
    snprintf(topology, sizeof(topology), "%s/pair.yaml", place.folder);
    FILE *file = fopen(topology, "w");
    assert_non_null(file);
    assert_true(fputs("nodes: {n1: {}, n2: {}}\n", file) >= 0);
    fclose(file);
    place.port = 20000 + (unsigned)getpid() % 20000;
    *state = &place;
    return 0;
}

int place_teardown(void **state)
{
    struct place *place = *state;
    (void)shell(place, "$S down; $S down --name other");
    return tree_delete(place->folder) ? 0 : -1;
}

void bring_up(struct place *place, const char *name)
{
    int status = shell(place, "$S up %s/pair.yaml --seed 3 --name %s", place->folder, name);
    if (status != 0)
        print_message("%s", place->output);
    assert_int_equal(status, 0);
}

void need_namespaces(struct place *place)
{
    if (shell(place, "unshare %s --mount true", geteuid() == 0 ? "" : "--map-current-user") != 0)
        skip();
}

void need_node(struct place *place)
{
    char plugin[300];
    snprintf(plugin, sizeof(plugin), "%s-rdmav34.so", place->program);
    need_namespaces(place);
    if (access(plugin, R_OK) != 0)
        skip(); /* built without rdma-core, or with a sanitizer */
    bring_up(place, "default");
}

void need_program(struct place *place, const char *program)
{
    if (shell(place, "command -v %s", program) != 0)
        skip();
}
