/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memkv-scenario: runs scenario files. The only place that knows which fabrics there are; what a
 * terminal, a clock and a signal are is said here too.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fabric_hw/os/children.h"
#include "fabric_hw/os/node.h"
#include "fabric_sim/testbed.h"
#include "lib/part.h"
#include "src/client/program.h"
#include "src/fabric/planted.h"
#include "src/scenario/agent.h"
#include "src/scenario/command.h"
#include "src/scenario/remote.h"
#include "src/server/program.h"

static const struct testbed_ops *const fabrics[] = {&sim_testbed, &emulated_testbed,
                                                    &soft_roce_testbed, &lab_testbed};
static const struct fabric_program *const node_programs[] = {&memkv_server_program,
                                                             &memkv_client_program};
static volatile sig_atomic_t stop_asked;

static void ask_to_stop(int number)
{
    (void)number;
    stop_asked = 1;
}

static bool interrupted(void *context)
{
    (void)context;
    return stop_asked != 0;
}

static uint64_t wall(void *context)
{
    struct timespec now;
    (void)context;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

#define STOP_PERIOD 100 /* ms: so soon at the latest a signal is acted upon */

struct worker { /* a child that works on one job */
    pid_t pid;
    int fd; /* what it says; -1: none */
    size_t job;
};

/* In the child: does the job, says the result, ends. */
static void child(void (*work)(void *job, size_t i, struct text *out), void *job, size_t i, int fd)
{
    struct text text = {0};
    work(job, i, &text);
    for (size_t done = 0; done < text.length;) {
        ssize_t wrote = write(fd, text.data + done, text.length - done);
        if (wrote < 0 && errno != EINTR)
            _exit(1);
        done += wrote > 0 ? (size_t)wrote : 0;
    }
    _exit(0);
}

static bool employ(struct worker *worker, size_t i,
                   void (*work)(void *job, size_t i, struct text *out), void *job)
{
    int ends[2];
    if (pipe(ends) != 0)
        return false;
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        child(work, job, i, ends[1]);
    }
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return false;
    }
    *worker = (struct worker){pid, ends[0], i};
    return true;
}

/* Takes what a worker has to say; at its end, how it ended. */
static bool listen_to(struct worker *worker, struct text *out)
{
    char buffer[65536];
    int status;
    ssize_t got = read(worker->fd, buffer, sizeof buffer);
    if (got > 0)
        text_add_bytes(out, buffer, (size_t)got);
    if (got > 0 || (got < 0 && errno == EINTR))
        return true;
    close(worker->fd);
    worker->fd = -1;
    while (waitpid(worker->pid, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static size_t poll_workers(struct worker *workers, struct pollfd *fds, unsigned jobs)
{
    size_t busy = 0;
    for (unsigned i = 0; i < jobs; i++) {
        fds[i] = (struct pollfd){.fd = workers[i].fd, .events = POLLIN};
        busy += workers[i].fd >= 0;
    }
    if (busy > 0 && poll(fds, jobs, STOP_PERIOD) < 0)
        memset(fds, 0, jobs * sizeof *fds);
    return busy;
}

/* A signal for this process alone did not reach those that it made. Each is told once: the second
 * signal would end it before it has cleaned up. */
static void stop_workers(const struct worker *workers, unsigned jobs, bool *told)
{
    if (*told && !PLANTED(scenario_workers_told_twice))
        return;
    *told = true;
    for (unsigned i = 0; i < jobs; i++) {
        if (workers[i].fd >= 0)
            kill(workers[i].pid, SIGTERM);
    }
}

static bool spread(void *context, size_t count, unsigned jobs,
                   void (*work)(void *job, size_t i, struct text *out), void *job, struct text *out)
{
    struct worker *workers = calloc(jobs, sizeof *workers);
    struct pollfd *fds = calloc(jobs, sizeof *fds);
    size_t next = 0;
    bool lived = true, told = false;
    if (!workers || !fds)
        abort();
    for (unsigned i = 0; i < jobs; i++)
        workers[i].fd = -1;
    while (true) {
        /* Where no worker can be made those that there are end first, if there are any. */
        for (unsigned i = 0; i < jobs && next < count && !interrupted(context); i++) {
            if (workers[i].fd >= 0)
                continue;
            if (!employ(&workers[i], next, work, job))
                break;
            next++;
        }
        if (interrupted(context))
            stop_workers(workers, jobs, &told);
        if (poll_workers(workers, fds, jobs) == 0)
            break;
        for (unsigned i = 0; i < jobs; i++) {
            if (workers[i].fd >= 0 && fds[i].revents)
                lived = listen_to(&workers[i], &out[workers[i].job]) && lived;
        }
    }
    free(workers);
    free(fds);
    return lived && next == count;
}

static unsigned terminal_columns(void)
{
    struct winsize size;
    const char *columns = getenv("COLUMNS");
    if (columns && *columns) {
        unsigned long number = strtoul(columns, NULL, 10);
        return number < 10000 ? (unsigned)number : 0;
    }
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
        return size.ws_col;
    return 80;
}

/* ------------------------------------------------------------------ on the machine of a node */

static struct fabric *look(void *context)
{
    const struct os_fabric_options options = {.part = lib_part(), .log_fd = -1};
    struct fabric *f = NULL;
    (void)context;
    return os_fabric_create(&options, &f) ? NULL : f;
}

static int run_agent(const char *self)
{
    const char *const node[] = {self, "node", NULL};
    struct remote_host host;
    if (!os_children_create(true, &host))
        return COMMAND_FAILED;
    const struct agent_init init = {.host = &host, .node = node, .look = look};
    int status = agent_main(&init);
    os_children_destroy(&host);
    return status;
}

static int run_node(void)
{
    const struct os_node_init init = {
        .programs = node_programs,
        .program_count = sizeof node_programs / sizeof node_programs[0],
        .part = lib_part(),
    };
    return os_node_main(&init);
}

/* ------------------------------------------------------------------ on the operator's */

int main(int argc, char **argv)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    bool terminal = isatty(STDOUT_FILENO) && isatty(STDERR_FILENO);
    bool dumb = !term || strcmp(term, "dumb") == 0;
    /* The second one ends it at once. */
    struct sigaction action = {.sa_handler = ask_to_stop, .sa_flags = (int)SA_RESETHAND};
    struct command_host host = {
        .fabrics = fabrics,
        .fabric_count = sizeof fabrics / sizeof fabrics[0],
        .programs = node_programs,
        .program_count = sizeof node_programs / sizeof node_programs[0],
        .out = stdout,
        .err = stderr,
        .terminal = terminal && !dumb,
        .color = terminal && !dumb && !(no_color && *no_color),
        .columns = isatty(STDOUT_FILENO) ? terminal_columns() : 0,
        .interrupted = interrupted,
        .wall = wall,
        .spread = spread,
    };
    struct remote_host machines;
    signal(SIGPIPE, SIG_IGN); /* a closed pipe is an error of the write */
    if (argc == 2 && strcmp(argv[1], "agent") == 0)
        return run_agent("/proc/self/exe");
    if (argc == 2 && strcmp(argv[1], "node") == 0)
        return run_node();
    if (!os_children_create(false, &machines))
        return COMMAND_FAILED;
    host.machines = &machines;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    int status = command_main(&host, argc, (const char *const *)argv);
    os_children_destroy(&machines);
    return status;
}
