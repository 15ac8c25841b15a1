/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "fabric_hw/os/run.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "src/fabric/planted.h"

#define EVENTS_AT_ONCE 64
#define SIGNALS 3

struct command {
    struct command *next;
    char json[];
};

/* Threading: `lock` guards the commands and what the listening thread has heard. */
struct os_run {
    struct os_run_init init;
    struct fabric *f;
    void *state;
    pthread_mutex_t lock;
    struct command *commands, **commands_end;
    unsigned heard[SIGNALS]; /* how often each came and was not told yet */
    bool listens;            /* there is a listening thread */
    pthread_t listener;
    int signals, quit; /* descriptors */
    sigset_t before;   /* the mask of the thread that started us */
};

static const int numbers[SIGNALS] = {
    [OS_RUN_INTERRUPT] = SIGINT, [OS_RUN_TERMINATE] = SIGTERM, [OS_RUN_HANGUP] = SIGHUP};

/* ------------------------------------------------------------------ signals */

static void hear(struct os_run *run, uint32_t number)
{
    for (int i = 0; i < SIGNALS; i++) {
        if ((uint32_t)numbers[i] != number)
            continue;
        pthread_mutex_lock(&run->lock);
        run->heard[i]++;
        pthread_mutex_unlock(&run->lock);
    }
    if (!PLANTED(os_run_signal_unheard))
        fabric_wake(run->f);
}

static void *listen_for_signals(void *context)
{
    struct os_run *run = context;
    struct pollfd watched[2] = {{run->signals, POLLIN, 0}, {run->quit, POLLIN, 0}};
    struct signalfd_siginfo info;
    for (;;) {
        if (poll(watched, 2, -1) < 0)
            continue; /* only EINTR can be */
        if (watched[1].revents)
            return NULL;
        if (watched[0].revents && read(run->signals, &info, sizeof(info)) == sizeof(info))
            hear(run, info.ssi_signo);
    }
}

static bool start_thread(struct os_run *run)
{
    sigset_t all, ours;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &ours);
    bool started = pthread_create(&run->listener, NULL, listen_for_signals, run) == 0;
    pthread_sigmask(SIG_SETMASK, &ours, NULL);
    return started;
}

static void stop_listening(struct os_run *run)
{
    const uint64_t one = 1;
    if (run->listens) {
        ssize_t written = write(run->quit, &one, sizeof(one));
        assert(written == sizeof(one));
        pthread_join(run->listener, NULL);
    }
    if (run->signals >= 0)
        close(run->signals);
    if (run->quit >= 0)
        close(run->quit);
    pthread_sigmask(SIG_SETMASK, &run->before, NULL);
}

static bool start_listening(struct os_run *run)
{
    sigset_t wanted;
    sigemptyset(&wanted);
    for (int i = 0; i < SIGNALS; i++)
        sigaddset(&wanted, numbers[i]);
    run->signals = signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
    run->quit = eventfd(0, EFD_CLOEXEC);
    sigaddset(&wanted, SIGPIPE); /* an operator's HTTPS client that hangs up must not kill us */
    pthread_sigmask(SIG_BLOCK, &wanted, &run->before);
    run->listens = run->signals >= 0 && run->quit >= 0 && start_thread(run);
    if (!run->listens)
        stop_listening(run);
    return run->listens;
}

/* ------------------------------------------------------------------ the program */

/* It may tell a new key. */
static void command_free(struct command *command)
{
    explicit_bzero(command->json, strlen(command->json));
    free(command);
}

static void release(struct os_run *run)
{
    if (run->init.signal)
        stop_listening(run);
    while (run->commands) {
        struct command *command = run->commands;
        run->commands = command->next;
        command_free(command);
    }
    pthread_mutex_destroy(&run->lock);
    free(run);
}

enum fabric_error os_run_start(struct fabric *f, const struct os_run_init *init,
                               struct os_run **out)
{
    assert(f && init && init->program && init->sink.report && out);
    struct os_run *run = calloc(1, sizeof(*run));
    if (!run)
        return ERR_RESOURCES_EXHAUSTED;
    run->init = *init;
    run->f = f;
    run->commands_end = &run->commands;
    pthread_mutex_init(&run->lock, NULL);
    if (init->signal && !start_listening(run)) {
        pthread_mutex_destroy(&run->lock);
        free(run);
        return ERR_RESOURCES_EXHAUSTED;
    }
    enum fabric_error error =
        init->program->start(f, init->config, init->config_length, &run->init.sink, &run->state);
    run->init.config = NULL;
    if (error) {
        release(run);
        return error;
    }
    *out = run;
    return FABRIC_OK;
}

void os_run_stop(struct os_run *run)
{
    assert(run && run->state);
    run->init.program->stop(run->state);
    release(run);
}

static bool queue_command(struct os_run *run, const char *json)
{
    size_t length = strlen(json) + 1;
    struct command *command = malloc(sizeof(*command) + length);
    if (!command)
        return false;
    memcpy(command->json, json, length);
    command->next = NULL;
    pthread_mutex_lock(&run->lock);
    *run->commands_end = command;
    run->commands_end = &command->next;
    pthread_mutex_unlock(&run->lock);
    return true;
}

bool os_run_tell(struct os_run *run, const char *json)
{
    assert(run && json);
    bool queued = queue_command(run, json);
    if (queued && !PLANTED(os_run_tells_without_waking))
        fabric_wake(run->f);
    return queued;
}

static struct command *take_command(struct os_run *run)
{
    pthread_mutex_lock(&run->lock);
    struct command *command = run->commands;
    if (command) {
        run->commands = command->next;
        if (!run->commands)
            run->commands_end = &run->commands;
    }
    pthread_mutex_unlock(&run->lock);
    return command;
}

static bool take_signal(struct os_run *run, enum os_run_signal *out)
{
    bool found = false;
    pthread_mutex_lock(&run->lock);
    for (int i = 0; i < SIGNALS && !found; i++) {
        if (run->heard[i] == 0)
            continue;
        run->heard[i]--;
        *out = (enum os_run_signal)i;
        found = true;
    }
    pthread_mutex_unlock(&run->lock);
    return found;
}

static bool is_done(const struct os_run *run)
{
    return run->init.done && run->init.done(run->init.context);
}

/* False: a signal ends the run. */
static bool take_signals(struct os_run *run)
{
    enum os_run_signal heard;
    while (take_signal(run, &heard)) {
        const char *json = run->init.signal(run->init.context, heard);
        if (!json || ((*json || PLANTED(os_run_tells_nothing)) && !queue_command(run, json)))
            return false;
    }
    return true;
}

/* One after the other: what a command leads to may be that no more are wanted. */
static bool take_commands(struct os_run *run)
{
    struct command *command;
    while (!is_done(run) && (command = take_command(run)) != NULL) {
        run->init.program->command(run->state, command->json);
        command_free(command);
    }
    return !is_done(run);
}

/* All that were polled: an event is told once, so none of them may be dropped. */
static bool take_events(struct os_run *run, uint64_t deadline, bool *failed)
{
    struct fabric_event events[EVENTS_AT_ONCE];
    size_t count = 0;
    *failed = fabric_poll(run->f, events, EVENTS_AT_ONCE, deadline, &count) != FABRIC_OK;
    for (size_t i = 0; i < count; i++)
        run->init.program->event(run->state, &events[i]);
    return !*failed;
}

enum os_run_end os_run_until(struct os_run *run, uint64_t deadline)
{
    uint64_t now = 0;
    bool failed = false;
    assert(run && run->state);
    for (;;) {
        if (!take_signals(run))
            return OS_RUN_SIGNAL;
        if (!take_commands(run))
            return OS_RUN_DONE;
        (void)fabric_now(run->f, &now);
        if (now >= deadline)
            return OS_RUN_DEADLINE;
        if (!take_events(run, deadline, &failed))
            return OS_RUN_FAILED;
    }
}
