/* SPDX-License-Identifier: Apache-2.0 */
/* The instance: made, ended, and what it promises. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "fabric_hw/os/state.h"

#define SECTOR 512 /* what disks write whole */

static const struct fabric_ops own_ops = {
    .guarantees = os_guarantees,
    .destroy = os_destroy,
    .poll = os_poll,
    .wake = os_wake,
    .now = os_now,
    .realtime = os_realtime,
    .entropy = os_entropy,
    .log = os_log,
    .timer_set = os_timer_set,
    .timer_cancel = os_timer_cancel,
    .device_list = os_device_list,
    .device_open = os_device_open,
    .dcb_query = os_dcb_query,
    .listen = os_listen,
    .listener_close = os_listener_close,
    .connect = os_connect,
    .stream_peer = os_stream_peer,
    .stream_local = os_stream_local,
    .stream_set_cookie = os_stream_set_cookie,
    .stream_send = os_stream_send,
    .stream_recv = os_stream_recv,
    .stream_shutdown = os_stream_shutdown,
    .stream_close = os_stream_close,
    .http_listen = os_http_listen,
    .http_reply = os_http_reply,
    .http_close = os_http_close,
    .io_submit = os_io_submit,
    .sysfile_read = os_sysfile_read,
    .sysfile_list = os_sysfile_list,
    .sysfile_link = os_sysfile_link,
    .sysfile_write = os_sysfile_write,
};

/* The part's, else ours, else that of a system without a device. */
static void make_table(struct os_fabric *os)
{
    static const struct fabric_ops nothing = {0};
    const struct fabric_ops *part = os->part ? os->part->ops : &nothing;
#define X(upper, lower, parameters, arguments, fault)                                              \
    os->ops.lower = part->lower ? part->lower : own_ops.lower ? own_ops.lower : os_no_device.lower;
#include "src/fabric/ops.def"
#undef X
}

static void release(struct os_fabric *os)
{
    os_loop_close(os);
    os_handles_free(&os->handles);
    free(os->sysroot);
    free(os->sysfs);
    free(os);
}

enum fabric_error os_fabric_create(const struct os_fabric_options *options, struct fabric **out)
{
    assert(options && out);
    struct os_fabric *os = calloc(1, sizeof(*os));
    if (!os)
        return ERR_RESOURCES_EXHAUSTED;
    os->part = options->part;
    make_table(os);
    fabric_init(&os->head, &os->ops);
    os->no_io_uring = options->no_io_uring;
    os_log_open(&os->log, options);
    os->sysroot = strdup(options->sysroot ? options->sysroot : "");
    os->sysfs = strdup(options->sysfs ? options->sysfs : "");
    enum fabric_error error = os_loop_open(os);
    if (!error && options->source && !os_address_literal(options->source, 0, &os->source))
        error = ERR_INVALID_ARGUMENT;
    if (!error && (!os->sysroot || !os->sysfs))
        error = ERR_RESOURCES_EXHAUSTED;
    if (!error && os->part)
        error = os->part->open(&os->head, options->part_context, &os->part_state);
    if (error) {
        release(os);
        return error;
    }
    *out = &os->head;
    return FABRIC_OK;
}

enum fabric_error os_destroy(struct fabric *f)
{
    struct os_fabric *os = os_of(f);
    if (os->part)
        os->part->close(os->part_state);
    os_http_close_all(os);
    os_listeners_close(os);
    os_streams_close(os);
    if (os->names)
        os_workers_leave(os->names); /* a name may take half a minute to look up */
    os_io_close(os);
    os_timers_close(os);
    release(os);
    return FABRIC_OK;
}

void *os_part_state(struct fabric *f)
{
    assert(os_of(f)->part);
    return os_of(f)->part_state;
}

enum fabric_error os_guarantees(struct fabric *f, struct fabric_guarantees *out)
{
    struct os_fabric *os = os_of(f);
    *out = (struct fabric_guarantees){.caps = FABRIC_CAP_TCP | FABRIC_CAP_HTTP,
                                      .storage_tear_unit = SECTOR,
                                      .storage_align = OS_IO_ALIGN,
                                      .ack_timeout_stretch = 4,
                                      .iova_align = 1};
    if (os->part && os->part->guarantees)
        os->part->guarantees(os->part_state, out);
    return FABRIC_OK;
}

enum fabric_error os_now(struct fabric *f, uint64_t *out)
{
    (void)f;
    *out = os_clock();
    return FABRIC_OK;
}

enum fabric_error os_realtime(struct fabric *f, uint64_t *out)
{
    struct timespec now;
    (void)f;
    clock_gettime(CLOCK_REALTIME, &now);
    *out = (uint64_t)now.tv_sec * OS_SECOND + (uint64_t)now.tv_nsec;
    return FABRIC_OK;
}

enum fabric_error os_entropy(struct fabric *f, void *buf, size_t length)
{
    uint8_t *place = buf;
    (void)f;
    while (length > 0) {
        ssize_t got = getrandom(place, length, 0);
        if (got < 0 && errno != EINTR)
            return ERR_INTERNAL;
        if (got > 0) {
            place += got;
            length -= (size_t)got;
        }
    }
    return FABRIC_OK;
}
