/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/desk.h"

void desk_open(struct desk *desk)
{
    *desk = (struct desk){.node = PAIR_CLIENT, .signal = -1};
}

void desk_close(struct desk *desk)
{
    if (desk->world)
        small_world_free(desk->world);
    for (size_t i = 0; i < DESK_FILES; i++)
        free(desk->files[i].data);
    free(desk->out);
    free(desk->err);
}

void desk_set(struct desk *desk, const char *variable, const char *value)
{
    size_t i = 0;
    while (desk->variables[i][0] && strcmp(desk->variables[i][0], variable) != 0)
        i++;
    assert(i < 16);
    desk->variables[i][0] = variable;
    desk->variables[i][1] = value;
}

struct desk_file *desk_find(struct desk *desk, const char *path)
{
    for (size_t i = 0; i < DESK_FILES; i++) {
        if (strcmp(desk->files[i].path, path) == 0)
            return &desk->files[i];
    }
    return NULL;
}

void desk_file(struct desk *desk, const char *path, const void *data, size_t length, uint32_t mode)
{
    struct desk_file *file = desk_find(desk, path);
    for (size_t i = 0; !file && i < DESK_FILES; i++)
        file = desk->files[i].path[0] ? NULL : &desk->files[i];
    assert(file);
    free(file->data);
    snprintf(file->path, sizeof file->path, "%s", path);
    file->data = malloc(length + 1);
    memcpy(file->data, data, length);
    file->data[length] = '\0';
    file->length = length;
    file->mode = mode;
}

static const char *environment(void *context, const char *name)
{
    const struct desk *desk = context;
    for (size_t i = 0; i < 16 && desk->variables[i][0]; i++) {
        if (strcmp(desk->variables[i][0], name) == 0)
            return desk->variables[i][1];
    }
    return NULL;
}

static enum fabric_error read_file(void *context, const char *path, size_t max,
                                   struct cli_file *out)
{
    const struct desk_file *file = desk_find(context, path);
    if (!file)
        return ERR_NOT_FOUND;
    if (file->length > max)
        return ERR_TOO_LARGE;
    out->data = malloc(file->length + 1);
    memcpy(out->data, file->data, file->length + 1);
    out->length = file->length;
    out->mode = file->mode;
    out->is_regular = true;
    return FABRIC_OK;
}

static enum fabric_error write_file(void *context, const char *path, const void *data,
                                    size_t length)
{
    if (strcmp(path, "/full") == 0)
        return ERR_STORE_FULL;
    desk_file(context, path, data, length, 0600);
    return FABRIC_OK;
}

/* In steps of a millisecond of the small world's time. */
static enum fabric_error run(void *context, const struct cli_node *node)
{
    struct desk *desk = context;
    void *state = NULL;
    if (desk->run)
        return desk->run(desk, node);
    assert(desk->world);
    desk->busy_poll = node->busy_poll;
    small_sink(desk->world, desk->node, &node->sink);
    enum fabric_error error = small_start_with(desk->world, desk->node, node->program, node->config,
                                               node->config_length, &state);
    for (unsigned step = 0; !error && !node->done(node->context); step++) {
        assert(step < 60000);
        small_run(desk->world, SECOND / 1000);
        if (desk->meanwhile)
            desk->meanwhile(desk);
        if (desk->signal < 0)
            continue;
        const char *command = node->signal ? node->signal(node->context, desk->signal) : NULL;
        desk->signal = -1;
        if (command && *command)
            small_command(desk->world, desk->node, command);
        else if (!command)
            error = ERR_CANCELLED;
    }
    small_stop(desk->world, desk->node);
    small_sink(desk->world, desk->node, NULL);
    return error;
}

static bool all_done(const struct cli_node *nodes, size_t count)
{
    bool done = true;
    for (size_t i = 0; i < count; i++)
        done = done && nodes[i].done(nodes[i].context);
    return done;
}

/* Each on a node of the small world. */
static enum fabric_error run_several(void *context, const struct cli_node *nodes, size_t count)
{
    struct desk *desk = context;
    void *state = NULL;
    enum fabric_error error = FABRIC_OK;
    assert(desk->world && desk->node + count <= SMALL_NODES);
    for (uint32_t i = 0; i < count && !error; i++) {
        small_sink(desk->world, desk->node + i, &nodes[i].sink);
        error = small_start_with(desk->world, desk->node + i, nodes[i].program, "", 0, &state);
    }
    for (unsigned step = 0; !error && !all_done(nodes, count); step++) {
        assert(step < 60000 && desk->signal < 0);
        small_run(desk->world, SECOND / 1000);
    }
    for (uint32_t i = 0; i < count; i++) {
        small_stop(desk->world, desk->node + i);
        small_sink(desk->world, desk->node + i, NULL);
    }
    return error;
}

static void log_level(void *context, enum fabric_log_level level)
{
    struct desk *desk = context;
    desk->level = level;
}

static void notify(void *context, const char *state)
{
    struct desk *desk = context;
    size_t used = strlen(desk->told);
    snprintf(desk->told + used, sizeof desk->told - used, "%s ", state);
}

static enum fabric_error look(void *context, const char *sysfs_root, struct fabric **out)
{
    struct desk *desk = context;
    snprintf(desk->sysfs_root, sizeof desk->sysfs_root, "%s", sysfs_root ? sysfs_root : "");
    if (!desk->fabric)
        return ERR_NOT_FOUND;
    *out = desk->fabric;
    desk->fabric = NULL;
    return FABRIC_OK;
}

enum cli_exit desk_type(struct desk *desk, const char *line)
{
    char words[1024];
    const char *argv[64];
    int argc = 0;
    size_t out_length, err_length;
    free(desk->out);
    free(desk->err);
    snprintf(words, sizeof words, "%s", line);
    for (char *rest = words, *word; (word = strtok_r(rest, " ", &rest)) != NULL;)
        argv[argc++] = word;
    struct cli_host host = {.out = open_memstream(&desk->out, &out_length),
                            .err = open_memstream(&desk->err, &err_length),
                            .columns = desk->columns,
                            .progress = desk->progress,
                            .context = desk,
                            .environment = environment,
                            .read_file = read_file,
                            .write_file = write_file,
                            .run = run,
                            .run_several = run_several,
                            .log_level = log_level,
                            .look = look,
                            .notify = notify};
    enum cli_exit code = cli_main(&host, argc, argv);
    fclose(host.out);
    fclose(host.err);
    return code;
}

void desk_expect(struct desk *desk, const char *line, enum cli_exit code, const char *out,
                 const char *err)
{
    enum cli_exit found = desk_type(desk, line);
    if (found != code || (out && !strstr(desk->out, out)) || (err && !strstr(desk->err, err)))
        fail_msg("%s: exit %d, expected %d, '%s' and '%s'; found:\n%s---\n%s", line, found, code,
                 out ? out : "", err ? err : "", desk->out, desk->err);
}
