/* SPDX-License-Identifier: Apache-2.0 */
#include "fabric_sim/simfabric/control.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fabric_sim/simfabric/client.h"

bool control_has(enum testbed_word word)
{
    assert(word < TESTBED_WORD_COUNT);
    switch (word) {
    case TESTBED_VERB_FAILS:
    case TESTBED_COMPLETION_FAILS:
    case TESTBED_PROCESS_RESTART:
    case TESTBED_DISK_ERROR:
    case TESTBED_DISK_FULL:
    case TESTBED_DISK_SLOW:
    case TESTBED_TCP_BLOCK:
    case TESTBED_TCP_SLOW:
    case TESTBED_TCP_CUT:
        return false;
    default:
        return true;
    }
}

/* False when it is too long for anything of that kind to have this name. */
static bool put(char *to, size_t size, const char *from)
{
    if (!from)
        return true;
    int length = snprintf(to, size, "%s", from);
    return length >= 0 && (size_t)length < size;
}

static enum testbed_result too_long(char *detail)
{
    snprintf(detail, TESTBED_DETAIL, "a name or text is too long");
    return TESTBED_WRONG;
}

static enum testbed_result call(int socket, const struct protocol_request *request, char *detail)
{
    struct protocol_reply reply;
    int error = client_call(socket, request, &reply, NULL);
    if (error || reply.u.told.result > TESTBED_FAILED) {
        snprintf(detail, TESTBED_DETAIL, "the fabric does not answer: %s", strerror(error));
        return TESTBED_FAILED;
    }
    snprintf(detail, TESTBED_DETAIL, "%.*s", (int)sizeof(reply.u.told.text) - 1, reply.u.told.text);
    return (enum testbed_result)reply.u.told.result;
}

enum testbed_result control_fault(int socket, const struct testbed_fault *fault, char *detail)
{
    assert(fault && fault->word < TESTBED_WORD_COUNT && detail);
    struct protocol_request request = client_request(PROTOCOL_FAULT);
    struct protocol_fault *out = &request.u.fault;
    out->word = fault->word;
    out->index = fault->index;
    out->port = fault->port;
    out->on = fault->on;
    out->gid_type = fault->gid_type;
    out->value = fault->value;
    out->duration = fault->duration;
    out->jitter = fault->jitter;
    memcpy(out->gid, fault->gid.raw, sizeof(out->gid));
    bool fits = put(out->node, sizeof(out->node), fault->node) &&
                put(out->device, sizeof(out->device), fault->device) &&
                put(out->peer, sizeof(out->peer), fault->peer) &&
                put(out->sm, sizeof(out->sm), fault->sm) &&
                put(out->network, sizeof(out->network), fault->network) &&
                put(out->text, sizeof(out->text), fault->text);
    return fits ? call(socket, &request, detail) : too_long(detail);
}

enum testbed_result control_undo(int socket, char *detail)
{
    assert(socket >= 0 && detail);
    const struct protocol_request request = client_request(PROTOCOL_UNDO);
    return call(socket, &request, detail);
}

enum testbed_result control_ask(int socket, const char *node, const char *query, char *answer)
{
    assert(node && query && answer);
    struct protocol_request request = client_request(PROTOCOL_ASK);
    bool fits = put(request.u.ask.node, sizeof(request.u.ask.node), node) &&
                put(request.u.ask.query, sizeof(request.u.ask.query), query);
    return fits ? call(socket, &request, answer) : too_long(answer);
}

static char *read_whole(int fd)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return NULL;
    size_t length = (size_t)status.st_size, done = 0;
    char *text = malloc(length + 1);
    while (text && done < length) {
        ssize_t got = pread(fd, text + done, length - done, (off_t)done);
        if (got <= 0) {
            free(text);
            return NULL;
        }
        done += (size_t)got;
    }
    if (text)
        text[length] = '\0';
    return text;
}

char *control_inspect(int socket, char *detail)
{
    assert(socket >= 0 && detail);
    const struct protocol_request request = client_request(PROTOCOL_INSPECT);
    struct protocol_reply reply;
    int fds[PROTOCOL_FDS];
    int error = client_call(socket, &request, &reply, fds);
    char *text = !error && fds[0] >= 0 ? read_whole(fds[0]) : NULL;
    for (size_t i = 0; i < PROTOCOL_FDS; i++) {
        if (fds[i] >= 0)
            close(fds[i]);
    }
    if (!text)
        snprintf(detail, TESTBED_DETAIL, "the fabric does not answer: %s",
                 strerror(error ? error : ENOMEM));
    return text;
}
