/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/teller.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TICK UINT64_C(10000000)

struct teller {
    struct fabric *f;
    const struct fabric_report_sink *sink;
    fabric_device device;
    fabric_timer timer;
    unsigned ticks;
    bool open;
};

static void report(struct teller *t, const char *what, const char *value)
{
    char line[128];
    snprintf(line, sizeof(line), "{\"%s\":\"%s\"}", what, value);
    t->sink->report(t->sink->context, line);
}

static void arm(struct teller *t)
{
    uint64_t now;
    (void)fabric_now(t->f, &now);
    (void)fabric_timer_set(t->f, now + TICK, 1, &t->timer);
}

static enum fabric_error start(struct fabric *f, const char *config, size_t length,
                               const struct fabric_report_sink *sink, void **state)
{
    if (length && strcmp(config, "fail") == 0)
        return ERR_CONFIG_INVALID;
    struct teller *t = calloc(1, sizeof(*t));
    assert(t);
    t->f = f;
    t->sink = sink;
    t->open = !fabric_device_open(f, "mlx5_0", &t->device);
    if (length && strcmp(config, "tick") == 0)
        arm(t);
    (void)fabric_log(f, FABRIC_LOG_INFO, "teller starts");
    report(t, "started", "1");
    *state = t;
    return FABRIC_OK;
}

static void event(void *state, const struct fabric_event *e)
{
    struct teller *t = state;
    char number[16];
    if (e->type == FABRIC_EVENT_ASYNC) {
        report(t, "saw", fabric_async_name(e->u.async.type));
    } else if (e->type == FABRIC_EVENT_TIMER) {
        snprintf(number, sizeof(number), "%u", ++t->ticks);
        report(t, "tick", number);
        arm(t);
    } else if (e->type == FABRIC_EVENT_IO_DONE) {
        report(t, "flush", error_name(e->u.io.error));
    }
}

static void command(void *state, const char *json)
{
    struct teller *t = state;
    fabric_cq cq;
    if (strcmp(json, "cq") == 0) {
        report(t, "cq", t->open ? error_name(fabric_cq_create(t->f, t->device, 4, &cq)) : "closed");
    } else {
        const struct fabric_io io = {.op = FABRIC_IO_SYNC_DIR, .path = "/tmp"};
        (void)fabric_io_submit(t->f, &io);
    }
}

static void stop(void *state)
{
    struct teller *t = state;
    bool was;
    if (t->timer.id)
        (void)fabric_timer_cancel(t->f, t->timer, &was);
    if (t->open)
        (void)fabric_device_close(t->f, t->device);
    (void)fabric_log(t->f, FABRIC_LOG_INFO, "teller stops");
    free(t);
}

const struct fabric_program teller_program = {"teller", start, event, command, stop};
