/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* MSG_CMSG_CLOEXEC */
#include "fabric_sim/simfabric/client.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int client_connect(const char *path)
{
    assert(path);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof(address.sun_path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    strcpy(address.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
        return fd;
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

struct protocol_request client_request(enum protocol_op op)
{
    assert(op < PROTOCOL_OP_COUNT);
    struct protocol_request request;
    memset(&request, 0, sizeof(request));
    request.magic = PROTOCOL_MAGIC;
    request.op = op;
    return request;
}

static void take_fds(struct msghdr *message, int *fds)
{
    assert(message);
    size_t count = 0;
    for (struct cmsghdr *head = CMSG_FIRSTHDR(message); head; head = CMSG_NXTHDR(message, head)) {
        if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS)
            continue;
        size_t given = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < given; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(head) + i * sizeof(int), sizeof(fd));
            if (fds && count < PROTOCOL_FDS)
                fds[count++] = fd;
            else
                close(fd);
        }
    }
}

int client_call(int socket, const struct protocol_request *request, struct protocol_reply *reply,
                int *fds)
{
    struct iovec part = {.iov_base = reply, .iov_len = sizeof(*reply)};
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int) * PROTOCOL_FDS)];
    } control;
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof(control.bytes)};
    ssize_t done;
    assert(request && reply);
    for (size_t i = 0; fds && i < PROTOCOL_FDS; i++)
        fds[i] = -1;
    do
        done = send(socket, request, sizeof(*request), MSG_NOSIGNAL);
    while (done < 0 && errno == EINTR);
    if (done != (ssize_t)sizeof(*request))
        return EIO;
    do
        done = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    while (done < 0 && errno == EINTR);
    if (done <= 0)
        return EIO;
    take_fds(&message, fds);
    if (done != (ssize_t)sizeof(*reply) || reply->magic != PROTOCOL_MAGIC)
        return EIO;
    return reply->error;
}
