/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "fabric_hw/os/children.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fabric_hw/os/children_state.h"
#include "src/fabric/planted.h"

#define MS UINT64_C(1000000)

uint64_t os_children_now(void *context)
{
    struct timespec now;
    (void)context;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static struct child *child_of(struct children *all, int number)
{
    assert(number >= 1 && (size_t)number <= all->count && all->list[number - 1].used);
    return &all->list[number - 1];
}

static void close_if_open(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* ------------------------------------------------------------------ making one */

/* In the child, between fork and exec: nothing that allocates. */
static void become(const char *const *words, const int ends[3], int failed, bool dies)
{
    for (int i = 0; i < 3; i++) {
        if (dup2(ends[i], i) < 0)
            _exit(127);
    }
    setpgid(0, 0);
    if (dies)
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int number = 1; number < NSIG; number++)
        (void)signal(number, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execvp(words[0], (char *const *)(uintptr_t)words);
    int number = errno;
    ssize_t written = write(failed, &number, sizeof(number));
    _exit(written < 0 ? 126 : 127);
}

/* Whether exec worked: its end of the pipe closes with it, and says why otherwise. */
static bool has_begun(int failed, pid_t pid, const char *name, char *detail)
{
    int number = 0;
    ssize_t got;
    while ((got = read(failed, &number, sizeof(number))) < 0 && errno == EINTR)
        ;
    close(failed);
    if (got <= 0)
        return true;
    waitpid(pid, NULL, 0);
    snprintf(detail, REMOTE_DETAIL, "%.100s cannot be run: %s", name, strerror(number));
    return false;
}

static bool make_pipes(int pipes[4][2])
{
    for (int i = 0; i < 4; i++) {
        if (pipe2(pipes[i], O_CLOEXEC) == 0)
            continue;
        while (i-- > 0) {
            close(pipes[i][0]);
            close(pipes[i][1]);
        }
        return false;
    }
    return true;
}

/* Makes the process; its three ends of ours in fds. */
static pid_t launch(const char *const *words, bool dies, int fds[3], char *detail)
{
    int pipes[4][2]; /* in, out, err, and what became of exec */
    if (!make_pipes(pipes)) {
        snprintf(detail, REMOTE_DETAIL, "no more pipes: %s", strerror(errno));
        return -1;
    }
    const int theirs[3] = {pipes[0][0], pipes[1][1], pipes[2][1]};
    pid_t pid = fork();
    if (pid == 0)
        become(words, theirs, pipes[3][1], dies);
    for (int i = 0; i < 3; i++)
        close(theirs[i]);
    close(pipes[3][1]);
    fds[0] = pipes[0][1];
    fds[1] = pipes[1][0];
    fds[2] = pipes[2][0];
    if (pid > 0 && has_begun(pipes[3][0], pid, words[0], detail)) {
        for (int i = 0; i < 3; i++)
            (void)fcntl(fds[i], F_SETFL, O_NONBLOCK);
        return pid;
    }
    if (pid < 0) {
        snprintf(detail, REMOTE_DETAIL, "no more processes: %s", strerror(errno));
        close(pipes[3][0]);
    }
    for (int i = 0; i < 3; i++)
        close(fds[i]);
    return -1;
}

static struct child *free_place(struct children *all)
{
    for (size_t i = 0; i < all->count; i++) {
        if (!all->list[i].used)
            return &all->list[i];
    }
    if (all->count == CHILDREN_MAX)
        return NULL;
    return &all->list[all->count++];
}

static int spawn(void *context, const char *const *words, char *detail)
{
    struct children *all = context;
    int fds[3];
    struct child *child = free_place(all);
    assert(words && words[0] && detail);
    if (!child) {
        snprintf(detail, REMOTE_DETAIL, "no more than %d children", CHILDREN_MAX);
        return 0;
    }
    pid_t pid = launch(words, all->parent, fds, detail);
    if (pid < 0)
        return 0;
    *child = (struct child){.used = true, .pid = pid, .in = fds[0], .pidfd = pidfd_open(pid, 0)};
    child->said.fd = fds[1];
    child->complained.fd = fds[2];
    return (int)(child - all->list) + 1;
}

/* ------------------------------------------------------------------ talking to one */

static void flush(struct child *child)
{
    while (child->in >= 0 && child->sent < child->queued) {
        ssize_t written = write(child->in, child->queue + child->sent, child->queued - child->sent);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0 && errno == EAGAIN)
            return;
        if (written < 0) {
            close_if_open(&child->in);
            return;
        }
        child->sent += (size_t)written;
    }
    child->sent = child->queued = 0;
    if (child->hang_up)
        close_if_open(&child->in);
}

static bool send_line(void *context, int number, const char *line)
{
    struct child *child = child_of(context, number);
    size_t length = strlen(line);
    if (child->in < 0 || child->hang_up || child->queued + length + 1 > REMOTE_QUEUED)
        return false;
    if (child->queued + length + 1 > child->room) {
        size_t room = (child->queued + length + 1) * 2;
        char *queue = realloc(child->queue, room);
        if (!queue)
            return false;
        child->queue = queue;
        child->room = room;
    }
    memcpy(child->queue + child->queued, line, length);
    child->queue[child->queued + length] = '\n';
    child->queued += length + 1;
    flush(child);
    return child->in >= 0;
}

static bool say(void *context, const char *line)
{
    size_t length = strlen(line);
    char *copy = malloc(length + 1), *rest = copy;
    (void)context;
    if (!copy)
        return false;
    memcpy(copy, line, length);
    copy[length++] = '\n';
    while (length > 0) {
        ssize_t written = write(STDOUT_FILENO, rest, length);
        if (written < 0 && errno != EINTR)
            break;
        rest += written > 0 ? written : 0;
        length -= written > 0 ? (size_t)written : 0;
    }
    free(copy);
    return length == 0;
}

static void signal_child(void *context, int number, enum remote_signal which)
{
    static const int numbers[] = {
        [REMOTE_KILL] = SIGKILL, [REMOTE_FREEZE] = SIGSTOP, [REMOTE_THAW] = SIGCONT};
    struct child *child = child_of(context, number);
    if (child->pid > 0)
        (void)kill(-child->pid, numbers[which]);
}

static void hang_up(void *context, int number)
{
    struct child *child = child_of(context, number);
    child->hang_up = true;
    flush(child);
}

/* Takes the exit of a process that has ended. */
static bool reap(struct child *child, int flags)
{
    int status;
    pid_t got;
    if (child->pid <= 0)
        return true;
    while ((got = waitpid(child->pid, &status, flags)) < 0 && errno == EINTR)
        ;
    if (got != child->pid)
        return false;
    child->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    /* What it started ends with it. The group's number is not given out while one is left. */
    (void)kill(-child->pid, SIGKILL);
    child->pid = -1;
    return true;
}

static void release(struct child *child)
{
    close_if_open(&child->in);
    close_if_open(&child->said.fd);
    close_if_open(&child->complained.fd);
    close_if_open(&child->pidfd);
    free(child->queue);
    free(child->said.data);
    free(child->complained.data);
    *child = (struct child){.used = false};
}

static void end(void *context, int number, uint64_t patience)
{
    struct child *child = child_of(context, number);
    uint64_t deadline = os_children_now(NULL) + patience;
    child->hang_up = true;
    for (;;) {
        flush(child);
        uint64_t now = os_children_now(NULL);
        if (reap(child, WNOHANG) || now >= deadline)
            break;
        /* It may be stuck in what it says. */
        struct pollfd fds[] = {{child->pidfd, POLLIN, 0},
                               {child->said.fd, POLLIN, 0},
                               {child->complained.fd, POLLIN, 0},
                               {child->sent < child->queued ? child->in : -1, POLLOUT, 0}};
        char drop[4096];
        if (poll(fds, 4, (int)((deadline - now) / MS) + 1) <= 0)
            continue;
        for (int i = 1; i < 3; i++) {
            if (fds[i].revents && read(fds[i].fd, drop, sizeof(drop)) == 0)
                close_if_open(i == 1 ? &child->said.fd : &child->complained.fd);
        }
    }
    if (child->pid > 0) {
        (void)kill(-child->pid, SIGKILL);
        reap(child, 0);
    }
    release(child);
}

/* ------------------------------------------------------------------ listening */

/* A whole line from what was read; the rest stays. */
static char *take_line(struct lines *lines, bool at_end)
{
    char *newline =
        lines->data ? memchr(lines->data + lines->begin, '\n', lines->length - lines->begin) : NULL;
    if (!newline && !(at_end && lines->length > lines->begin) &&
        lines->length - lines->begin < REMOTE_LINE)
        return NULL;
    char *line = lines->data + lines->begin;
    if (newline) {
        *newline = '\0';
        lines->begin = (size_t)(newline - lines->data) + 1;
    } else { /* its last words, or a line beyond the limit: cut */
        lines->data[lines->length] = '\0';
        lines->begin = lines->length;
    }
    return line;
}

/* Reads what is there; false at the end. */
static bool read_more(struct lines *lines)
{
    if (lines->begin > 0) {
        memmove(lines->data, lines->data + lines->begin, lines->length - lines->begin);
        lines->length -= lines->begin;
        lines->begin = 0;
    }
    if (lines->length + 65536 + 1 > lines->room) {
        size_t room = lines->length * 2 + 65536 + 1;
        char *data = realloc(lines->data, room);
        assert(data);
        lines->data = data;
        lines->room = room;
    }
    ssize_t got = read(lines->fd, lines->data + lines->length, 65536);
    if (got > 0)
        lines->length += (size_t)got;
    return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

/* Something of `child` that is there already. */
static bool tell(struct child *child, int number, struct remote_input *out)
{
    struct lines *const both[] = {&child->said, &child->complained};
    static const enum remote_event types[] = {REMOTE_SAID, REMOTE_COMPLAINED};
    for (int i = 0; i < 2; i++) {
        char *line = take_line(both[i], both[i]->fd < 0);
        if (line) {
            *out = (struct remote_input){.type = types[i], .child = number, .line = line};
            return true;
        }
    }
    if (child->pid >= 0 || child->said.fd >= 0 || child->complained.fd >= 0 || child->told)
        return false;
    child->told = true;
    *out = (struct remote_input){.type = REMOTE_ENDED, .child = number, .status = child->status};
    return true;
}

static bool tell_any(struct children *all, struct remote_input *out)
{
    for (size_t i = 0; i < all->count; i++) {
        if (all->list[i].used && tell(&all->list[i], (int)i + 1, out))
            return true;
    }
    if (!all->parent)
        return false;
    char *line = take_line(&all->own, all->own.fd < 0);
    *out = (struct remote_input){.type = REMOTE_PARENT_SAID, .line = line};
    if (line)
        return true;
    if (all->own.fd >= 0 || all->own_told)
        return false;
    all->own_told = true;
    out->type = REMOTE_PARENT_ENDED;
    return true;
}

/* Once a process has ended its ends are read dry: a grandchild may hold them open for ever. */
static void look_at(struct child *child)
{
    struct lines *const both[] = {&child->said, &child->complained};
    flush(child);
    bool ended = reap(child, WNOHANG);
    for (int i = 0; i < 2; i++) {
        struct pollfd there = {both[i]->fd, POLLIN, 0};
        while (both[i]->fd >= 0 && poll(&there, 1, 0) > 0) {
            if (!read_more(both[i]))
                close_if_open(&both[i]->fd);
            if (!ended)
                break;
        }
        if (ended && !PLANTED(os_children_wait_for_grandchildren))
            close_if_open(&both[i]->fd);
    }
}

static void wait_for(void *context, uint64_t deadline, struct remote_input *out)
{
    struct children *all = context;
    struct pollfd fds[CHILDREN_MAX * 4 + 1];
    while (!tell_any(all, out)) {
        nfds_t count = 0;
        for (size_t i = 0; i < all->count; i++) {
            const struct child *child = &all->list[i];
            if (!child->used)
                continue;
            fds[count++] = (struct pollfd){child->said.fd, POLLIN, 0};
            fds[count++] = (struct pollfd){child->complained.fd, POLLIN, 0};
            fds[count++] = (struct pollfd){child->pid > 0 ? child->pidfd : -1, POLLIN, 0};
            fds[count++] =
                (struct pollfd){child->sent < child->queued ? child->in : -1, POLLOUT, 0};
        }
        fds[count++] = (struct pollfd){all->parent ? all->own.fd : -1, POLLIN, 0};
        uint64_t now = os_children_now(NULL), left = deadline > now ? deadline - now : 0;
        int ms = left / MS >= 1000000 ? 1000000 : (int)((left + MS - 1) / MS);
        int ready = poll(fds, count, ms);
        if ((ready < 0 && errno == EINTR) || (ready == 0 && os_children_now(NULL) >= deadline)) {
            *out = (struct remote_input){.type = REMOTE_DEADLINE};
            return;
        }
        for (size_t i = 0; i < all->count; i++) {
            if (all->list[i].used)
                look_at(&all->list[i]);
        }
        if (all->parent && fds[count - 1].revents && !read_more(&all->own))
            all->own.fd = -1; /* the descriptor itself stays */
    }
}

static int run(void *context, const char *const *words, uint64_t patience, char *said,
               size_t capacity)
{
    char detail[REMOTE_DETAIL] = "";
    struct children one = {.parent = false};
    struct remote_input input = {.type = REMOTE_DEADLINE};
    (void)context;
    assert(said && capacity > 0);
    said[0] = '\0';
    uint64_t deadline = os_children_now(NULL) + patience;
    int number = spawn(&one, words, detail);
    if (number == 0) {
        snprintf(said, capacity, "%s", detail);
        return -1;
    }
    hang_up(&one, number);
    while (input.type != REMOTE_ENDED && os_children_now(NULL) < deadline) {
        wait_for(&one, deadline, &input);
        if (input.line && !said[0])
            snprintf(said, capacity, "%s", input.line);
    }
    int status = input.type == REMOTE_ENDED ? input.status : -1;
    if (status < 0)
        snprintf(said, capacity, "no end within %llu s",
                 (unsigned long long)(patience / 1000000000));
    end(&one, number, 0);
    return status;
}

bool os_children_create(bool parent, struct remote_host *host)
{
    struct children *all = calloc(1, sizeof(*all));
    assert(host);
    if (!all)
        return false;
    all->parent = parent;
    all->own.fd = STDIN_FILENO;
    *host = (struct remote_host){.context = all,
                                 .now = os_children_now,
                                 .spawn = spawn,
                                 .send = send_line,
                                 .say = say,
                                 .signal = signal_child,
                                 .hang_up = hang_up,
                                 .end = end,
                                 .wait = wait_for,
                                 .run = run};
    os_children_files(host);
    os_children_self(host);
    return true;
}

void os_children_destroy(struct remote_host *host)
{
    struct children *all = host->context;
    for (size_t i = 0; i < all->count; i++) {
        if (all->list[i].used)
            end(all, (int)i + 1, 0);
    }
    for (size_t i = 0; i < all->lock_count; i++)
        close(all->locks[i]);
    free(all->own.data);
    free(all);
    host->context = NULL;
}
