/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/small_world.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/fabric/gid.h"
#include "tests/support/small_world_inside.h"

struct small_node *small_of(struct fabric *f)
{
    return (struct small_node *)(void *)f;
}

struct small_entry *small_schedule(struct small_world *w, uint32_t node, uint64_t after)
{
    for (uint32_t i = 0; i < SMALL_QUEUE; i++) {
        struct small_entry *e = &w->queue[i];
        if (e->used)
            continue;
        memset(e, 0, sizeof *e);
        e->used = true;
        e->time = w->now + after;
        e->order = ++w->order;
        e->node = node;
        return e;
    }
    assert(0 && "the queue is full");
    return NULL;
}

bool small_fails(struct small_node *n, enum fabric_op op)
{
    if (!n->fail_repeat || n->fail_op != (uint32_t)op)
        return false;
    if (n->fail_nth > 1) {
        n->fail_nth--;
        return false;
    }
    n->fail_repeat--;
    return true;
}

/* ------------------------------------------------------------------ members */

static void ignore(struct fabric *f, ...)
{
    (void)f;
}

#define X(upper, lower, parameters, arguments, fault)                                              \
    static enum fabric_error plain_##lower parameters                                              \
    {                                                                                              \
        struct fabric *next = f;                                                                   \
        ignore arguments;                                                                          \
        return FABRIC_OK;                                                                          \
    }
#include "src/fabric/ops.def"
#undef X

static enum fabric_error now(struct fabric *f, uint64_t *out)
{
    *out = small_of(f)->world->now;
    return FABRIC_OK;
}

static enum fabric_error entropy(struct fabric *f, void *buf, size_t length)
{
    struct small_world *w = small_of(f)->world;
    for (size_t i = 0; i < length; i++) {
        w->random = w->random * 6364136223846793005u + 1442695040888963407u;
        ((uint8_t *)buf)[i] = (uint8_t)(w->random >> 56);
    }
    return FABRIC_OK;
}

static void keep(char **list, uint32_t *count, const char *text)
{
    assert(*count < SMALL_TEXTS);
    list[*count] = malloc(strlen(text) + 1);
    strcpy(list[(*count)++], text);
}

static enum fabric_error take_log(struct fabric *f, enum fabric_log_level level, const char *line)
{
    struct small_node *n = small_of(f);
    char text[1100];
    static const char *const levels[] = {"DEBUG", "INFO", "WARN", "ERROR"};
    snprintf(text, sizeof text, "%s %s", levels[level], line);
    if (getenv("SMALL_WORLD_TALK"))
        fprintf(stderr, "%12llu %u %s\n", (unsigned long long)n->world->now, n->index, text);
    keep(n->logs, &n->log_count, text);
    return FABRIC_OK;
}

static enum fabric_error timer_set(struct fabric *f, uint64_t deadline, uint64_t cookie,
                                   fabric_timer *out)
{
    struct small_node *n = small_of(f);
    uint64_t at = n->world->now;
    if (small_fails(n, FABRIC_OP_TIMER_SET))
        return n->fail_error;
    struct small_entry *e = small_schedule(n->world, n->index, deadline > at ? deadline - at : 0);
    e->event.type = FABRIC_EVENT_TIMER;
    e->event.u.timer.timer.id = ++n->handles;
    e->event.u.timer.cookie = cookie;
    *out = e->event.u.timer.timer;
    return FABRIC_OK;
}

static enum fabric_error timer_cancel(struct fabric *f, fabric_timer timer, bool *was_pending)
{
    struct small_node *n = small_of(f);
    *was_pending = false;
    for (uint32_t i = 0; i < SMALL_QUEUE; i++) {
        struct small_entry *e = &n->world->queue[i];
        if (e->used && e->node == n->index && e->event.type == FABRIC_EVENT_TIMER && !e->is_post &&
            e->event.u.timer.timer.id == timer.id) {
            e->used = false;
            *was_pending = true;
        }
    }
    return FABRIC_OK;
}

static const struct fabric_ops base_ops = {
#define X(upper, lower, parameters, arguments, fault) .lower = plain_##lower,
#include "src/fabric/ops.def"
#undef X
};

/* ------------------------------------------------------------------ the world */

static void set_defaults(struct small_node *n)
{
    struct small_port *p = &n->port;
    p->attr = (struct fabric_port_attr){.port_num = 1,
                                        .state = FABRIC_PORT_ACTIVE,
                                        .link_layer = FABRIC_LINK_LAYER_INFINIBAND,
                                        .lid = (uint16_t)(n->index + 1),
                                        .sm_lid = 9,
                                        .max_mtu = FABRIC_MTU_4096,
                                        .active_mtu = FABRIC_MTU_4096,
                                        .gid_tbl_len = SMALL_GIDS,
                                        .pkey_tbl_len = SMALL_PKEYS,
                                        .active_speed_mbps = 100000,
                                        .port_guid = 0x10u + n->index};
    p->pkeys[0] = 0xffff;
    p->gids[0].gid = fabric_gid_make(0xfe80000000000000u, 0x10u + n->index);
    p->gid_there[0] = true;
    p->max_rd_atomic = 16;
}

static void node_ops(struct fabric_ops *ops)
{
    *ops = base_ops;
    ops->now = now;
    ops->entropy = entropy;
    ops->log = take_log;
    ops->timer_set = timer_set;
    ops->timer_cancel = timer_cancel;
#define X(member) ops->member = small_streams.member;
    SMALL_STREAMS(X)
#undef X
#define X(member) ops->member = small_web.member;
    SMALL_HTTP(X)
#undef X
#define X(member) ops->member = small_verbs.member;
    SMALL_VERBS(X)
#undef X
}

static void take_report(void *context, const char *json)
{
    struct small_node *n = context;
    if (getenv("SMALL_WORLD_TALK"))
        fprintf(stderr, "%12llu %u %s\n", (unsigned long long)n->world->now, n->index, json);
    keep(n->reports, &n->report_count, json);
}

void small_sink(struct small_world *w, uint32_t node, const struct fabric_report_sink *sink)
{
    w->nodes[node]->own = sink ? *sink : (struct fabric_report_sink){NULL, NULL};
}

struct small_world *small_world_new(uint32_t nodes)
{
    struct small_world *w = calloc(1, sizeof *w);
    assert(nodes <= SMALL_NODES);
    w->queue = calloc(SMALL_QUEUE, sizeof *w->queue);
    w->random = 1;
    w->delay = 1000;
    w->completion_delay = 1000;
    w->node_count = nodes;
    for (uint32_t i = 0; i < nodes; i++) {
        struct small_node *n = calloc(1, sizeof *n);
        struct fabric_ops *ops = calloc(1, sizeof *ops);
        node_ops(ops);
        fabric_init(&n->head, ops);
        n->world = w;
        n->index = i;
        n->sink = (struct fabric_report_sink){n, take_report};
        set_defaults(n);
        w->nodes[i] = n;
    }
    return w;
}

void small_world_free(struct small_world *w)
{
    for (uint32_t i = 0; i < w->node_count; i++)
        small_stop(w, i);
    for (uint32_t i = 0; i < w->node_count; i++) {
        struct small_node *n = w->nodes[i];
        for (uint32_t k = 0; k < n->report_count; k++)
            free(n->reports[k]);
        for (uint32_t k = 0; k < n->log_count; k++)
            free(n->logs[k]);
        for (uint32_t k = 0; k < 8; k++)
            free(n->files[k].data);
        for (uint32_t k = 0; k < SMALL_OBJECTS; k++)
            free(n->pipes[k].data);
        const struct fabric_ops *ops = n->head.ops;
        (void)fabric_destroy(&n->head);
        free((void *)(uintptr_t)ops);
        free(n);
    }
    free(w->queue);
    free(w);
}

struct small_port *small_port(struct small_world *w, uint32_t node)
{
    return &w->nodes[node]->port;
}

struct fabric *small_fabric(struct small_world *w, uint32_t node)
{
    return &w->nodes[node]->head;
}

void small_no_device(struct small_world *w, uint32_t node)
{
    w->nodes[node]->no_device = true;
}

void small_link_mtu(struct small_world *w, uint32_t bytes)
{
    w->link_mtu = bytes;
}

void small_answer_mtu(struct small_world *w, uint32_t bytes)
{
    w->answer_mtu = bytes;
}

void small_cut(struct small_world *w, uint32_t node, bool cut)
{
    w->nodes[node]->cut = cut;
}

void small_delay(struct small_world *w, uint64_t ns)
{
    w->delay = ns;
}

void small_completion_delay(struct small_world *w, uint64_t ns)
{
    w->completion_delay = ns;
}

void small_corrupt(struct small_world *w, uint32_t operations)
{
    w->corrupt = operations;
}

void small_file(struct small_world *w, uint32_t node, const char *path, const void *data,
                size_t length)
{
    struct small_stored *s = small_stored(w->nodes[node], path, true);
    free(s->data);
    s->data = malloc(length);
    memcpy(s->data, data, length);
    s->length = length;
}

const void *small_file_data(struct small_world *w, uint32_t node, const char *path, size_t *length)
{
    struct small_stored *s = small_stored(w->nodes[node], path, false);
    *length = s ? s->length : 0;
    return s ? s->data : NULL;
}

void small_fail(struct small_world *w, uint32_t node, enum fabric_op op, uint32_t nth,
                uint32_t repeat, enum fabric_error error)
{
    struct small_node *n = w->nodes[node];
    n->fail_op = (uint32_t)op;
    n->fail_nth = nth;
    n->fail_repeat = repeat;
    n->fail_error = error;
}

enum fabric_error small_start_with(struct small_world *w, uint32_t node,
                                   const struct fabric_program *program, const char *config,
                                   size_t length, void **state)
{
    struct small_node *n = w->nodes[node];
    assert(!n->program);
    enum fabric_error error =
        program->start(&n->head, config, length, n->own.report ? &n->own : &n->sink, &n->state);
    if (!error)
        n->program = program;
    *state = n->state;
    return error;
}

enum fabric_error small_start(struct small_world *w, uint32_t node,
                              const struct fabric_program *program, const char *config)
{
    void *state;
    return small_start_with(w, node, program, config, strlen(config), &state);
}

/* As a process that ends: what it had open goes with it. */
void small_stop(struct small_world *w, uint32_t node)
{
    struct small_node *n = w->nodes[node];
    if (!n->program)
        return;
    n->program->stop(n->state);
    n->program = NULL;
    for (uint32_t i = 0; i < SMALL_QUEUE; i++) {
        if (w->queue[i].node == node)
            w->queue[i].used = false;
    }
    memset(n->windows, 0, sizeof n->windows);
}

void small_command(struct small_world *w, uint32_t node, const char *json)
{
    struct small_node *n = w->nodes[node];
    assert(n->program);
    n->program->command(n->state, json);
}

void small_resolve(struct small_world *w, uint64_t delay, enum fabric_error error)
{
    w->resolve_delay = delay;
    w->resolve_error = error;
}

void small_lend(struct small_world *w, uint64_t delay, enum fabric_error error)
{
    w->lend_delay = delay;
    w->lend_error = error;
}

void small_async(struct small_world *w, uint32_t node, enum fabric_async_type type, uint8_t port)
{
    struct small_entry *e = small_schedule(w, node, 0);
    e->event.type = FABRIC_EVENT_ASYNC;
    e->event.u.async.type = type;
    e->event.u.async.device.id = w->nodes[node]->devices;
    e->event.u.async.port_num = port;
}

void small_pair_async(struct small_world *w, uint32_t node, enum fabric_async_type type)
{
    struct small_node *n = w->nodes[node];
    const struct small_qp *oldest = NULL;
    for (uint32_t i = 1; i < SMALL_OBJECTS; i++) {
        if (n->qps[i].open && (!oldest || n->qps[i].serial < oldest->serial))
            oldest = &n->qps[i];
    }
    assert(oldest);
    struct small_entry *e = small_schedule(w, node, 0);
    e->event.type = FABRIC_EVENT_ASYNC;
    e->event.u.async.type = type;
    e->event.u.async.device.id = n->devices;
    e->event.u.async.qp.id = oldest->serial * SMALL_OBJECTS + (uint32_t)(oldest - n->qps);
    e->event.u.async.cookie = oldest->init.cookie;
}

void small_reset_streams(struct small_world *w, uint32_t node)
{
    struct small_node *n = w->nodes[node];
    for (uint32_t i = 1; i < SMALL_OBJECTS; i++) {
        struct small_pipe *p = &n->pipes[i];
        if (!p->open)
            continue;
        small_tell(n, i, FABRIC_EVENT_CLOSED, ERR_PEER_GONE, 0);
        if (small_other_end(n, p))
            small_tell(w->nodes[p->peer_node], p->peer, FABRIC_EVENT_CLOSED, ERR_PEER_GONE, 0);
    }
}

/* ------------------------------------------------------------------ going on */

static void hand_over(struct small_world *w, struct small_node *n, struct small_entry entry)
{
    if (entry.is_post) {
        small_arrive(w, n, &entry.post);
        return;
    }
    struct fabric_event *e = &entry.event;
    if (e->type == FABRIC_EVENT_WINDOW_OPENED) {
        n->windows[e->u.window.window.id].told = true;
        n->windows[e->u.window.window.id].open = !e->u.window.error;
    }
    if (e->type == FABRIC_EVENT_WINDOW_REVOKED)
        n->windows[e->u.window.window.id].open = false;
    bool is_stream = e->type == FABRIC_EVENT_READABLE || e->type == FABRIC_EVENT_WRITABLE ||
                     e->type == FABRIC_EVENT_CONNECTED || e->type == FABRIC_EVENT_CLOSED;
    if (is_stream) {
        struct small_pipe *p = &n->pipes[e->u.stream.stream.id];
        if (!p->open)
            return;
        e->u.stream.cookie = p->cookie;
        if (e->type == FABRIC_EVENT_WRITABLE)
            p->stalled = false;
    }
    e->time = w->now;
    if (n->program)
        n->program->event(n->state, e);
}

static bool step(struct small_world *w, uint64_t end)
{
    struct small_entry *first = NULL;
    for (uint32_t i = 0; i < SMALL_QUEUE; i++) {
        struct small_entry *e = &w->queue[i];
        if (e->used && (!first || e->time < first->time ||
                        (e->time == first->time && e->order < first->order)))
            first = e;
    }
    if (!first || first->time > end) {
        w->now = end;
        return false;
    }
    w->now = first->time;
    first->used = false;
    hand_over(w, w->nodes[first->node], *first);
    return true;
}

const char *small_until(struct small_world *w, uint32_t node, const char *text, uint64_t within)
{
    struct small_node *n = w->nodes[node];
    uint64_t end = w->now + within;
    do {
        while (n->report_seen < n->report_count) {
            const char *line = n->reports[n->report_seen++];
            if (strstr(line, text))
                return line;
        }
    } while (step(w, end));
    return NULL;
}

void small_run(struct small_world *w, uint64_t ns)
{
    uint64_t end = w->now + ns;
    while (step(w, end))
        continue;
}

uint32_t small_logged(const struct small_world *w, uint32_t node, const char *text)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < w->nodes[node]->log_count; i++)
        count += strstr(w->nodes[node]->logs[i], text) != NULL;
    return count;
}

uint64_t small_now(const struct small_world *w)
{
    return w->now;
}

uint32_t small_open(const struct small_world *w, uint32_t node, const char *what)
{
    const struct small_node *n = w->nodes[node];
    uint32_t count = 0;
    for (uint32_t i = 1; i < SMALL_OBJECTS; i++) {
        count += strcmp(what, "qp") == 0 && n->qps[i].open;
        count += strcmp(what, "srq") == 0 && n->srqs[i];
        count += strcmp(what, "ah") == 0 && n->ahs[i].open;
        count += strcmp(what, "window") == 0 && n->windows[i].open;
        count += strcmp(what, "stream") == 0 && n->pipes[i].open;
    }
    return count;
}

uint64_t small_iova(const struct small_world *w, uint32_t node, uint32_t nth)
{
    const struct small_node *n = w->nodes[node];
    for (uint32_t i = 1; i < SMALL_OBJECTS; i++) {
        if (n->mrs[i].open && nth-- == 0)
            return n->mrs[i].init.iova;
    }
    return 0;
}

void small_read_only(struct small_world *w, uint32_t node, const void *memory)
{
    assert(w && node < w->node_count);
    w->nodes[node]->read_only = memory;
}

uint32_t small_rights(const struct small_world *w, uint32_t node)
{
    uint32_t rights = 0;
    for (uint32_t i = 1; i < SMALL_OBJECTS; i++) {
        const struct small_window *window = &w->nodes[node]->windows[i];
        rights |= window->open ? window->access : 0;
    }
    return rights;
}
