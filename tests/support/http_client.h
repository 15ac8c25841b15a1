/* SPDX-License-Identifier: Apache-2.0 */
/* A small HTTP client of the tests: one request, one connection. */
#ifndef TESTS_SUPPORT_HTTP_CLIENT_H
#define TESTS_SUPPORT_HTTP_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct http_client;

struct http_client_answer {
    uint32_t status; /* 0: the connection broke */
    char type[128];  /* Content-Type */
    const uint8_t *body;
    size_t length;
};

/* Connects to "IPv4:PORT" and sends the request; null when nobody listens. */
struct http_client *http_client_new(const char *address, const char *method, const char *path);
/* The same with bytes of the caller's choice. */
struct http_client *http_client_send(const char *address, const char *bytes, size_t length);
int http_client_descriptor(const struct http_client *client);
/* Takes what has arrived; true and the answer once it is complete. It lives as long as the client.
 */
bool http_client_read(struct http_client *client, struct http_client_answer *out);
void http_client_free(struct http_client *client);

#endif
