/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "fabric_hw/os/notify.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "src/fabric/planted.h"

bool os_notify(const char *socket_name, const char *state)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = socket_name ? strlen(socket_name) : 0;
    assert(state && state[0]);
    if (length < 2 || length >= sizeof(address.sun_path) ||
        (socket_name[0] != '/' && socket_name[0] != '@'))
        return false;
    memcpy(address.sun_path, socket_name, length);
    if (socket_name[0] == '@' && !PLANTED(os_notify_abstract_as_path))
        address.sun_path[0] = '\0'; /* unix(7): an abstract name begins so and has no end mark */
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return false;
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
    bool sent = connect(fd, (const struct sockaddr *)&address, size) == 0 &&
                send(fd, state, strlen(state), MSG_NOSIGNAL) == (ssize_t)strlen(state);
    close(fd);
    return sent;
}
