/* SPDX-License-Identifier: Apache-2.0 */
/* System files, under the root folder of the instance. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fabric_hw/os/io.h"
#include "src/fabric/ipoib.h"
#include "src/fabric/planted.h"

#define ROOTED (FABRIC_PATH_MAX + 4096)
#define NET "/sys/class/net/"

/* The path on this machine; false when it does not fit. */
static bool root(struct fabric *f, const char *path, char out[ROOTED])
{
    int length = snprintf(out, ROOTED, "%s%s", os_of(f)->sysroot, path);
    return length > 0 && length < ROOTED;
}

static enum fabric_error sys_error(int number)
{
    enum fabric_error error = os_error(number);
    bool named = error == ERR_NOT_FOUND || error == ERR_ACCESS_DENIED || error == ERR_READ_ONLY ||
                 error == ERR_INVALID_ARGUMENT || error == ERR_RESOURCES_EXHAUSTED;
    return named ? error : ERR_NOT_SUPPORTED;
}

/* Up to `capacity` bytes; *length is capacity + 1 when there are more. */
static enum fabric_error read_whole(int fd, char *buf, size_t capacity, size_t *length)
{
    size_t used = 0;
    while (used <= capacity) {
        ssize_t got = read(fd, buf + used, capacity + 1 - used);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return sys_error(errno);
        if (got == 0)
            break;
        used += (size_t)got;
    }
    *length = used;
    return FABRIC_OK;
}

enum fabric_error os_sysfile_read(struct fabric *f, const char *path, void *buf, size_t capacity,
                                  size_t *length)
{
    char rooted[ROOTED];
    size_t got = 0;
    if (!root(f, path, rooted))
        return ERR_NOT_FOUND;
    int fd = open(rooted, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe there must not hold us up */
    if (fd < 0)
        return sys_error(errno);
    char *text = malloc(capacity + 1); /* nothing is written unless all of it fits */
    enum fabric_error error = text ? read_whole(fd, text, capacity, &got) : ERR_RESOURCES_EXHAUSTED;
    if (!error && got > capacity && !PLANTED(os_sysfile_cut_off))
        error = ERR_TOO_LARGE;
    if (!error) {
        *length = got > capacity ? capacity : got;
        if (*length)
            memcpy(buf, text, *length);
    }
    free(text);
    close(fd);
    return error;
}

enum fabric_error os_sysfile_list(struct fabric *f, const char *path, void *buf, size_t capacity,
                                  size_t *length)
{
    char rooted[ROOTED];
    if (!root(f, path, rooted))
        return ERR_NOT_FOUND;
    return os_list_folder(rooted, buf, capacity, length);
}

enum fabric_error os_sysfile_link(struct fabric *f, const char *path, char *buf, size_t capacity)
{
    char rooted[ROOTED], target[4096];
    if (!root(f, path, rooted))
        return ERR_NOT_FOUND;
    ssize_t length = readlink(rooted, target, sizeof(target));
    if (length < 0)
        return errno == EINVAL ? ERR_NOT_FOUND : sys_error(errno); /* EINVAL: it is no link */
    if ((size_t)length >= capacity || (size_t)length == sizeof(target))
        return ERR_TOO_LARGE;
    memcpy(buf, target, (size_t)length);
    buf[length] = '\0';
    return FABRIC_OK;
}

/* Whether this is the mode or the MTU of an IPoIB interface: all that may be written. */
static bool may_write(struct fabric *f, const char *path)
{
    char type[FABRIC_PATH_MAX], text[16] = "";
    size_t length = 0;
    if (strncmp(path, NET, sizeof(NET) - 1) != 0)
        return false;
    const char *name = path + sizeof(NET) - 1, *file = strchr(name, '/');
    if (!file || (strcmp(file, "/mode") != 0 && strcmp(file, "/mtu") != 0))
        return false;
    int written = snprintf(type, sizeof(type), "%.*s/type", (int)(file - path), path);
    if (written < 0 || (size_t)written >= sizeof(type) ||
        os_sysfile_read(f, type, text, sizeof(text) - 1, &length))
        return false;
    return strtoul(text, NULL, 10) == IPOIB_TYPE;
}

enum fabric_error os_sysfile_write(struct fabric *f, const char *path, const void *data,
                                   size_t length)
{
    char rooted[ROOTED];
    struct stat about;
    if (!root(f, path, rooted))
        return ERR_NOT_FOUND;
    if (stat(rooted, &about) < 0)
        return sys_error(errno);
    if (!may_write(f, path) && !PLANTED(os_sysfile_writes_anything))
        return ERR_ACCESS_DENIED;
    int fd = open(rooted, O_WRONLY | O_CLOEXEC | (os_of(f)->sysroot[0] ? O_TRUNC : 0));
    if (fd < 0)
        return sys_error(errno);
    ssize_t written;
    do {
        written = write(fd, data, length);
    } while (written < 0 && errno == EINTR);
    enum fabric_error error = written < 0 ? sys_error(errno) : FABRIC_OK;
    close(fd);
    return error;
}
