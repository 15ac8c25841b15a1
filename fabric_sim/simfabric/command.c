/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* pidfd through syscall, pipe2 */
#include "fabric_sim/simfabric/command.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fabric_sim/simfabric/client.h"
#include "fabric_sim/simfabric/daemon.h"
#include "fabric_sim/simfabric/view.h"
#include "src/fabric/planted.h"

#define UP_WAIT UINT64_C(3000000000)   /* ns of the world, */
#define UP_LIMIT UINT64_C(60000000000) /* and of a machine that is too busy to keep up with it */
#define DOWN_WAIT 60000                /* ms: the trees of a large fabric are many files */

void simfabric_complain(enum fabric_error error, const char *format, ...)
{
    va_list values;
    assert(format);
    fprintf(stderr, "simfabric: %s: ", error_name(error));
    va_start(values, format);
    vfprintf(stderr, format, values);
    va_end(values);
    fputc('\n', stderr);
}

/* ------------------------------------------------------------------ up */

static bool is_settled(void *context)
{
    const struct daemon *daemon = context;
    unsigned cabled, active;
    daemon_count_ports(daemon, &cabled, &active);
    return active == cabled || sim_now(daemon->service->sim) >= UP_WAIT ||
           daemon_now(daemon) >= UP_LIMIT;
}

static bool claim(const struct instance *instance)
{
    assert(instance);
    if (instance_claim(instance))
        return true;
    if (errno == EBUSY)
        simfabric_complain(ERR_EXISTS,
                           "fabric '%s' is up already, run by process %ld; end it with `simfabric "
                           "down --name %s` or choose another --name",
                           instance->name, (long)instance_runner(instance), instance->name);
    else
        simfabric_complain(ERR_ACCESS_DENIED, "%s cannot be made: %s", instance->folder,
                           strerror(errno));
    return false;
}

static void say(int fd, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(int fd, const char *format, ...)
{
    char line[512];
    va_list values;
    va_start(values, format);
    int length = vsnprintf(line, sizeof(line), format, values);
    va_end(values);
    if (length > 0)
        (void)!write(fd, line, (size_t)length < sizeof(line) ? (size_t)length : sizeof(line));
}

/* The life of the fabric: to `ready` goes one line once it takes programs. */
static int run(const struct simfabric_up *up, int ready)
{
    assert(up && ready >= 0);
    char detail[TESTBED_DETAIL];
    struct service service;
    struct daemon daemon;
    unsigned cabled, active;
    (void)view_own_users(); /* exec says so where the system allows none */
    if (!service_create(&service, up->topology, up->seed, detail)) {
        simfabric_complain(ERR_CONFIG_INVALID, "%s", detail);
        return SIMFABRIC_CONFIG;
    }
    if (!daemon_begin(&daemon, &service, up->instance, detail)) {
        simfabric_complain(ERR_INTERNAL, "%s", detail);
        service_destroy(&service);
        return SIMFABRIC_INTERNAL;
    }
    if (up->attached && !daemon_watch_input(&daemon)) {
        simfabric_complain(ERR_INVALID_ARGUMENT,
                           "--attached: standard input is nothing whose end can be awaited: %s",
                           strerror(errno));
        daemon_end(&daemon);
        service_destroy(&service);
        return SIMFABRIC_USAGE;
    }
    if (!up->attached)
        daemon_run(&daemon, is_settled, &daemon);
    daemon_count_ports(&daemon, &cabled, &active);
    say(ready, "simfabric: up name=%s nodes=%zu ports=%u active=%u\n", up->instance->name,
        up->topology->node_count, cabled, active);
    if (ready != STDOUT_FILENO)
        close(ready);
    daemon_run(&daemon, NULL, NULL);
    daemon_end(&daemon);
    service_destroy(&service);
    return SIMFABRIC_DONE;
}

static int run_and_clean(const struct simfabric_up *up, int ready)
{
    int status = run(up, ready);
    (void)instance_end(up->instance);
    return status;
}

/* The child's own: no terminal, no input, its talk in the run folder. */
static void leave_terminal(const struct instance *instance)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    int log = open(instance->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    setsid();
    if (null >= 0) {
        dup2(null, STDIN_FILENO);
        dup2(null, STDOUT_FILENO);
    }
    if (log >= 0)
        dup2(log, STDERR_FILENO);
}

static void show_log(const struct instance *instance)
{
    char line[512];
    FILE *file = fopen(instance->log, "re");
    while (file && fgets(line, sizeof(line), file))
        fputs(line, stderr);
    if (file)
        fclose(file);
}

/* What the child says, or its log and how it ended. */
static int await_child(const struct instance *instance, pid_t child, int ready)
{
    char line[512];
    ssize_t length;
    int status;
    do
        length = read(ready, line, sizeof(line));
    while (length < 0 && errno == EINTR);
    if (length > 0) {
        fwrite(line, 1, (size_t)length, stdout);
        return SIMFABRIC_DONE;
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    show_log(instance);
    (void)instance_clean(instance);
    return WIFEXITED(status) && WEXITSTATUS(status) ? WEXITSTATUS(status) : SIMFABRIC_INTERNAL;
}

int simfabric_up(const struct simfabric_up *up)
{
    int ends[2];
    assert(up && up->instance && up->topology);
    if (!claim(up->instance))
        return SIMFABRIC_INTERNAL;
    if (!instance_keep(up->instance, up->source, up->source_length)) {
        simfabric_complain(ERR_ACCESS_DENIED, "%s cannot be written: %s", up->instance->topology,
                           strerror(errno));
        (void)instance_end(up->instance);
        return SIMFABRIC_INTERNAL;
    }
    if (up->foreground)
        return run_and_clean(up, STDOUT_FILENO);
    pid_t child = pipe2(ends, O_CLOEXEC) == 0 ? fork() : -1;
    if (child < 0) {
        simfabric_complain(ERR_INTERNAL, "no process can be made: %s", strerror(errno));
        (void)instance_end(up->instance);
        return SIMFABRIC_INTERNAL;
    }
    if (child == 0) {
        close(ends[0]);
        leave_terminal(up->instance);
        if (!instance_write(up->instance, getpid()))
            _exit(SIMFABRIC_INTERNAL);
        int status = run(up, ends[1]);
        if (status == SIMFABRIC_DONE)
            (void)instance_end(up->instance);
        exit(status);
    }
    close(ends[1]);
    int status = await_child(up->instance, child, ends[0]);
    close(ends[0]);
    return status;
}

/* ------------------------------------------------------------------ down, status */

int simfabric_down(const struct instance *instance)
{
    assert(instance);
    pid_t runner = instance_is_there(instance) ? instance_runner(instance) : 0;
    if (!instance_is_there(instance)) {
        simfabric_complain(ERR_NOT_FOUND, "no fabric '%s' is up (there is no %s)", instance->name,
                           instance->folder);
        return SIMFABRIC_UNREACHABLE;
    }
    int pidfd = runner ? (int)syscall(SYS_pidfd_open, runner, 0) : -1;
    /* The descriptor may be of a process that took the number just now: asked once more. */
    if (pidfd >= 0 && instance_runner(instance) == runner) {
        struct pollfd ends = {.fd = pidfd, .events = POLLIN};
        syscall(SYS_pidfd_send_signal, pidfd, SIGTERM, NULL, 0);
        if (poll(&ends, 1, DOWN_WAIT) != 1) {
            simfabric_complain(ERR_TIMEOUT, "process %ld of fabric '%s' does not end", (long)runner,
                               instance->name);
            close(pidfd);
            return SIMFABRIC_INTERNAL;
        }
    }
    if (pidfd >= 0)
        close(pidfd);
    if (instance_is_there(instance) && !instance_clean(instance)) {
        simfabric_complain(ERR_ACCESS_DENIED, "%s cannot be removed: %s", instance->folder,
                           strerror(errno));
        return SIMFABRIC_INTERNAL;
    }
    printf("simfabric: down name=%s\n", instance->name);
    return SIMFABRIC_DONE;
}

int simfabric_connect(const struct instance *instance)
{
    assert(instance);
    int socket = client_connect(instance->socket);
    if (socket < 0)
        simfabric_complain(ERR_UNREACHABLE, "fabric '%s' is not up (%s: %s)", instance->name,
                           instance->socket, strerror(errno));
    return socket;
}
