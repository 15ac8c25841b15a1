/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program sees of the machine: a mount namespace of its own with another /dev/infiniband and
 * another /sys/class/infiniband. An ordinary user needs a user namespace for that; it is that of
 * the fabric's daemon, so that all programs of a fabric share one and may copy between each other.
 */
#define _GNU_SOURCE /* unshare, setns */
#include "fabric_sim/simfabric/view.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/fabric/planted.h"

#define PATH 512

static bool write_text(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0)
        close(fd);
    return written;
}

/* ------------------------------------------------------------------ namespaces */

bool view_own_users(void)
{
    char map[64];
    uid_t uid = geteuid();
    gid_t gid = getegid();
    if (uid == 0)
        return true;
    if (unshare(CLONE_NEWUSER) != 0)
        return false;
    snprintf(map, sizeof(map), "%u %u 1", (unsigned)uid, (unsigned)uid);
    bool mapped =
        write_text("/proc/self/setgroups", "deny") && write_text("/proc/self/uid_map", map);
    snprintf(map, sizeof(map), "%u %u 1", (unsigned)gid, (unsigned)gid);
    return mapped && write_text("/proc/self/gid_map", map);
}

/* Into the user namespace of the daemon; one of its own where that has none. */
static bool join_users(pid_t daemon)
{
    char path[64];
    struct stat theirs, mine;
    if (geteuid() == 0)
        return true;
    snprintf(path, sizeof(path), "/proc/%ld/ns/user", (long)daemon);
    if (stat(path, &theirs) != 0 || stat("/proc/self/ns/user", &mine) != 0)
        return false;
    if (theirs.st_ino == mine.st_ino || PLANTED(simfabric_users_apart))
        return view_own_users();
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool joined = fd >= 0 && setns(fd, CLONE_NEWUSER) == 0;
    if (fd >= 0)
        close(fd);
    return joined;
}

static bool leave_mounts(pid_t daemon)
{
    return join_users(daemon) && unshare(CLONE_NEWNS) == 0 &&
           mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

/* ------------------------------------------------------------------ /dev */

static bool show_at(const char *from, const char *to)
{
    int fd = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0)
        close(fd);
    return fd >= 0 && mount(from, to, NULL, MS_BIND, NULL) == 0;
}

/* One entry of /dev in the new one; what cannot be shown there is left out. */
static void show(const char *name, const char *folder)
{
    assert(name && folder);
    char from[PATH], to[PATH], target[PATH];
    struct stat status;
    if ((size_t)snprintf(from, sizeof(from), "/dev/%s", name) >= sizeof(from) ||
        (size_t)snprintf(to, sizeof(to), "%s/%s", folder, name) >= sizeof(to) ||
        lstat(from, &status) != 0)
        return;
    if (S_ISLNK(status.st_mode)) {
        ssize_t length = readlink(from, target, sizeof(target) - 1);
        target[length > 0 ? length : 0] = '\0';
        if (length > 0)
            (void)!symlink(target, to);
    } else if (S_ISDIR(status.st_mode)) {
        if (mkdir(to, 0755) == 0)
            (void)!mount(from, to, NULL, MS_BIND | MS_REC, NULL);
    } else {
        (void)!show_at(from, to);
    }
}

static bool copy_devices(const char *folder)
{
    DIR *dir = opendir("/dev");
    const struct dirent *entry;
    if (!dir)
        return false;
    while ((entry = readdir(dir))) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            strcmp(entry->d_name, "infiniband") != 0)
            show(entry->d_name, folder);
    }
    closedir(dir);
    return true;
}

/* The device files that the node's tree names. */
static bool make_devices(const char *tree, const char *folder)
{
    assert(tree && folder);
    char path[PATH + 512];
    snprintf(path, sizeof(path), "%s/infiniband", folder);
    if (mkdir(path, 0755) != 0)
        return false;
    snprintf(path, sizeof(path), "%s/class/infiniband_verbs", tree);
    DIR *dir = opendir(path);
    const struct dirent *entry;
    bool made = true;
    while (dir && (entry = readdir(dir))) {
        if (strncmp(entry->d_name, "uverbs", 6) != 0)
            continue;
        int length = snprintf(path, sizeof(path), "%s/infiniband/%s", folder, entry->d_name);
        made = made && (size_t)length < sizeof(path) && show_at("/dev/null", path);
    }
    if (dir)
        closedir(dir);
    return made; /* a node without devices has no such class */
}

/* A new /dev: the old one's entries, with another /dev/infiniband. */
static bool make_dev(const char *tree, const char *folder)
{
    if (mkdir(folder, 0755) != 0 && errno != EEXIST)
        return false;
    return mount("simfabric", folder, "tmpfs", MS_NOSUID, "mode=755") == 0 &&
           copy_devices(folder) && make_devices(tree, folder) &&
           mount(folder, "/dev", NULL, MS_MOVE, NULL) == 0;
}

/* ------------------------------------------------------------------ /sys/class */

static bool is_of_rdma(const char *name)
{
    return strcmp(name, "infiniband") == 0 || strcmp(name, "infiniband_verbs") == 0 ||
           strcmp(name, "infiniband_mad") == 0;
}

/* A class of the machine as it is; its links are relative and stay good. */
static void keep_class(const char *name, const char *folder)
{
    char from[PATH], to[PATH];
    if ((size_t)snprintf(from, sizeof(from), "/sys/class/%s", name) < sizeof(from) &&
        (size_t)snprintf(to, sizeof(to), "%s/%s", folder, name) < sizeof(to) &&
        mkdir(to, 0755) == 0)
        (void)!mount(from, to, NULL, MS_BIND | MS_REC, NULL);
}

/* A link, so that what the daemon renders is seen at once and relative links lead into the tree. */
static bool link_class(const char *tree, const char *name, const char *folder)
{
    char from[PATH], to[PATH];
    if ((size_t)snprintf(from, sizeof(from), "%s/class/%s", tree, name) >= sizeof(from) ||
        (size_t)snprintf(to, sizeof(to), "%s/%s", folder, name) >= sizeof(to))
        return false;
    return access(from, F_OK) != 0 || symlink(from, to) == 0;
}

/* A new /sys/class: the old one's entries, but of RDMA only the node's. */
static bool make_class(const char *tree, const char *folder)
{
    assert(tree && folder);
    const struct dirent *entry;
    DIR *dir = opendir("/sys/class");
    if (!dir)
        return true; /* a machine without /sys shows none */
    bool made = (mkdir(folder, 0755) == 0 || errno == EEXIST) &&
                mount("simfabric", folder, "tmpfs", MS_NOSUID, "mode=755") == 0;
    while (made && (entry = readdir(dir))) {
        if (entry->d_name[0] != '.' && !is_of_rdma(entry->d_name))
            keep_class(entry->d_name, folder);
    }
    closedir(dir);
    return made && link_class(tree, "infiniband", folder) &&
           link_class(tree, "infiniband_verbs", folder) &&
           (PLANTED(simfabric_class_of_host) ||
            mount(folder, "/sys/class", NULL, MS_MOVE, NULL) == 0);
}

const char *view_enter(pid_t daemon, const char *tree, const char *folder)
{
    char dev[PATH], class[PATH];
    assert(daemon > 0 && tree && folder);
    if ((size_t)snprintf(dev, sizeof(dev), "%s/dev", folder) >= sizeof(dev) ||
        (size_t)snprintf(class, sizeof(class), "%s/class", folder) >= sizeof(class))
        return "a path for the view of the node";
    if (!leave_mounts(daemon))
        return "a mount namespace";
    if (!make_dev(tree, dev))
        return "the node's /dev";
    if (!make_class(tree, class))
        return "the node's /sys/class";
    return NULL;
}
