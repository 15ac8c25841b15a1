/* SPDX-License-Identifier: Apache-2.0 */
/* Log lines: text for a terminal, JSON for everything else (MK-K3). One write a line, so that the
 * lines of several threads and processes do not mix. */
#include <errno.h>
#include <jansson.h>
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

/* A reader that is gone or slow costs a line, never the program. */
static void write_line(int fd, const char *line, size_t length)
{
    while (length > 0) {
        ssize_t written = write(fd, line, length);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return;
        line += written;
        length -= (size_t)written;
    }
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

static void write_json(int fd, enum fabric_log_level level, const char *line)
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
    write_line(fd, whole, length + 1);
    free(whole);
}

static void write_text(int fd, enum fabric_log_level level, const char *line)
{
    char time[STAMP], text[LINE_MAX_BYTES + 64];
    stamp(time);
    int length = snprintf(text, sizeof(text), "%s %-5s %s\n", time, level_names[level], line);
    assert(length > 0 && (size_t)length < sizeof(text));
    for (int i = 0; i < length - 1; i++) { /* a peer's bytes must not drive the terminal */
        if (((unsigned char)text[i] < ' ' || text[i] == 0x7f) && !PLANTED(os_log_control_bytes))
            text[i] = '?';
    }
    write_line(fd, text, (size_t)length);
}

enum fabric_error os_log(struct fabric *f, enum fabric_log_level level, const char *line)
{
    const struct os_log *log = &os_of(f)->log;
    if (log->fd < 0 || (level < log->level && !PLANTED(os_log_all_levels)))
        return FABRIC_OK;
    if (log->json)
        write_json(log->fd, level, line);
    else
        write_text(log->fd, level, line);
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
