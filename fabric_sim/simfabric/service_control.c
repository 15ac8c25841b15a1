/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fault words (HA-4.3) on a fabric of programs. What is about the fabric goes to the testbed, as in
 * a scenario; what is about the programs of a node is done to the processes that opened its
 * devices, each by the descriptor that is held of it.
 */
#define _GNU_SOURCE /* pidfd_send_signal through syscall */
#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fabric_sim/simfabric/control.h"
#include "fabric_sim/simfabric/service.h"
#include "src/fabric/planted.h"

#define STOP_TURNS 10000 /* looks at a process that is being stopped, at most */

static const char *name_or_none(const char *text)
{
    return text[0] ? text : NULL;
}

static struct testbed_fault read_fault(const struct protocol_fault *from)
{
    assert(from->word < TESTBED_WORD_COUNT);
    struct testbed_fault fault = {.word = (enum testbed_word)from->word,
                                  .node = name_or_none(from->node),
                                  .device = name_or_none(from->device),
                                  .peer = name_or_none(from->peer),
                                  .sm = name_or_none(from->sm),
                                  .network = name_or_none(from->network),
                                  .text = name_or_none(from->text),
                                  .port = (uint8_t)from->port,
                                  .on = from->on != 0,
                                  .index = from->index,
                                  .value = from->value,
                                  .duration = from->duration,
                                  .jitter = from->jitter,
                                  .gid_type = (enum fabric_gid_type)from->gid_type};
    memcpy(fault.gid.raw, from->gid, sizeof(fault.gid.raw));
    return fault;
}

/* ------------------------------------------------------------------ programs */

static bool is_on(const struct service *service, const struct service_client *client,
                  const char *node)
{
    if (!client || !client->place || client->program.pidfd < 0)
        return false;
    const char *host = sim_device_host(service->places[client->place - 1].device);
    return !node || strcmp(host, node) == 0;
}

static bool is_stopped(pid_t pid)
{
    char path[64], text[512];
    snprintf(path, sizeof(path), "/proc/%ld/stat", (long)pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return true; /* gone */
    size_t length = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    text[length] = '\0';
    const char *end = strrchr(text, ')');
    return !end || strchr("TtZX", end[1] == ' ' ? end[2] : 'X') != NULL;
}

/* The lock of the fabric is held here, so whoever is stopped does not have it, and cannot take it
 * before it stopped. */
static void freeze(struct service_client *client)
{
    assert(client->program.pid > 0);
    client->frozen = true;
    for (int i = 0; i < STOP_TURNS && !is_stopped(client->program.pid); i++)
        sched_yield();
}

static unsigned signal_programs(struct service *service, const char *node, int number)
{
    unsigned count = 0;
    assert(number == SIGKILL || number == SIGSTOP || number == SIGCONT);
    for (uint32_t i = 0; i < service->client_capacity; i++) {
        struct service_client *client = service->clients[i];
        if (!is_on(service, client, node) || (number == SIGCONT && !client->frozen))
            continue;
        if (syscall(SYS_pidfd_send_signal, client->program.pidfd, number, NULL, 0) != 0)
            continue;
        count++;
        client->frozen = false;
        if (number == SIGSTOP)
            freeze(client);
    }
    return count;
}

static enum testbed_result process(struct service *service, const struct testbed_fault *fault,
                                   char *detail)
{
    assert(service->tb && detail);
    bool kills = fault->word == TESTBED_PROCESS_KILL;
    int number = kills ? SIGKILL : fault->on ? SIGSTOP : SIGCONT;
    if (!fault->node || !sim_host_find(sim_testbed_world(service->tb), fault->node)) {
        snprintf(detail, TESTBED_DETAIL, "there is no node '%s'", fault->node ? fault->node : "");
        return TESTBED_WRONG;
    }
    if (signal_programs(service, fault->node, number) || PLANTED(simfabric_nobody_is_killed))
        return TESTBED_DONE;
    snprintf(detail, TESTBED_DETAIL, "no program on node '%s' has a device open%s", fault->node,
             number == SIGCONT ? " and is frozen" : "");
    return TESTBED_WRONG;
}

/* ------------------------------------------------------------------ words */

static enum testbed_result apply(struct service *service, const struct testbed_fault *fault,
                                 char *detail)
{
    assert(fault->word < TESTBED_WORD_COUNT);
    if (!control_has(fault->word)) {
        snprintf(detail, TESTBED_DETAIL,
                 "programs on a fabric use the machine's own disks and streams, make their own "
                 "calls and are started by you: there is no such word here");
        return TESTBED_LACKS;
    }
    if (fault->word == TESTBED_PROCESS_KILL || fault->word == TESTBED_PROCESS_FREEZE)
        return process(service, fault, detail);
    enum testbed_result result = sim_testbed.apply(service->tb, fault, detail);
    if (result == TESTBED_DONE && fault->word == TESTBED_POWER_LOSS)
        signal_programs(service, fault->node, SIGKILL); /* after the network: no farewell */
    return result;
}

static enum testbed_result undo(struct service *service, char *detail)
{
    assert(service->tb);
    if (!PLANTED(simfabric_frozen_for_ever))
        signal_programs(service, NULL, SIGCONT);
    return sim_testbed.undo(service->tb, detail);
}

void service_control(struct service *service, const struct protocol_request *request,
                     struct service_answer *out)
{
    char detail[TESTBED_DETAIL] = "";
    enum testbed_result result;
    if (request->op == PROTOCOL_FAULT) {
        const struct testbed_fault fault = read_fault(&request->u.fault);
        result = apply(service, &fault, detail);
    } else if (request->op == PROTOCOL_UNDO) {
        result = undo(service, detail);
    } else {
        result = sim_testbed.ask(service->tb, request->u.ask.node, request->u.ask.query, detail);
    }
    _Static_assert(sizeof(out->reply.u.told.text) == sizeof(detail), "one sentence");
    out->reply.u.told.result = result;
    memcpy(out->reply.u.told.text, detail, sizeof(detail));
}
