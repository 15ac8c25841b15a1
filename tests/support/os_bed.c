/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "tests/support/os_bed.h"

#include <assert.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void os_folder_make(char *folder)
{
    strcpy(folder, "/tmp/memkv-os-test-XXXXXX");
    char *made = mkdtemp(folder);
    assert(made);
}

static int remove_one(const char *path, const struct stat *about, int type, struct FTW *where)
{
    (void)about;
    (void)type;
    (void)where;
    return remove(path);
}

void os_folder_remove(const char *folder)
{
    nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

void os_folder_file(const char *folder, const char *name, const char *text)
{
    char path[512];
    snprintf(path, sizeof(path), "%s%s", folder, name);
    for (char *slash = strchr(path + strlen(folder) + 1, '/'); slash;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(path, 0755); /* it may be there */
        *slash = '/';
    }
    if (path[strlen(path) - 1] == '/')
        return;
    FILE *file = fopen(path, "w");
    assert(file);
    fputs(text, file);
    fclose(file);
}

void os_bed_open(struct os_bed *bed, const struct os_fabric_options *options)
{
    struct os_fabric_options own = options ? *options : (struct os_fabric_options){0};
    *bed = (struct os_bed){.f = NULL};
    os_folder_make(bed->folder);
    int piped = pipe2(bed->log, O_CLOEXEC | O_NONBLOCK);
    assert(piped == 0);
    own.sysroot = bed->folder;
    own.log_fd = bed->log[1];
    own.log_form = OS_LOG_TEXT;
    enum fabric_error error = os_fabric_create(&own, &bed->f);
    assert(!error);
}

void os_bed_close(struct os_bed *bed)
{
    if (bed->f)
        fabric_destroy(bed->f);
    close(bed->log[0]);
    close(bed->log[1]);
    os_folder_remove(bed->folder);
}

uint64_t os_bed_now(struct os_bed *bed)
{
    uint64_t now = 0;
    fabric_now(bed->f, &now);
    return now;
}

bool os_bed_next(struct os_bed *bed, uint64_t deadline, struct fabric_event *out)
{
    size_t count = 0;
    enum fabric_error error = fabric_poll(bed->f, out, 1, deadline, &count);
    assert(!error);
    return count == 1;
}

struct fabric_event os_bed_await(struct os_bed *bed, enum fabric_event_type type)
{
    uint64_t deadline = os_bed_now(bed) + OS_BED_PATIENCE;
    struct fabric_event event;
    do {
        bool came = os_bed_next(bed, deadline, &event);
        assert(came || (0 && "the event did not come"));
    } while (event.type != type);
    return event;
}

const char *os_bed_said(struct os_bed *bed)
{
    size_t used = strlen(bed->said);
    ssize_t got = read(bed->log[0], bed->said + used, sizeof(bed->said) - 1 - used);
    if (got > 0)
        bed->said[used + (size_t)got] = '\0';
    return bed->said;
}

const char *os_bed_path(struct os_bed *bed, const char *name)
{
    static char paths[4][512];
    static size_t turn;
    char *path = paths[turn++ % 4];
    snprintf(path, sizeof(paths[0]), "%s%s", bed->folder, name);
    return path;
}

void os_bed_file(struct os_bed *bed, const char *name, const char *text)
{
    os_folder_file(bed->folder, name, text);
}
