/* SPDX-License-Identifier: Apache-2.0 */
/* "IP:PORT" and "[IPv6]:PORT", to and from what the sockets take. */
#ifndef FABRIC_HW_OS_ADDRESS_H
#define FABRIC_HW_OS_ADDRESS_H

#include <stdbool.h>
#include <sys/socket.h>

#include "src/fabric/fabric.h"

#define OS_HOST_MAX 256 /* a host name, with the final NUL */

struct os_address {
    struct sockaddr_storage storage;
    socklen_t length;
};

/* Takes "HOST:PORT" apart; brackets of an IPv6 address are left away. False for what is none: an
 * empty or overlong host, a port that is no number up to 65535. */
bool os_address_split(const char *text, char host[OS_HOST_MAX], uint16_t *port);

/* From an IP address that is spelled out; false when `host` is none (a name, perhaps). */
bool os_address_literal(const char *host, uint16_t port, struct os_address *out);

/* A socket that listens on "IP:PORT", the caller's; `bound` gets the address in use. Errors:
 * invalid_argument, address_in_use, access_denied, resources_exhausted. */
enum fabric_error os_listen_socket(const char *text, int *out, char *bound);

/* As text, FABRIC_ADDRESS_MAX bytes; an IPv4 address inside an IPv6 one is written as IPv4. */
void os_address_format(const struct os_address *address, char *out);

/* Whether both name the same IP, whatever their ports. */
bool os_address_same_ip(const struct sockaddr *a, const struct sockaddr *b);

#endif
