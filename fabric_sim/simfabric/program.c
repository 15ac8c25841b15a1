/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* struct ucred, process_vm_readv */
#include "fabric_sim/simfabric/program.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "src/fabric/planted.h"

#define MOST (1u << 30) /* bytes of one copy: below what the system does at once */

static int open_pid(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

/* The connection is still there after the descriptor was opened: so was its process all the time,
 * and the number meant it. */
static bool is_connected(int socket)
{
    struct pollfd look = {.fd = socket, .events = POLLIN};
    return poll(&look, 1, 0) >= 0 && !(look.revents & (POLLHUP | POLLERR));
}

bool program_open(struct program *program, int socket)
{
    struct ucred peer;
    socklen_t size = sizeof(peer);
    assert(program && socket >= 0);
    *program = (struct program){.pid = -1, .pidfd = -1};
    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || peer.pid <= 0)
        return false;
    int pidfd = open_pid(peer.pid);
    if (pidfd < 0)
        return false;
    *program = (struct program){.pid = peer.pid, .pidfd = pidfd};
    if (is_connected(socket) && program_lives(program))
        return true;
    program_close(program);
    return false;
}

void program_close(struct program *program)
{
    assert(program);
    if (program->pidfd >= 0)
        close(program->pidfd);
    *program = (struct program){.pid = -1, .pidfd = -1};
}

bool program_lives(const struct program *program)
{
    struct pollfd look = {.fd = program->pidfd, .events = POLLIN};
    return program->pidfd >= 0 && poll(&look, 1, 0) == 0; /* readable once it ended */
}

typedef ssize_t (*copy)(pid_t pid, const struct iovec *local, unsigned long local_count,
                        const struct iovec *remote, unsigned long remote_count,
                        unsigned long flags);

/* The number names the process while its descriptor says that it lives: only then is it used. */
static bool copy_all(const struct program *program, copy act, uint64_t remote, uintptr_t local,
                     uint64_t length)
{
    bool lives = program_lives(program) || PLANTED(simfabric_pid_trusted);
    while (lives && length > 0) {
        size_t part = length < MOST ? (size_t)length : MOST;
        struct iovec here = {.iov_base = (void *)local, .iov_len = part};
        struct iovec there = {.iov_base = (void *)(uintptr_t)remote, .iov_len = part};
        ssize_t copied = act(program->pid, &here, 1, &there, 1, 0);
        if (copied < 0 && errno == EINTR)
            continue;
        if (copied <= 0)
            return false;
        remote += (uint64_t)copied;
        local += (uintptr_t)copied;
        length -= (uint64_t)copied;
    }
    return lives;
}

bool program_read(const struct program *program, uint64_t from, void *to, uint64_t length)
{
    assert(program && (to || length == 0));
    return copy_all(program, process_vm_readv, from, (uintptr_t)to, length);
}

bool program_write(const struct program *program, uint64_t to, const void *from, uint64_t length)
{
    assert(program && (from || length == 0));
    return copy_all(program, process_vm_writev, to, (uintptr_t)from, length);
}
