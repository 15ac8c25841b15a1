/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "tests/support/http_client.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct http_client {
    int fd;
    char *bytes;
    size_t length, capacity;
    bool over; /* the other end sends no more */
};

struct http_client *http_client_send(const char *address, const char *bytes, size_t length)
{
    char ip[64];
    struct sockaddr_in to = {.sin_family = AF_INET};
    const char *colon = strrchr(address, ':');
    assert(colon && (size_t)(colon - address) < sizeof(ip));
    snprintf(ip, sizeof(ip), "%.*s", (int)(colon - address), address);
    inet_pton(AF_INET, ip, &to.sin_addr);
    to.sin_port = htons((uint16_t)atoi(colon + 1));
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert(fd >= 0);
    if (connect(fd, (const struct sockaddr *)&to, sizeof(to)) < 0 ||
        send(fd, bytes, length, MSG_NOSIGNAL) != (ssize_t)length) {
        close(fd);
        return NULL;
    }
    struct http_client *client = calloc(1, sizeof(*client));
    assert(client);
    client->fd = fd;
    return client;
}

struct http_client *http_client_new(const char *address, const char *method, const char *path)
{
    char request[4096];
    int length =
        snprintf(request, sizeof(request),
                 "%s %s HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n", method, path);
    assert(length > 0 && (size_t)length < sizeof(request));
    return http_client_send(address, request, (size_t)length);
}

int http_client_descriptor(const struct http_client *client)
{
    return client->fd;
}

static void receive(struct http_client *client)
{
    for (;;) {
        if (client->capacity - client->length < 65536) {
            client->capacity = client->capacity * 2 + 131072;
            client->bytes = realloc(client->bytes, client->capacity);
            assert(client->bytes);
        }
        ssize_t got = recv(client->fd, client->bytes + client->length,
                           client->capacity - client->length - 1, MSG_DONTWAIT);
        if (got < 0 && errno == EAGAIN)
            return;
        if (got <= 0) {
            client->over = true;
            return;
        }
        client->length += (size_t)got;
    }
}

static const char *field(const char *head, const char *name)
{
    const char *found = strcasestr(head, name);
    return found ? found + strlen(name) : NULL;
}

bool http_client_read(struct http_client *client, struct http_client_answer *out)
{
    *out = (struct http_client_answer){0};
    receive(client);
    client->bytes[client->length] = '\0';
    char *end = strstr(client->bytes, "\r\n\r\n");
    if (!end)
        return client->over;
    *end = '\0'; /* the head is text by itself */
    const char *length = field(client->bytes, "\r\nContent-Length: ");
    const char *type = field(client->bytes, "\r\nContent-Type: ");
    out->body = (const uint8_t *)end + 4;
    out->length = client->length - (size_t)(end + 4 - client->bytes);
    bool whole = length && out->length >= strtoul(length, NULL, 10);
    if (whole)
        out->status = (uint32_t)strtoul(client->bytes + strcspn(client->bytes, " "), NULL, 10);
    if (type)
        snprintf(out->type, sizeof(out->type), "%.*s", (int)strcspn(type, "\r"), type);
    *end = '\r';
    return whole || client->over;
}

void http_client_free(struct http_client *client)
{
    close(client->fd);
    free(client->bytes);
    free(client);
}
