/* SPDX-License-Identifier: Apache-2.0 */
/* Files and locks of runs on machines. */
#define _GNU_SOURCE
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fabric_hw/os/children_state.h"
#include "src/fabric/planted.h"

static bool write_all(int fd, const char *data, size_t length)
{
    while (length > 0) {
        ssize_t written = write(fd, data, length);
        if (written < 0 && errno != EINTR)
            return false;
        data += written > 0 ? written : 0;
        length -= written > 0 ? (size_t)written : 0;
    }
    return true;
}

static bool read_file(void *context, const char *path, char *out, size_t capacity)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t length = 0;
    ssize_t got = 1;
    (void)context;
    assert(capacity > 0);
    if (fd < 0)
        return false;
    while (got > 0 && length + 1 < capacity) {
        got = read(fd, out + length, capacity - 1 - length);
        if (got < 0 && errno == EINTR)
            got = 1;
        else
            length += got > 0 ? (size_t)got : 0;
    }
    close(fd);
    out[length] = '\0';
    return got >= 0;
}

/* A journal is commands that are run: nobody else may write one for us, also where everybody may
 * make a folder, as in /var/tmp. */
static bool is_ours_alone(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) &&
           ((st.st_uid == geteuid() && (st.st_mode & (S_IWGRP | S_IWOTH)) == 0) ||
            PLANTED(os_children_anybodys_folder));
}

static bool make_folder(void *context, const char *path)
{
    char part[4096];
    size_t length = strlen(path);
    (void)context;
    if (length >= sizeof(part))
        return false;
    for (size_t i = 1; i <= length; i++) {
        if (path[i] != '/' && path[i] != '\0')
            continue;
        memcpy(part, path, i);
        part[i] = '\0';
        if (mkdir(part, 0700) != 0 && errno != EEXIST)
            return false;
    }
    return is_ours_alone(path);
}

static bool make_folder_of(const char *path)
{
    char folder[4096];
    const char *slash = strrchr(path, '/');
    if (!slash || (size_t)(slash - path) >= sizeof(folder))
        return false;
    memcpy(folder, path, (size_t)(slash - path));
    folder[slash - path] = '\0';
    return slash == path || make_folder(NULL, folder);
}

/* Whether the file ends within a line. */
static bool is_torn(int fd)
{
    char last = '\n';
    off_t length = lseek(fd, 0, SEEK_END);
    return length > 0 && pread(fd, &last, 1, length - 1) == 1 && last != '\n' &&
           !PLANTED(os_children_append_to_torn);
}

static bool append(void *context, const char *path, const char *line)
{
    (void)context;
    if (!make_folder_of(path))
        return false;
    int fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    bool done = fd >= 0 && (!is_torn(fd) || write_all(fd, "\n", 1)) &&
                write_all(fd, line, strlen(line)) && write_all(fd, "\n", 1) && fsync(fd) == 0;
    if (fd >= 0)
        close(fd);
    return done;
}

static bool write_file(void *context, const char *path, const void *data, size_t length,
                       uint64_t offset)
{
    (void)context;
    if (!make_folder_of(path))
        return false;
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | (offset ? 0 : O_TRUNC), 0600);
    bool done = fd >= 0 && lseek(fd, (off_t)offset, SEEK_SET) >= 0 && write_all(fd, data, length) &&
                fsync(fd) == 0;
    if (fd >= 0)
        close(fd);
    return done;
}

static bool replace(void *context, const char *path, const char *text)
{
    char beside[4096];
    int length = snprintf(beside, sizeof(beside), "%s.new", path);
    return length > 0 && (size_t)length < sizeof(beside) &&
           write_file(context, beside, text, strlen(text), 0) && rename(beside, path) == 0;
}

/* No link is followed: what it leads to is not ours. */
static void remove_path(void *context, const char *path)
{
    struct dirent **names;
    (void)context;
    if (unlink(path) == 0 || (errno != EISDIR && errno != EPERM))
        return;
    int count = scandir(path, &names, NULL, NULL);
    for (int i = 0; i < count; i++) {
        char inner[4096];
        const char *name = names[i]->d_name;
        int length = snprintf(inner, sizeof(inner), "%s/%s", path, name);
        if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && (size_t)length < sizeof(inner))
            remove_path(NULL, inner);
        free(names[i]);
    }
    if (count >= 0)
        free(names);
    (void)rmdir(path);
}

static bool lock(void *context, const char *path)
{
    struct children *all = context;
    assert(all->lock_count < CHILDREN_LOCKS);
    if (!make_folder_of(path))
        return false;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0) {
        all->locks[all->lock_count++] = fd;
        return true;
    }
    if (fd >= 0)
        close(fd);
    return false;
}

void os_children_files(struct remote_host *host)
{
    host->read = read_file;
    host->append = append;
    host->write = write_file;
    host->replace = replace;
    host->remove = remove_path;
    host->folder = make_folder;
    host->lock = lock;
}
