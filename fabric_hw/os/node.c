/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "fabric_hw/os/node.h"

#include <assert.h>
#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "fabric_hw/os/run.h"
#include "src/fabric/layer_fault.h"
#include "src/fabric/layer_place.h"
#include "src/fabric/planted.h"

/* Threading: the reader's thread takes lines from standard input and hands them to os_run_tell;
 * everything else happens in the main thread, inside or around os_run_until. */
struct node {
    const struct fabric_program *program;
    void *state; /* of the program */
    struct fabric *faults;
    struct os_run *run;
    bool stop;
    int quit; /* descriptor that ends the reader */
    char *pending;
    size_t length;
};

/* ------------------------------------------------------------------ saying */

static void say(json_t *object)
{
    char *text = object ? json_dumps(object, JSON_COMPACT) : NULL;
    size_t length = text ? strlen(text) : 0;
    assert(text);
    text[length++] = '\n'; /* in place of the NUL: one write a line */
    for (size_t done = 0; done < length;) {
        ssize_t written = write(STDOUT_FILENO, text + done, length - done);
        if (written < 0 && errno != EINTR)
            break;
        done += written > 0 ? (size_t)written : 0;
    }
    free(text);
    json_decref(object);
}

static void say_exited(enum fabric_error error)
{
    say(json_pack("{s:s, s:s}", "event", "exited", "error", error_name(error)));
}

static void report(void *context, const char *json)
{
    (void)context;
    say(json_pack("{s:s, s:s}", "event", "report", "text", json));
}

/* ------------------------------------------------------------------ reading */

/* Blocks until a whole line is there; null at the end, beyond the limit, or when told to quit. */
static char *next_line(struct node *node)
{
    for (;;) {
        char *newline = memchr(node->pending, '\n', node->length);
        if (newline) {
            size_t size = (size_t)(newline - node->pending);
            char *line = malloc(size + 1);
            assert(line);
            memcpy(line, node->pending, size);
            line[size] = '\0';
            node->length -= size + 1;
            memmove(node->pending, newline + 1, node->length);
            return line;
        }
        struct pollfd fds[] = {{STDIN_FILENO, POLLIN, 0}, {node->quit, POLLIN, 0}};
        if (node->length == OS_NODE_LINE)
            return NULL;
        if (poll(fds, 2, -1) < 0)
            continue; /* only EINTR can be */
        if (fds[1].revents)
            return NULL;
        ssize_t got = read(STDIN_FILENO, node->pending + node->length, OS_NODE_LINE - node->length);
        if (got == 0 || (got < 0 && errno != EINTR))
            return NULL;
        node->length += got > 0 ? (size_t)got : 0;
    }
}

static void *read_lines(void *context)
{
    struct node *node = context;
    char *line;
    while ((line = next_line(node))) {
        (void)os_run_tell(node->run, line);
        free(line);
    }
    if (!PLANTED(os_node_outlives_its_driver))
        (void)os_run_tell(node->run, "{\"stop\":true}");
    return NULL;
}

/* ------------------------------------------------------------------ the program and its rules */

static const char *member(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "";
}

/* The runner has looked whether it makes sense. */
static void add_rule(struct node *node, const json_t *rule)
{
    struct layer_fault_rule made = {
        .nth = (uint64_t)json_integer_value(json_object_get(rule, "nth")),
        .repeat = (uint64_t)json_integer_value(json_object_get(rule, "repeat")),
        .error = (enum fabric_error)json_integer_value(json_object_get(rule, "error")),
        .status = (enum fabric_wc_status)json_integer_value(json_object_get(rule, "status")),
    };
    assert(made.nth > 0);
    if (fabric_op_by_name(member(rule, "op"), &made.op))
        (void)layer_fault_add(node->faults, &made);
}

static void command(void *state, const char *line)
{
    struct node *node = state;
    json_t *object = json_loads(line, 0, NULL);
    const json_t *tell = json_object_get(object, "tell");
    char *text = tell ? json_dumps(tell, JSON_COMPACT) : NULL;
    if (text)
        node->program->command(node->state, text);
    if (json_object_get(object, "rule"))
        add_rule(node, json_object_get(object, "rule"));
    if (json_is_true(json_object_get(object, "clear")))
        layer_fault_clear(node->faults);
    if (json_is_true(json_object_get(object, "stop")))
        node->stop = true;
    free(text);
    json_decref(object);
}

static void event(void *state, const struct fabric_event *one)
{
    struct node *node = state;
    node->program->event(node->state, one);
}

static void stop(void *state)
{
    struct node *node = state;
    node->program->stop(node->state);
}

/* The sink's context is the node: nothing else of ours comes this way. */
static enum fabric_error start(struct fabric *f, const char *config, size_t config_length,
                               const struct fabric_report_sink *sink, void **state)
{
    struct node *node = sink->context;
    *state = node;
    return node->program->start(f, config, config_length, sink, &node->state);
}

static const struct fabric_program wrapped = {
    .name = "node", .start = start, .event = event, .command = command, .stop = stop};

static bool is_done(void *context)
{
    const struct node *node = context;
    return node->stop;
}

/* ------------------------------------------------------------------ setting up */

static void read_place(const json_t *from, struct layer_place *place)
{
    const json_t *one;
    size_t i;
    snprintf(place->address, sizeof(place->address), "%s", member(from, "address"));
    snprintf(place->storage, sizeof(place->storage), "%s", member(from, "storage"));
    json_array_foreach(json_object_get(from, "devices"), i, one)
    {
        if (place->device_count == LAYER_PLACE_DEVICES)
            break;
        struct layer_place_device *device = &place->devices[place->device_count++];
        snprintf(device->name, sizeof(device->name), "%s", member(one, "name"));
        snprintf(device->real, sizeof(device->real), "%s", member(one, "real"));
    }
    json_array_foreach(json_object_get(from, "peers"), i, one)
    {
        if (place->peer_count == LAYER_PLACE_PEERS)
            break;
        struct layer_place_peer *peer = &place->peers[place->peer_count++];
        snprintf(peer->name, sizeof(peer->name), "%s", member(one, "name"));
        snprintf(peer->real, sizeof(peer->real), "%s", member(one, "real"));
    }
}

static enum fabric_error make_fabric(const struct os_node_init *init, const json_t *setup,
                                     struct node *node)
{
    struct layer_place *place = calloc(1, sizeof(*place));
    struct fabric *bare, *placed;
    if (!place)
        return ERR_RESOURCES_EXHAUSTED;
    read_place(json_object_get(setup, "place"), place);
    const struct os_fabric_options options = {.log_fd = STDERR_FILENO,
                                              .log_form = OS_LOG_JSON,
                                              .log_level = FABRIC_LOG_DEBUG,
                                              .source = place->address[0] ? place->address : NULL,
                                              .part = init->part,
                                              .part_context = init->part_context};
    enum fabric_error error = os_fabric_create(&options, &bare);
    if (!error && (error = layer_place_create(bare, place, &placed)))
        fabric_destroy(bare);
    else if (!error && (error = layer_fault_create(placed, &node->faults)))
        fabric_destroy(placed);
    free(place);
    return error;
}

static enum fabric_error drive(struct node *node)
{
    pthread_t reader;
    const uint64_t once = 1;
    if (pthread_create(&reader, NULL, read_lines, node) != 0)
        return ERR_RESOURCES_EXHAUSTED;
    enum os_run_end end = os_run_until(node->run, FABRIC_FOREVER);
    ssize_t written = write(node->quit, &once, sizeof(once));
    assert(written == sizeof(once));
    pthread_join(reader, NULL);
    return end == OS_RUN_DONE ? FABRIC_OK : ERR_INTERNAL;
}

static enum fabric_error run(struct node *node, const json_t *setup)
{
    const char *config = member(setup, "config");
    const json_t *one;
    size_t i;
    json_array_foreach(json_object_get(setup, "rules"), i, one) add_rule(node, one);
    const struct os_run_init init = {.program = &wrapped,
                                     .config = config,
                                     .config_length = strlen(config),
                                     .sink = {.context = node, .report = report},
                                     .done = is_done,
                                     .context = node};
    enum fabric_error error = os_run_start(node->faults, &init, &node->run);
    if (error)
        return error;
    error = drive(node);
    os_run_stop(node->run);
    return error;
}

static int run_setup(const struct os_node_init *init, const json_t *setup, struct node *node)
{
    const char *name = member(setup, "program");
    for (size_t i = 0; i < init->program_count; i++) {
        if (strcmp(init->programs[i]->name, name) == 0)
            node->program = init->programs[i];
    }
    if (!node->program)
        return 2;
    enum fabric_error error = make_fabric(init, setup, node);
    if (!error) {
        error = run(node, setup);
        fabric_destroy(node->faults);
    }
    say_exited(error);
    return error ? 1 : 0;
}

int os_node_main(const struct os_node_init *init)
{
    struct node node = {.quit = eventfd(0, EFD_CLOEXEC), .pending = malloc(OS_NODE_LINE)};
    assert(init && node.pending && node.quit >= 0);
    (void)signal(SIGPIPE, SIG_IGN);
    char *line = next_line(&node);
    json_t *setup = line ? json_loads(line, 0, NULL) : NULL;
    int status = setup ? run_setup(init, setup, &node) : 2;
    json_decref(setup);
    free(line);
    free(node.pending);
    close(node.quit);
    return status;
}
