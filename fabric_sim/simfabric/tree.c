/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* nftw */
#include "fabric_sim/simfabric/tree.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/fabric/planted.h"

#define MOST_WALKS 1000    /* of a folder that others still fill */
#define CONTENT 1024       /* bytes of one file, at most */
#define NAMES (64u * 1024) /* of one folder */
#define DEPTH 16

struct place {
    char sys[FABRIC_PATH_MAX]; /* as the node names it: /sys/... */
    char real[2 * FABRIC_PATH_MAX];
};

static bool below(const struct place *folder, const char *name, struct place *out)
{
    int sys = snprintf(out->sys, sizeof(out->sys), "%s/%s", folder->sys, name);
    int real = snprintf(out->real, sizeof(out->real), "%s/%s", folder->real, name);
    bool fits =
        sys > 0 && (size_t)sys < sizeof(out->sys) && real > 0 && (size_t)real < sizeof(out->real);
    if (!fits)
        errno = ENAMETOOLONG;
    return fits;
}

static bool holds(const char *path, const char *content, size_t length)
{
    char now[CONTENT];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return false;
    ssize_t got = read(fd, now, sizeof(now));
    close(fd);
    return got >= 0 && (size_t)got == length && memcmp(now, content, length) == 0;
}

/* The file that was put last. Tables are full of equal entries, which are one file under many
 * names: files are replaced and never changed, and a name costs a tenth of a file. */
struct latest {
    char path[2 * FABRIC_PATH_MAX], content[CONTENT];
    size_t length;
};

static void remember(struct latest *latest, const char *path, const char *content, size_t length)
{
    assert(length <= CONTENT);
    snprintf(latest->path, sizeof(latest->path), "%s", path);
    memcpy(latest->content, content, length);
    latest->length = length;
}

static bool is_latest(const struct latest *latest, const char *content, size_t length)
{
    bool same = latest->length == length && memcmp(latest->content, content, length) == 0;
    return latest->path[0] && (same || PLANTED(simfabric_files_mixed));
}

/* A reader sees the old contents or the new ones, never a part. */
static bool put(struct latest *latest, const char *path, const char *content, size_t length)
{
    assert(path && length <= CONTENT);
    char fresh[2 * FABRIC_PATH_MAX + 8];
    if (is_latest(latest, content, length) && link(latest->path, path) == 0)
        return true; /* there was none */
    if (holds(path, content, length)) {
        remember(latest, path, content, length);
        return true;
    }
    snprintf(fresh, sizeof(fresh), "%s.new", path);
    int fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd < 0)
        return false;
    bool written = write(fd, content, length) == (ssize_t)length;
    if (close(fd) != 0 || !written || rename(fresh, path) != 0)
        return false;
    remember(latest, path, content, length);
    return true;
}

/* Interfaces of the simulated world are none of the machine: libibverbs looks one up by the name
 * that stands there, and takes a GID for unreadable when it finds none. */
static bool names_interface(const char *path)
{
    return strstr(path, "/gid_attrs/ndevs/") && !PLANTED(simfabric_interface_of_world);
}

static bool put_file(const struct sysfs_view *view, const struct place *file, struct latest *latest)
{
    char content[CONTENT];
    size_t length = 0;
    enum fabric_error error = sysfs_read(view, file->sys, content, sizeof(content), &length);
    const char *name = strrchr(file->sys, '/') + 1;
    /* A hole of a GID table has a type here, the one that libibverbs takes it for when a kernel
     * answers EINVAL, as no file of this tree can. */
    if (error && strstr(file->sys, "/gid_attrs/types/") && !PLANTED(simfabric_holes_without_type))
        return put(latest, file->real, "IB/RoCE v1\n", strlen("IB/RoCE v1\n"));
    if (error || names_interface(file->sys))
        return unlink(file->real) == 0 || errno == ENOENT;
    if (strstr(file->sys, "/infiniband_verbs/") && strcmp(name, "dev") == 0 &&
        !PLANTED(simfabric_dev_of_kernel))
        length = (size_t)snprintf(content, sizeof(content), "1:3\n"); /* /dev/null */
    return put(latest, file->real, content, length);
}

static bool put_link(const char *path, const char *target)
{
    assert(path && target[0]);
    char now[FABRIC_PATH_MAX];
    ssize_t length = readlink(path, now, sizeof(now) - 1);
    if (length > 0 && strncmp(now, target, (size_t)length) == 0 && !target[length])
        return true;
    return (unlink(path) == 0 || errno == ENOENT) && symlink(target, path) == 0;
}

/* What is a folder, a link or a file is seen by asking for each, as the tree has no other word. */
static bool render(const struct sysfs_view *view, const struct place *here, struct latest *latest,
                   unsigned depth)
{
    char target[FABRIC_PATH_MAX];
    struct place inner;
    size_t length = 0;
    char *names = malloc(NAMES);
    assert(names && depth < DEPTH);
    if (sysfs_list(view, here->sys, names, NAMES, &length) != FABRIC_OK) {
        free(names);
        return put_file(view, here, latest);
    }
    bool done = mkdir(here->real, 0755) == 0 || errno == EEXIST;
    for (const char *name = names; done && name < names + length; name += strlen(name) + 1) {
        done = below(here, name, &inner);
        if (done && sysfs_link(view, inner.sys, target, sizeof(target)) == FABRIC_OK)
            done = put_link(inner.real, target);
        else if (done)
            done = render(view, &inner, latest, depth + 1);
    }
    free(names);
    return done;
}

bool tree_render(const struct sysfs_view *view, const char *folder)
{
    struct place top = {.sys = "/sys"};
    assert(view && folder);
    if ((size_t)snprintf(top.real, sizeof(top.real), "%s", folder) >= sizeof(top.real)) {
        errno = ENAMETOOLONG;
        return false;
    }
    struct latest latest = {.length = 0};
    return render(view, &top, &latest, 0);
}

uint64_t tree_state(const struct sysfs_view *view)
{
    assert(view);
    uint64_t sum = view->device_count;
    for (size_t i = 0; i < view->device_count; i++) {
        for (uint8_t j = 0; j < view->devices[i].port_count; j++) {
            const struct sysfs_port *port = &view->devices[i].ports[j];
            sum = sum * 31 + port->info->attributes_epoch;
            sum = sum * 31 + (PLANTED(simfabric_carrier_unseen) ? 0 : port->ipoib_waits);
        }
    }
    return sum << 1 | 1;
}

uint64_t tree_counters(const struct sysfs_view *view)
{
    assert(view);
    uint64_t sum = 0;
    for (size_t i = 0; i < view->device_count; i++) {
        for (uint8_t j = 0; j < view->devices[i].port_count; j++) {
            const struct fabric_port_counters *c = &view->devices[i].ports[j].info->counters;
            sum = sum * 31 + c->xmit_packets + c->rcv_packets + c->xmit_data + c->rcv_data;
            sum = sum * 31 + c->xmit_discards + c->rcv_errors + c->xmit_wait + c->symbol_errors;
            sum = sum * 31 + c->rcv_constraint_errors + c->xmit_constraint_errors;
            sum = sum * 31 + c->link_downed + c->vl15_dropped + c->rcv_switch_relay_errors;
        }
    }
    return sum;
}

static int drop(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)status;
    (void)walk;
    int result = kind == FTW_DP ? rmdir(path) : unlink(path);
    return result == 0 || errno == ENOENT ? 0 : -1;
}

/* A program that is just being started may still make folders in it: what came behind the walk is
 * the next one's. */
bool tree_delete(const char *folder)
{
    assert(folder && folder[0] == '/' && folder[1]);
    int walks = PLANTED(simfabric_deletes_once) ? 1 : MOST_WALKS, error = 0;
    struct stat status;
    do {
        error = nftw(folder, drop, 16, FTW_PHYS | FTW_DEPTH | FTW_MOUNT) == 0 ? 0 : errno;
        if (lstat(folder, &status) != 0)
            return errno == ENOENT;
    } while (--walks > 0 &&
             (error == 0 || error == ENOTEMPTY || error == EEXIST || error == ENOENT));
    errno = error;
    return false;
}
