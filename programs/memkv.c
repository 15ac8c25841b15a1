/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memkv: server, client and tools in one program. What a command is stands in src/cli; here are the
 * files, the terminal and the fabric of this machine.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fabric_hw/os/notify.h"
#include "fabric_hw/os/os.h"
#include "fabric_hw/os/run.h"
#include "lib/part.h"
#include "src/cli/cli.h"

#define WRITE_PART ((size_t)1 << 20) /* bytes between two looks at the signals that wait */

static const char *environment(void *context, const char *name)
{
    (void)context;
    return getenv(name);
}

/* Reads to the end; at most `max` bytes. */
static enum fabric_error read_all(int fd, size_t max, size_t guess, struct cli_file *out)
{
    size_t room = (guess < max ? guess : max) + 2;
    out->data = malloc(room);
    out->length = 0;
    while (out->data) {
        ssize_t got = read(fd, out->data + out->length, room - out->length - 1);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return os_io_error(errno);
        if (got == 0)
            break;
        out->length += (size_t)got;
        if (out->length > max)
            return ERR_TOO_LARGE;
        if (room - out->length > 1)
            continue;
        char *more = realloc(out->data, room *= 2);
        if (!more)
            return ERR_RESOURCES_EXHAUSTED;
        out->data = more;
    }
    if (!out->data)
        return ERR_RESOURCES_EXHAUSTED;
    out->data[out->length] = '\0';
    return FABRIC_OK;
}

static enum fabric_error read_file(void *context, const char *path, size_t max,
                                   struct cli_file *out)
{
    struct stat st;
    struct cli_file file = {.data = NULL};
    bool standard = strcmp(path, "-") == 0;
    int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    (void)context;
    if (fd < 0)
        return os_io_error(errno);
    enum fabric_error error = fstat(fd, &st) == 0 ? FABRIC_OK : os_io_error(errno);
    if (!error) {
        file.mode = (uint32_t)st.st_mode & 07777;
        file.is_regular = S_ISREG(st.st_mode);
        error = read_all(fd, max, file.is_regular ? (size_t)st.st_size : 65536, &file);
    }
    if (!standard)
        close(fd);
    if (error) {
        free(file.data);
        return error;
    }
    *out = file;
    return FABRIC_OK;
}

/* While a file is half written the signals that end us wait, or it would be left behind. Those that
 * are ignored stay so. */
static void hold_signals(sigset_t *before)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    sigset_t held;
    struct sigaction now;
    sigemptyset(&held);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (sigaction(numbers[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
            sigaddset(&held, numbers[i]);
    }
    sigprocmask(SIG_BLOCK, &held, before);
}

static bool is_signal_held(void)
{
    sigset_t held;
    sigpending(&held);
    return sigismember(&held, SIGINT) == 1 || sigismember(&held, SIGTERM) == 1 ||
           sigismember(&held, SIGHUP) == 1;
}

static bool write_all(int fd, const char *data, size_t length)
{
    while (length > 0) {
        if (is_signal_held()) {
            errno = EINTR;
            return false;
        }
        ssize_t wrote = write(fd, data, length < WRITE_PART ? length : WRITE_PART);
        if (wrote < 0 && errno != EINTR)
            return false;
        data += wrote > 0 ? wrote : 0;
        length -= wrote > 0 ? (size_t)wrote : 0;
    }
    return true;
}

/* What is no file, such as /dev/null or a pipe, is written where it is. */
static enum fabric_error write_in_place(const char *path, const void *data, size_t length)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool ok = fd >= 0 && write_all(fd, data, length);
    enum fabric_error error = ok ? FABRIC_OK : os_io_error(errno);
    if (fd >= 0 && close(fd) != 0 && !error)
        error = os_io_error(errno);
    return error;
}

/* A whole file beside the one that is wanted, which then takes its name. */
static enum fabric_error write_beside(const char *path, char *name, const void *data, size_t length)
{
    mode_t mask = umask(077);
    umask(mask);
    int fd = mkstemp(name);
    bool ok = fd >= 0 && write_all(fd, data, length) && fchmod(fd, 0666 & ~mask) == 0;
    enum fabric_error error = ok ? FABRIC_OK : os_io_error(errno);
    if (fd >= 0 && close(fd) != 0 && !error)
        error = os_io_error(errno);
    if (!error && rename(name, path) != 0)
        error = os_io_error(errno);
    if (fd >= 0 && error)
        unlink(name);
    return error;
}

static enum fabric_error write_file(void *context, const char *path, const void *data,
                                    size_t length)
{
    struct stat st;
    sigset_t before;
    (void)context;
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return write_in_place(path, data, length);
    size_t size = strlen(path) + sizeof ".XXXXXX";
    char *name = malloc(size);
    if (!name)
        return ERR_RESOURCES_EXHAUSTED;
    snprintf(name, size, "%s.XXXXXX", path);
    hold_signals(&before);
    enum fabric_error error = write_beside(path, name, data, length);
    free(name);
    sigprocmask(SIG_SETMASK, &before, NULL); /* a signal that waited ends us here */
    return error;
}

/* ------------------------------------------------------------------ running a node */

struct surroundings {
    struct fabric *running; /* whose log level a reload changes */
};

static void log_level(void *context, enum fabric_log_level level)
{
    const struct surroundings *here = context;
    if (here->running)
        os_fabric_set_log_level(here->running, level);
}

struct told {
    const struct cli_node *node;
};

static bool is_done(void *context)
{
    const struct told *t = context;
    return t->node->done(t->node->context);
}

static const char *take_signal(void *context, enum os_run_signal number)
{
    static const enum cli_signal signals[] = {[OS_RUN_INTERRUPT] = CLI_SIGNAL_INTERRUPT,
                                              [OS_RUN_TERMINATE] = CLI_SIGNAL_TERMINATE,
                                              [OS_RUN_HANGUP] = CLI_SIGNAL_HANGUP};
    const struct told *t = context;
    return t->node->signal(t->node->context, (int)signals[number]);
}

static enum fabric_error fabric_for(const struct cli_node *node, struct fabric **out)
{
    const struct os_fabric_options options = {
        .part = lib_part(),
        .part_context = lib_part_context(node->busy_poll),
        .sysfs = getenv("SYSFS_PATH"),
        .log_fd = STDERR_FILENO,
        .log_form = (enum os_log_form)node->log_format,
        .log_level = node->log_level,
    };
    return os_fabric_create(&options, out);
}

static enum fabric_error error_of(enum os_run_end end)
{
    return end == OS_RUN_DONE ? FABRIC_OK : end == OS_RUN_SIGNAL ? ERR_CANCELLED : ERR_INTERNAL;
}

static enum fabric_error run(void *context, const struct cli_node *node)
{
    struct told told = {.node = node};
    const struct os_run_init init = {
        .program = node->program,
        .config = node->config,
        .config_length = node->config_length,
        .sink = node->sink,
        .done = is_done,
        .signal = node->signal ? take_signal : NULL,
        .context = &told,
    };
    struct os_run *driver;
    struct fabric *f;
    struct surroundings *here = context;
    enum fabric_error error = fabric_for(node, &f);
    if (error)
        return error;
    here->running = f;
    error = os_run_start(f, &init, &driver);
    if (!error) {
        error = error_of(os_run_until(driver, FABRIC_FOREVER));
        os_run_stop(driver);
    }
    here->running = NULL;
    fabric_destroy(f);
    return error;
}

/* ------------------------------------------------------------------ running several */

struct crew;

struct member {
    struct crew *crew;
    const struct cli_node *node;
    struct fabric *fabric; /* these two while others may tell it something; under the lock */
    struct os_run *driver;
    pthread_t thread;
    bool started;
    enum fabric_error error;
};

/*
 * Threading: each member has a thread, the first one the caller's, and a fabric of its own. The
 * first hears the signals and stays until the others have ended. `lock` guards what they share.
 */
struct crew {
    pthread_mutex_t lock;
    struct member members[CLI_MAX_NODES];
    size_t count, ended;
    char told[64]; /* what a signal was turned into; empty: none came */
};

static void tell_crew(struct crew *crew, size_t from, const char *json)
{
    pthread_mutex_lock(&crew->lock);
    snprintf(crew->told, sizeof crew->told, "%s", json);
    for (size_t i = from; i < crew->count; i++) {
        if (crew->members[i].driver)
            (void)os_run_tell(crew->members[i].driver, json);
    }
    pthread_mutex_unlock(&crew->lock);
}

static bool is_member_done(void *context)
{
    const struct member *m = context;
    struct crew *crew = m->crew;
    if (!m->node->done(m->node->context))
        return false;
    if (m != &crew->members[0])
        return true;
    pthread_mutex_lock(&crew->lock);
    const bool last = crew->ended == crew->count - 1;
    pthread_mutex_unlock(&crew->lock);
    return last;
}

static const char *signal_crew(void *context, enum os_run_signal number)
{
    const struct member *m = context;
    (void)number;
    const char *json = m->node->signal(m->node->context, (int)CLI_SIGNAL_INTERRUPT);
    if (json)
        tell_crew(m->crew, 1, json);
    return json;
}

static void set_driver(struct member *m, struct fabric *f, struct os_run *driver)
{
    struct crew *crew = m->crew;
    pthread_mutex_lock(&crew->lock);
    m->fabric = f;
    m->driver = driver;
    if (driver && crew->told[0])
        (void)os_run_tell(driver, crew->told);
    pthread_mutex_unlock(&crew->lock);
}

static void *run_member(void *context)
{
    struct member *m = context;
    struct crew *crew = m->crew;
    const bool first = m == &crew->members[0];
    const struct os_run_init init = {
        .program = m->node->program,
        .config = m->node->config,
        .config_length = m->node->config_length,
        .sink = m->node->sink,
        .done = is_member_done,
        .signal = first ? signal_crew : NULL,
        .context = m,
    };
    struct os_run *driver;
    struct fabric *f = NULL;
    m->error = fabric_for(m->node, &f);
    if (!m->error)
        m->error = os_run_start(f, &init, &driver);
    if (!m->error) {
        set_driver(m, f, driver);
        m->error = error_of(os_run_until(driver, FABRIC_FOREVER));
        set_driver(m, NULL, NULL);
        os_run_stop(driver);
    }
    if (f)
        fabric_destroy(f);
    pthread_mutex_lock(&crew->lock);
    crew->ended += !first;
    if (!first && crew->members[0].fabric)
        fabric_wake(crew->members[0].fabric); /* it may wait for this */
    pthread_mutex_unlock(&crew->lock);
    return NULL;
}

/* Signals are for the first. */
static void start_thread(struct member *m)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    m->started = pthread_create(&m->thread, NULL, run_member, m) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (m->started)
        return;
    m->error = ERR_RESOURCES_EXHAUSTED;
    pthread_mutex_lock(&m->crew->lock);
    m->crew->ended++;
    pthread_mutex_unlock(&m->crew->lock);
}

static enum fabric_error run_several(void *context, const struct cli_node *nodes, size_t count)
{
    struct crew *crew = calloc(1, sizeof *crew);
    enum fabric_error error = FABRIC_OK;
    (void)context;
    if (!crew)
        return ERR_RESOURCES_EXHAUSTED;
    pthread_mutex_init(&crew->lock, NULL);
    crew->count = count;
    for (size_t i = 0; i < count; i++) {
        crew->members[i] = (struct member){.crew = crew, .node = &nodes[i]};
        if (i > 0)
            start_thread(&crew->members[i]);
    }
    run_member(&crew->members[0]);
    for (size_t i = 0; i < count; i++) {
        if (crew->members[i].started)
            pthread_join(crew->members[i].thread, NULL);
        error = error ? error : crew->members[i].error;
    }
    pthread_mutex_destroy(&crew->lock);
    free(crew);
    return error;
}

static void notify(void *context, const char *state)
{
    (void)context;
    (void)os_notify(getenv("NOTIFY_SOCKET"), state); /* a server at a desk has no manager */
}

static bool has_sys(const char *root)
{
    struct stat st;
    size_t size = strlen(root) + sizeof "/sys";
    char *name = malloc(size);
    if (name)
        snprintf(name, size, "%s/sys", root);
    bool there = name && stat(name, &st) == 0 && S_ISDIR(st.st_mode);
    free(name);
    return there;
}

static enum fabric_error look(void *context, const char *sysfs_root, struct fabric **out)
{
    const struct os_fabric_options options = {
        .part = sysfs_root ? NULL : lib_part(),
        .log_fd = -1,
        .sysroot = sysfs_root,
        .sysfs = getenv("SYSFS_PATH"),
    };
    (void)context;
    return sysfs_root && !has_sys(sysfs_root) ? ERR_NOT_FOUND : os_fabric_create(&options, out);
}

static unsigned terminal_columns(void)
{
    struct winsize size;
    const char *columns = getenv("COLUMNS");
    if (columns && *columns) {
        unsigned long number = strtoul(columns, NULL, 10);
        return number < 10000 ? (unsigned)number : 0;
    }
    if (!isatty(STDOUT_FILENO))
        return 0;
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 80;
}

int main(int argc, char **argv)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    bool terminal = isatty(STDOUT_FILENO) && term && strcmp(term, "dumb") != 0;
    struct surroundings here = {.running = NULL};
    const struct cli_host host = {
        .context = &here,
        .out = stdout,
        .err = stderr,
        .terminal = terminal,
        .progress = isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0,
        .color = terminal && !(no_color && *no_color),
        .columns = terminal_columns(),
        .environment = environment,
        .read_file = read_file,
        .write_file = write_file,
        .run = run,
        .run_several = run_several,
        .log_level = log_level,
        .look = look,
        .notify = notify,
    };
    signal(SIGPIPE, SIG_IGN); /* a closed pipe is an error of the write */
    return (int)cli_main(&host, argc, (const char *const *)argv);
}
