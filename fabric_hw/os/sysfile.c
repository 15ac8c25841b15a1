/* SPDX-License-Identifier: Apache-2.0 */
/* System files, under the root folder of the instance. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fabric_hw/os/io.h"
#include "src/fabric/ipoib.h"
#include "src/fabric/planted.h"

#define SYS "/sys/"
#define NET "/sys/class/net/"

/* The folder in place of / or of /sys, and then what is left of *path; null: the machine's own. */
static const char *root_of(struct fabric *f, const char **path)
{
    const struct os_fabric *os = os_of(f);
    if (os->sysroot[0])
        return os->sysroot;
    if (!os->sysfs[0] || strncmp(*path, SYS, sizeof(SYS) - 1) != 0 ||
        PLANTED(os_sysfs_path_ignored))
        return NULL;
    *path += sizeof(SYS) - 2; /* from its slash on */
    return os->sysfs;
}

/* Opens a path on this machine. Under a root folder nothing leads out of it, no link and no "..":
 * what is written must not be this machine's own. */
static int open_path(struct fabric *f, const char *path, int flags)
{
    const char *root = root_of(f, &path);
    if (!root)
        return open(path, flags | O_CLOEXEC);
    int folder = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return -1;
    const bool leaves = PLANTED(os_sysroot_left);
    const struct open_how how = {.flags = (uint64_t)(unsigned)(flags | O_CLOEXEC),
                                 .resolve = leaves ? 0 : RESOLVE_IN_ROOT};
    int fd = (int)syscall(SYS_openat2, folder, path + leaves, &how, sizeof(how)), saved = errno;
    close(folder);
    errno = saved;
    return fd;
}

/* What the contract names for system files. */
static enum fabric_error sys_kind(enum fabric_error error)
{
    bool named = error == ERR_NOT_FOUND || error == ERR_ACCESS_DENIED || error == ERR_READ_ONLY ||
                 error == ERR_INVALID_ARGUMENT || error == ERR_RESOURCES_EXHAUSTED;
    return named || !error || error == ERR_TOO_LARGE ? error : ERR_NOT_SUPPORTED;
}

static enum fabric_error sys_error(int number)
{
    return sys_kind(os_error(number));
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
    size_t got = 0;
    int fd = open_path(f, path, O_RDONLY | O_NONBLOCK); /* a pipe there must not hold us up */
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
    int folder = open_path(f, path, O_RDONLY | O_DIRECTORY);
    if (folder < 0)
        return sys_error(errno);
    enum fabric_error error = sys_kind(os_list_folder(folder, ".", buf, capacity, length));
    close(folder);
    return error;
}

enum fabric_error os_sysfile_link(struct fabric *f, const char *path, char *buf, size_t capacity)
{
    char target[4096];
    int fd = open_path(f, path, O_PATH | O_NOFOLLOW);
    if (fd < 0)
        return sys_error(errno);
    ssize_t length = readlinkat(fd, "", target, sizeof(target));
    int failed = length < 0 ? errno : 0;
    close(fd);
    if (failed) /* ENOENT, EINVAL: it is no link */
        return failed == EINVAL || failed == ENOENT ? ERR_NOT_FOUND : sys_error(failed);
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

/* The file, for writing. Files of folders are cut; those of the kernel need not be. */
static int open_for_writing(struct fabric *f, const char *path)
{
    const char *rest = path;
    return open_path(f, path, O_WRONLY | O_NONBLOCK | (root_of(f, &rest) ? O_TRUNC : 0));
}

enum fabric_error os_sysfile_write(struct fabric *f, const char *path, const void *data,
                                   size_t length)
{
    struct stat about;
    int fd = open_path(f, path, O_PATH);
    if (fd < 0)
        return sys_error(errno);
    bool regular = fstat(fd, &about) == 0 && S_ISREG(about.st_mode);
    close(fd);
    if ((!regular || !may_write(f, path)) && !PLANTED(os_sysfile_writes_anything))
        return ERR_ACCESS_DENIED;
    fd = open_for_writing(f, path);
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
