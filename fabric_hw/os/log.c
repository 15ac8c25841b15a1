/* SPDX-License-Identifier: Apache-2.0 */
/* Log lines: text for a terminal, JSON for everything else (MK-K3). One write a line, so that the
 * lines of several threads and processes do not mix. */
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fabric_hw/os/state.h"
#include "src/fabric/planted.h"

#define LINE_MAX_BYTES 1000
#define STAMP 40

static const char *const level_names[] = {"DEBUG", "INFO", "WARN", "ERROR"};

void os_log_open(struct os_log *log, const struct os_fabric_options *options)
{
    log->fd = options->log_fd;
    log->level = options->log_level;
    log->json = options->log_form == OS_LOG_JSON;
    if (options->log_form == OS_LOG_AUTO)
        log->json = log->fd >= 0 && !isatty(log->fd);
}

void os_fabric_set_log_level(struct fabric *f, enum fabric_log_level level)
{
    assert(level <= FABRIC_LOG_ERROR);
    os_of(f)->log.level = level;
}

/* A write to a pipe without a reader raises SIGPIPE in this thread, whose owner may not have asked
 * for it: it is held off, and taken away when it was not there before. */
struct held {
    sigset_t before;
    bool pending;
};

static void hold_sigpipe(struct held *held)
{
    sigset_t pipe, pending;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    sigpending(&pending);
    held->pending = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe, &held->before);
}

static void release_sigpipe(const struct held *held)
{
    const struct timespec at_once = {0};
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    if (!held->pending && !PLANTED(os_log_raises_sigpipe))
        sigtimedwait(&pipe, NULL, &at_once);
    pthread_sigmask(SIG_SETMASK, &held->before, NULL);
}

/* Whether a piece of at most PIPE_BUF bytes can be written without waiting. */
static bool has_room(int fd)
{
    struct pollfd watched = {.fd = fd, .events = POLLOUT};
    return PLANTED(os_log_waits) || (poll(&watched, 1, 0) == 1 && (watched.revents & POLLOUT));
}

/* False when not all of it was written. */
static bool write_all(int fd, const char *line, size_t length, size_t *written)
{
    *written = 0;
    while (*written < length) {
        size_t left = length - *written;
        if (!has_room(fd))
            return false;
        ssize_t got = write(fd, line + *written, left < PIPE_BUF ? left : PIPE_BUF);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        *written += (size_t)got;
    }
    return true;
}

/* A reader that is gone or slow costs lines, which are counted, and neither time nor the program.
 */
static void write_line(struct os_log *log, const char *line, size_t length)
{
    struct held held;
    size_t written = 0, ignored;
    hold_sigpipe(&held);
    bool whole = !log->torn || write_all(log->fd, "\n", 1, &ignored);
    log->torn = log->torn && !whole;
    whole = whole && write_all(log->fd, line, length, &written);
    log->torn = log->torn || (!whole && written > 0);
    log->dropped += whole || PLANTED(os_log_drops_uncounted) ? 0 : 1;
    release_sigpipe(&held);
}

/* "2026-11-30T09:00:00.123Z" */
static void stamp(char out[STAMP])
{
    struct timespec now;
    struct tm parts;
    char seconds[24];
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &parts);
    strftime(seconds, sizeof(seconds), "%Y-%m-%dT%H:%M:%S", &parts);
    snprintf(out, STAMP, "%s.%03ldZ", seconds, now.tv_nsec / 1000000);
}

/* Text from a peer may be no UTF-8; JSON must be. */
static json_t *as_string(const char *line)
{
    json_t *string = json_string(line);
    char plain[LINE_MAX_BYTES + 1];
    size_t length = strnlen(line, LINE_MAX_BYTES);
    if (string)
        return string;
    for (size_t i = 0; i < length; i++)
        plain[i] = line[i] >= ' ' && line[i] <= '~' ? line[i] : '?';
    plain[length] = '\0';
    return json_string(plain);
}

static void write_json(struct os_log *log, enum fabric_log_level level, const char *line)
{
    char time[STAMP];
    stamp(time);
    json_t *object = json_pack("{s:s, s:s, s:o*}", "timestamp", time, "level", level_names[level],
                               "message", as_string(line));
    char *text = object ? json_dumps(object, JSON_COMPACT) : NULL;
    json_decref(object);
    size_t length = text ? strlen(text) : 0;
    char *whole = text ? realloc(text, length + 2) : NULL;
    if (!whole) {
        free(text);
        return;
    }
    memcpy(whole + length, "\n", 2);
    write_line(log, whole, length + 1);
    free(whole);
}

static void write_text(struct os_log *log, enum fabric_log_level level, const char *line)
{
    char time[STAMP], text[LINE_MAX_BYTES + 64];
    stamp(time);
    int length = snprintf(text, sizeof(text), "%s %-5s %s\n", time, level_names[level], line);
    assert(length > 0 && (size_t)length < sizeof(text));
    for (int i = 0; i < length - 1; i++) { /* a peer's bytes must not drive the terminal */
        if (((unsigned char)text[i] < ' ' || text[i] == 0x7f) && !PLANTED(os_log_control_bytes))
            text[i] = '?';
    }
    write_line(log, text, (size_t)length);
}

static void put(struct os_log *log, enum fabric_log_level level, const char *line)
{
    if (log->json)
        write_json(log, level, line);
    else
        write_text(log, level, line);
}

enum fabric_error os_log(struct fabric *f, enum fabric_log_level level, const char *line)
{
    struct os_log *log = &os_of(f)->log;
    if (log->fd < 0 || (level < log->level && !PLANTED(os_log_all_levels)))
        return FABRIC_OK;
    if (log->dropped > 0 && has_room(log->fd)) {
        char lost[80];
        snprintf(lost, sizeof(lost), "%llu log lines were lost: their reader was slow or gone",
                 (unsigned long long)log->dropped);
        log->dropped = 0;
        put(log, FABRIC_LOG_WARN, lost);
    }
    put(log, level, line);
    return FABRIC_OK;
}

void os_say(struct os_fabric *os, enum fabric_log_level level, const char *format, ...)
{
    char line[LINE_MAX_BYTES];
    va_list values;
    va_start(values, format);
    vsnprintf(line, sizeof(line), format, values);
    va_end(values);
    os_log(&os->head, level, line);
}
