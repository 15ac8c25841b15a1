/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Becoming a program on a simulated node. The process gets a view of its own (view.h) in which
 * /dev/infiniband holds the node's device files (bound to /dev/null: libibverbs opens them, the
 * plug-in does the rest), an environment that leads libibverbs to the node's tree and to the
 * plug-in, and no way to ask the kernel for RDMA devices, so that those of the host are not found.
 * There is no process in between: signals and the exit status are the program's own.
 */
#include <assert.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fabric_sim/simfabric/command.h"
#include "fabric_sim/simfabric/view.h"
#include "src/fabric/planted.h"

#define PATH 512

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

/* ------------------------------------------------------------------ programs that cannot */

/* libibverbs would pass over the plug-in without a word: it looks for one of its own number.
 * Programs that bring another libibverbs are none of this. */
static void tell_abi(void)
{
    void *library = dlopen("libibverbs.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (library && !dlsym(library, "verbs_register_driver_34"))
        simfabric_complain(ERR_UNSUPPORTED_VERSION,
                           "libibverbs here has another private ABI than 34 (rdma-core 39 to 56), "
                           "which the verbs plug-in is for: programs will find no device");
    if (library)
        dlclose(library);
}

/* Whether a 64-bit ELF program names the loader that would load the plug-in's libibverbs. */
static bool has_loader(int fd, const Elf64_Ehdr *head)
{
    Elf64_Phdr part;
    assert(fd >= 0);
    for (unsigned i = 0; i < head->e_phnum; i++) {
        off_t at = (off_t)(head->e_phoff + (uint64_t)i * sizeof(part));
        if (pread(fd, &part, sizeof(part), at) != (ssize_t)sizeof(part))
            return true; /* the kernel will say what is wrong with it */
        if (part.p_type == PT_INTERP)
            return true;
    }
    return false;
}

/* What makes a program unable to see simulated devices; null: nothing that can be seen. */
static const char *unfit(const char *path)
{
    Elf64_Ehdr head;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    const char *what = NULL;
    bool elf = fd >= 0 && pread(fd, &head, sizeof(head), 0) == (ssize_t)sizeof(head) &&
               memcmp(head.e_ident, ELFMAG, SELFMAG) == 0;
    if (elf && head.e_ident[EI_CLASS] != ELFCLASS64)
        what = "is a 32-bit program; the verbs plug-in is for 64 bits";
    else if (elf && !has_loader(fd, &head) && !PLANTED(simfabric_static_begun))
        what = "is linked statically; it would not load libibverbs and the verbs plug-in";
    if (fd >= 0)
        close(fd);
    return what;
}

/* The file that execvp would take; false: none. */
static bool find_program(const char *name, char *out)
{
    const char *list = getenv("PATH");
    if (strchr(name, '/'))
        return (size_t)snprintf(out, PATH, "%s", name) < PATH;
    for (const char *at = list ? list : "/bin:/usr/bin"; *at;) {
        size_t length = strcspn(at, ":");
        if ((size_t)snprintf(out, PATH, "%.*s/%s", (int)length, at, name) < PATH &&
            access(out, X_OK) == 0)
            return true;
        at += length + (at[length] == ':');
    }
    return false;
}

/* ------------------------------------------------------------------ */

static int become(char *const *arguments)
{
    char path[PATH];
    const char *what = find_program(arguments[0], path) ? unfit(path) : NULL;
    if (what) {
        simfabric_complain(ERR_NOT_SUPPORTED, "%s %s", path, what);
        return SIMFABRIC_EXEC_UNABLE;
    }
    execvp(arguments[0], arguments);
    int error = errno;
    simfabric_complain(error == ENOENT ? ERR_NOT_FOUND : ERR_ACCESS_DENIED, "%s: %s", arguments[0],
                       strerror(error));
    return error == ENOENT ? SIMFABRIC_EXEC_NOT_FOUND : SIMFABRIC_EXEC_UNABLE;
}

int simfabric_exec(const struct instance *instance, const char *node, const char *plugin,
                   char *const *arguments)
{
    char tree[PATH], folder[PATH];
    assert(instance && node && plugin && arguments && arguments[0]);
    bool named = instance_tree(instance, node, tree, sizeof(tree));
    snprintf(folder, sizeof(folder), "%s/nodes/%.64s", instance->folder, node);
    if (!named || !is_fabric_and_node(instance, node, tree) || !is_plugin(plugin))
        return SIMFABRIC_EXEC_FAILED;
    tell_abi();
    const char *what = view_enter(instance_runner(instance), tree, folder);
    if (!what && (!set_environment(instance, node, tree, plugin) ||
                  !(PLANTED(simfabric_kernel_asked) || hide_kernel_devices())))
        what = "the environment";
    if (!what)
        return become(arguments);
    simfabric_complain(ERR_ACCESS_DENIED, "%s cannot be made: %s", what, strerror(errno));
    return SIMFABRIC_EXEC_FAILED;
}
