/* SPDX-License-Identifier: Apache-2.0 */
/* This process: its number, the programs beside it, and a network of its own. */
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <linux/if.h> /* after sys/socket.h, which it needs */

#include "fabric_hw/os/children_state.h"
#include "src/fabric/planted.h"

static uint64_t process(void *context)
{
    (void)context;
    return (uint64_t)getpid();
}

static bool beside(void *context, const char *name, char *path, size_t capacity)
{
    char self[PATH_MAX];
    struct stat about;
    ssize_t length = readlinkat(AT_FDCWD, "/proc/self/exe", self, sizeof(self) - 1);
    (void)context;
    assert(name && path && capacity > 0);
    if (length <= 0)
        return false;
    self[length] = '\0';
    char *slash = strrchr(self, '/');
    if (!slash)
        return false;
    *slash = '\0';
    int written = snprintf(path, capacity, "%s/%s", self, name);
    return written > 0 && (size_t)written < capacity && stat(path, &about) == 0 &&
           S_ISREG(about.st_mode) && (about.st_mode & S_IXUSR);
}

static bool write_text(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0)
        close(fd);
    return written;
}

/* Whoever is not root is root of a user namespace, and of nothing outside. */
static bool become_root(void)
{
    char map[64];
    uid_t uid = geteuid();
    gid_t gid = getegid();
    if (unshare(CLONE_NEWUSER) != 0)
        return false;
    snprintf(map, sizeof(map), "0 %u 1", (unsigned)uid);
    bool mapped =
        write_text("/proc/self/setgroups", "deny") && write_text("/proc/self/uid_map", map);
    snprintf(map, sizeof(map), "0 %u 1", (unsigned)gid);
    return mapped && write_text("/proc/self/gid_map", map);
}

static bool raise_loopback(void)
{
    struct ifreq request = {.ifr_name = "lo"};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool up = fd >= 0 && ioctl(fd, SIOCGIFFLAGS, &request) == 0;
    request.ifr_flags |= IFF_UP;
    up = up && ioctl(fd, SIOCSIFFLAGS, &request) == 0;
    if (fd >= 0)
        close(fd);
    return up;
}

static bool own_network(void *context, char *detail)
{
    (void)context;
    assert(detail);
    const char *what = "a user namespace";
    bool made = geteuid() == 0 || become_root();
    if (made) {
        what = "a network namespace";
        made = PLANTED(os_children_shared_network) || unshare(CLONE_NEWNET) == 0;
    }
    if (made) {
        what = "its loopback interface";
        made = raise_loopback();
    }
    if (!made)
        snprintf(detail, REMOTE_DETAIL, "%s cannot be had: %s", what, strerror(errno));
    return made;
}

void os_children_self(struct remote_host *host)
{
    assert(host);
    host->process = process;
    host->beside = beside;
    host->own_network = own_network;
}
