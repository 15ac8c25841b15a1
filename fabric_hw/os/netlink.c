/* SPDX-License-Identifier: Apache-2.0 */
/* Asking the kernel about an interface. */
#define _GNU_SOURCE
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/dcbnl.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <time.h>

#include "fabric_hw/os/dcb.h"
#include "fabric_hw/os/state.h"

#define ANSWER 16384 /* bytes; the kernel's answer is at most some 4,000 */
#define REQUEST 256  /* bytes; a header and a name */
#define SEQUENCE 1

static void make_request(char *buf, const char *netdev)
{
    struct nlmsghdr *header = mnl_nlmsg_put_header(buf);
    header->nlmsg_type = RTM_GETDCB;
    header->nlmsg_flags = NLM_F_REQUEST;
    header->nlmsg_seq = SEQUENCE;
    struct dcbmsg *body = mnl_nlmsg_put_extra_header(header, sizeof(*body));
    body->dcb_family = AF_UNSPEC;
    body->cmd = DCB_CMD_IEEE_GET;
    mnl_attr_put_strz(header, DCB_ATTR_IFNAME, netdev);
}

/* An error of the kernel: the interface is there but has no DCB, or is not there at all. */
static bool take_error(const struct nlmsghdr *header, struct fabric_dcb *out)
{
    struct nlmsgerr error;
    if (header->nlmsg_type != NLMSG_ERROR || mnl_nlmsg_get_payload_len(header) < sizeof(error))
        return false;
    memcpy(&error, mnl_nlmsg_get_payload(header), sizeof(error));
    out->known = error.error == -EOPNOTSUPP || error.error == -ENODEV || error.error == -EINVAL;
    return true;
}

/* The kernel answers inside the send, so the answer is there already: nothing waits. */
static void ask(struct mnl_socket *socket, const char *netdev, struct fabric_dcb *out)
{
    char request[REQUEST] __attribute__((aligned(MNL_ALIGNTO)));
    char answer[ANSWER] __attribute__((aligned(MNL_ALIGNTO)));
    make_request(request, netdev);
    const struct nlmsghdr *header = (const struct nlmsghdr *)request;
    if (mnl_socket_bind(socket, 0, MNL_SOCKET_AUTOPID) < 0 ||
        mnl_socket_sendto(socket, header, header->nlmsg_len) < 0)
        return;
    ssize_t length = mnl_socket_recvfrom(socket, answer, sizeof(answer));
    if (length <= 0)
        return;
    header = (const struct nlmsghdr *)answer;
    if (mnl_nlmsg_ok(header, (int)length) && !take_error(header, out))
        (void)os_dcb_read(answer, (size_t)length, out);
}

enum fabric_error os_dcb_query(struct fabric *f, const char *netdev, struct fabric_dcb *out)
{
    *out = (struct fabric_dcb){.known = false};
    if (os_of(f)->sysroot[0] != '\0') /* another machine's files: this one's kernel knows nothing */
        return FABRIC_OK;
    struct mnl_socket *socket = mnl_socket_open2(NETLINK_ROUTE, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (!socket)
        return FABRIC_OK;
    ask(socket, netdev, out);
    mnl_socket_close(socket);
    return FABRIC_OK;
}
