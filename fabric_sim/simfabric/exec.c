/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Becoming a program on a simulated node. The process gets a mount namespace of its own in which
 * /dev/infiniband holds the node's device files (bound to /dev/null: libibverbs opens them, the
 * plug-in does the rest), an environment that leads libibverbs to the node's tree and to the
 * plug-in, and no way to ask the kernel for RDMA devices, so that those of the host are not found.
 * There is no process in between: signals and the exit status are the program's own.
 */
#define _GNU_SOURCE /* unshare */
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fabric_sim/simfabric/command.h"
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

/* An ordinary user keeps its own numbers in a user namespace that lets it mount. */
static bool leave_mounts(void)
{
    char map[64];
    uid_t uid = geteuid();
    gid_t gid = getegid();
    if (unshare(uid == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER) != 0)
        return false;
    if (uid != 0) {
        snprintf(map, sizeof(map), "%u %u 1", (unsigned)uid, (unsigned)uid);
        bool mapped =
            write_text("/proc/self/setgroups", "deny") && write_text("/proc/self/uid_map", map);
        snprintf(map, sizeof(map), "%u %u 1", (unsigned)gid, (unsigned)gid);
        if (!mapped || !write_text("/proc/self/gid_map", map))
            return false;
    }
    return mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

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

/* ------------------------------------------------------------------ what the program finds */

#if defined(__x86_64__)
#define THIS_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define THIS_ARCH AUDIT_ARCH_AARCH64
#else
#define THIS_ARCH 0 /* no filter: RDMA devices of the host would be found */
#endif

/* libibverbs asks the kernel by NETLINK_RDMA first and looks into the tree only where there is no
 * such thing: socket(AF_NETLINK, ..., NETLINK_RDMA) fails as on a kernel without RDMA. */
static bool hide_kernel_devices(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, THIS_ARCH, 0, 7),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 5),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_NETLINK, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NETLINK_RDMA, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPROTONOSUPPORT),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {.len = sizeof(code) / sizeof(code[0]), .filter = code};
    if (THIS_ARCH == 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0)
        return true;
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* Where libmlx5 is the plug-in, so that programs that ask that library for DC find it; what the
 * caller had set follows. */
static bool lead_to_libraries(const char *plugin)
{
    char path[PATH * 2];
    const char *before = getenv("LD_LIBRARY_PATH"), *end = strrchr(plugin, '/');
    int folder = end ? (int)(end - plugin) : 1;
    int length = snprintf(path, sizeof(path), "%.*s/simfabric-lib%s%s", folder, end ? plugin : ".",
                          before && *before ? ":" : "", before ? before : "");
    return (size_t)length < sizeof(path) && setenv("LD_LIBRARY_PATH", path, 1) == 0;
}

static bool set_environment(const struct instance *instance, const char *node, const char *tree,
                            const char *plugin)
{
    assert(instance->socket[0]);
    return (PLANTED(simfabric_libmlx5_of_host) || lead_to_libraries(plugin)) &&
           setenv("SYSFS_PATH", tree, 1) == 0 && setenv("RDMAV_DRIVERS", plugin, 1) == 0 &&
           setenv("IBV_DRIVERS", plugin, 1) == 0 &&
           setenv("SIMFABRIC_SOCKET", instance->socket, 1) == 0 &&
           setenv("SIMFABRIC_NODE", node, 1) == 0;
}

static bool is_fabric_and_node(const struct instance *instance, const char *node, const char *tree)
{
    if (!instance_is_there(instance) || !instance_runner(instance)) {
        simfabric_complain(ERR_UNREACHABLE, "fabric '%s' is not up (nobody runs %s)",
                           instance->name, instance->folder);
        return false;
    }
    if (access(tree, R_OK | X_OK) == 0 && !strchr(node, '/'))
        return true;
    simfabric_complain(ERR_NOT_FOUND, "fabric '%s' has no node '%s'; `simfabric status` lists them",
                       instance->name, node);
    return false;
}

static bool is_plugin(const char *plugin)
{
    char path[PATH];
    int length = snprintf(path, sizeof(path), "%s-rdmav34.so", plugin);
    if ((size_t)length < sizeof(path) && access(path, R_OK) == 0)
        return true;
    simfabric_complain(
        ERR_NOT_FOUND,
        "there is no verbs plug-in %s; it is built where libibverbs-dev is installed", path);
    return false;
}

int simfabric_exec(const struct instance *instance, const char *node, const char *plugin,
                   char *const *arguments)
{
    char tree[PATH], folder[PATH];
    assert(instance && node && plugin && arguments && arguments[0]);
    bool named = instance_tree(instance, node, tree, sizeof(tree));
    snprintf(folder, sizeof(folder), "%s/nodes/%.64s/dev", instance->folder, node);
    if (!named || !is_fabric_and_node(instance, node, tree) || !is_plugin(plugin))
        return SIMFABRIC_EXEC_FAILED;
    const char *what = "a mount namespace";
    bool ready = leave_mounts();
    if (ready) {
        what = "the node's /dev";
        ready = make_dev(tree, folder);
    }
    if (ready) {
        what = "the environment";
        ready = set_environment(instance, node, tree, plugin) &&
                (PLANTED(simfabric_kernel_asked) || hide_kernel_devices());
    }
    if (!ready) {
        simfabric_complain(ERR_ACCESS_DENIED, "%s cannot be made: %s", what, strerror(errno));
        return SIMFABRIC_EXEC_FAILED;
    }
    execvp(arguments[0], arguments);
    int error = errno;
    simfabric_complain(error == ENOENT ? ERR_NOT_FOUND : ERR_ACCESS_DENIED, "%s: %s", arguments[0],
                       strerror(error));
    return error == ENOENT ? 127 : 126;
}
