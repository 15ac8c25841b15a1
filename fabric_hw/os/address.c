/* SPDX-License-Identifier: Apache-2.0 */
#include "fabric_hw/os/address.h"

#include <arpa/inet.h>
#include <assert.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

static bool read_port(const char *text, uint16_t *out)
{
    unsigned long value = 0;
    size_t length = strlen(text);
    if (length == 0 || length > 5)
        return false;
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        value = value * 10 + (unsigned long)(text[i] - '0');
    }
    *out = (uint16_t)value;
    return value <= UINT16_MAX;
}

bool os_address_split(const char *text, char host[OS_HOST_MAX], uint16_t *port)
{
    const char *colon = strrchr(text, ':');
    if (!colon || !read_port(colon + 1, port))
        return false;
    size_t length = (size_t)(colon - text);
    bool bracketed = length >= 2 && text[0] == '[' && colon[-1] == ']';
    if (bracketed) {
        text++;
        length -= 2;
    }
    if (length == 0 || length >= OS_HOST_MAX)
        return false;
    memcpy(host, text, length);
    host[length] = '\0';
    return bracketed == (strchr(host, ':') != NULL); /* IPv6 stands in brackets, nothing else */
}

bool os_address_literal(const char *host, uint16_t port, struct os_address *out)
{
    struct sockaddr_in *v4 = (struct sockaddr_in *)&out->storage;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&out->storage;
    memset(out, 0, sizeof(*out));
    if (inet_pton(AF_INET, host, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons(port);
        out->length = sizeof(*v4);
        return true;
    }
    if (inet_pton(AF_INET6, host, &v6->sin6_addr) != 1)
        return false;
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(port);
    out->length = sizeof(*v6);
    return true;
}

void os_address_format(const struct os_address *address, char *out)
{
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)&address->storage;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&address->storage;
    char ip[INET6_ADDRSTRLEN] = "";
    if (address->storage.ss_family == AF_INET) {
        inet_ntop(AF_INET, &v4->sin_addr, ip, sizeof(ip));
        snprintf(out, FABRIC_ADDRESS_MAX, "%s:%u", ip, ntohs(v4->sin_port));
        return;
    }
    assert(address->storage.ss_family == AF_INET6);
    if (IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr)) {
        inet_ntop(AF_INET, &v6->sin6_addr.s6_addr[12], ip, sizeof(ip));
        snprintf(out, FABRIC_ADDRESS_MAX, "%s:%u", ip, ntohs(v6->sin6_port));
        return;
    }
    inet_ntop(AF_INET6, &v6->sin6_addr, ip, sizeof(ip));
    snprintf(out, FABRIC_ADDRESS_MAX, "[%s]:%u", ip, ntohs(v6->sin6_port));
}

/* As IPv6, IPv4 mapped into it; false for other families. */
static bool as_v6(const struct sockaddr *address, struct in6_addr *out)
{
    if (address->sa_family == AF_INET6) {
        *out = ((const struct sockaddr_in6 *)address)->sin6_addr;
        return true;
    }
    if (address->sa_family != AF_INET)
        return false;
    memset(out, 0, sizeof(*out));
    out->s6_addr[10] = out->s6_addr[11] = 0xff;
    memcpy(&out->s6_addr[12], &((const struct sockaddr_in *)address)->sin_addr, 4);
    return true;
}

bool os_address_same_ip(const struct sockaddr *a, const struct sockaddr *b)
{
    struct in6_addr x, y;
    return as_v6(a, &x) && as_v6(b, &y) && memcmp(&x, &y, sizeof(x)) == 0;
}
