/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* accept4, epoll_pwait2 */
#include "fabric_sim/simfabric/daemon.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "fabric_sim/simfabric/tree.h"
#include "src/fabric/planted.h"

#define SECOND UINT64_C(1000000000)
#define RETRY UINT64_C(1000000)           /* ns until a full event pipe is tried again */
#define LOOK UINT64_C(1000000)            /* ns that a tree is behind its ports, at most */
#define COUNTERS_LOOK UINT64_C(250000000) /* ns that its counters are behind, about */
#define READY 64                          /* descriptors of one turn */

uint64_t daemon_now(const struct daemon *daemon)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec - daemon->start;
}

/* ------------------------------------------------------------------ trees */

/* `counts`: also what the counters say, which change with every packet. */
static bool render(struct daemon *daemon, size_t index, bool counts)
{
    assert(index < sim_host_count(sim_testbed_world(daemon->service->tb)));
    const struct sim_host *host = sim_host_at(sim_testbed_world(daemon->service->tb), index);
    char folder[FABRIC_PATH_MAX];
    struct sysfs_view view;
    struct sysfs_device *devices = sim_host_sysfs(host, &view);
    uint64_t state = tree_state(&view);
    uint64_t counters = counts ? tree_counters(&view) : daemon->counted[index];
    bool done = true;
    if (counts)
        daemon->settled = counters == daemon->counted[index] ? daemon->settled + 1 : 0;
    if (state != daemon->shown[index] || counters != daemon->counted[index])
        done = instance_tree(daemon->instance, view.node, folder, sizeof(folder)) &&
               tree_render(&view, folder);
    daemon->shown[index] = state;
    daemon->counted[index] = counters;
    free(devices);
    return done;
}

static bool render_all(struct daemon *daemon)
{
    size_t count = sim_host_count(sim_testbed_world(daemon->service->tb));
    bool done = true;
    for (size_t i = 0; i < count; i++)
        done = render(daemon, i, false) && done;
    return done;
}

/* A program that hears of a change reads it in its tree at once, as from a kernel, whose tables are
 * new before it tells of them. */
static void announce(struct daemon *daemon)
{
    struct service *service = daemon->service;
    size_t count = service->news_count ? sim_host_count(sim_testbed_world(service->tb)) : 0;
    for (size_t i = 0; i < count; i++) {
        const struct sim_host *host = sim_host_at(sim_testbed_world(service->tb), i);
        for (size_t j = 0; j < service->news_count; j++) {
            if (strcmp(sim_device_host(service->news[j].device), sim_host_name(host)) != 0)
                continue;
            (void)(PLANTED(simfabric_tells_before_it_shows) || render(daemon, i, false));
            break;
        }
    }
    service_announce(service);
}

/* ns between two looks at counters: one host after the other, so that no turn takes long. */
static uint64_t counters_pause(const struct daemon *daemon)
{
    size_t count = sim_host_count(sim_testbed_world(daemon->service->tb));
    return daemon->settled < count ? COUNTERS_LOOK / count : UINT64_MAX;
}

static void render_counters(struct daemon *daemon, uint64_t now)
{
    size_t count = sim_host_count(sim_testbed_world(daemon->service->tb));
    assert(count > 0);
    if (now - daemon->counters_looked < COUNTERS_LOOK / count || PLANTED(simfabric_counters_stay))
        return;
    daemon->counters_looked = now;
    daemon->next_counted = (daemon->next_counted + 1) % count;
    (void)render(daemon, daemon->next_counted, true);
}

static bool make_folders(struct daemon *daemon)
{
    char path[FABRIC_PATH_MAX];
    size_t count = sim_host_count(sim_testbed_world(daemon->service->tb));
    snprintf(path, sizeof(path), "%s/nodes", daemon->instance->folder);
    bool done = mkdir(path, 0755) == 0 || errno == EEXIST;
    for (size_t i = 0; done && i < count; i++) {
        const struct sim_host *host = sim_host_at(sim_testbed_world(daemon->service->tb), i);
        done = instance_tree(daemon->instance, sim_host_name(host), path, sizeof(path));
        if (!done)
            break;
        *strrchr(path, '/') = '\0'; /* the node's own folder */
        done = mkdir(path, 0755) == 0 || errno == EEXIST;
    }
    return done;
}

void daemon_count_ports(const struct daemon *daemon, unsigned *cabled, unsigned *active)
{
    assert(daemon && cabled && active);
    const struct service *service = daemon->service;
    *cabled = *active = 0;
    for (uint32_t i = 0; i < service->place_count; i++) {
        struct net_node *node = sim_device_node(service->places[i].device);
        for (uint8_t port = 1; port <= net_node_ports(node); port++) {
            struct net_port *of = net_node_port(node, port);
            *cabled += net_port_peer(of) != NULL;
            *active += net_port_peer(of) && net_port_info(of)->state == FABRIC_PORT_ACTIVE;
        }
    }
}

/* ------------------------------------------------------------------ clients */

static bool watch(const struct daemon *daemon, int fd, void *what)
{
    assert(fd >= 0 && what);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = what};
    return epoll_ctl(daemon->epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

static void let_go(struct daemon *daemon, struct service_client *client)
{
    int socket = client->socket;
    service_leave(daemon->service, client);
    close(socket); /* and with it its place in the epoll set */
    if (daemon->crowded)
        daemon->crowded = !watch(daemon, daemon->listener, &daemon->listener);
}

static void let_in(struct daemon *daemon)
{
    int socket = accept4(daemon->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (socket < 0) {
        /* Without descriptors the listener would be ready for ever. */
        if (errno == EMFILE || errno == ENFILE)
            daemon->crowded = epoll_ctl(daemon->epoll, EPOLL_CTL_DEL, daemon->listener, NULL) == 0;
        return;
    }
    struct service_client *client = service_join(daemon->service, socket);
    if (!watch(daemon, socket, client))
        let_go(daemon, client);
}

/* False: the client is gone, or does not take the answer that it asked for. */
static bool answer(int socket, const struct service_answer *out)
{
    assert(out->fd_count <= PROTOCOL_FDS);
    struct iovec part = {.iov_base = (void *)(uintptr_t)&out->reply, .iov_len = sizeof(out->reply)};
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int) * PROTOCOL_FDS)];
    } control = {.bytes = {0}};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (out->fd_count) {
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE(sizeof(int) * out->fd_count);
        struct cmsghdr *head = CMSG_FIRSTHDR(&message);
        *head = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int) * out->fd_count),
                                 .cmsg_level = SOL_SOCKET,
                                 .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(head), out->fds, sizeof(int) * out->fd_count);
    }
    ssize_t sent;
    do
        sent = sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (sent < 0 && errno == EINTR);
    return sent == (ssize_t)sizeof(out->reply);
}

static void serve(struct daemon *daemon, struct service_client *client)
{
    struct service_answer out;
    uint8_t bytes[sizeof(struct protocol_request) + 1]; /* one that is too long is seen as such */
    ssize_t length = recv(client->socket, bytes, sizeof(bytes), MSG_DONTWAIT);
    if (length < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (length <= 0) {
        let_go(daemon, client);
        return;
    }
    /* What programs posted before is done first, as far as it is due. */
    for (int i = 0; i < 2; i++)
        (void)service_run(daemon->service, daemon_now(daemon));
    service_request(daemon->service, client, bytes, (size_t)length, &out);
    bool answered = answer(client->socket, &out);
    for (size_t i = 0; i < out.fd_count; i++) {
        if (!out.lent[i])
            close(out.fds[i]);
    }
    if (!answered)
        let_go(daemon, client);
}

/* ------------------------------------------------------------------ the loop */

static int listen_at(const char *path)
{
    assert(path);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    assert(strlen(path) < sizeof(address.sun_path));
    strcpy(address.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) == 0 && listen(fd, 128) == 0)
        return fd;
    close(fd);
    return -1;
}

static int catch_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    signal(SIGPIPE, SIG_IGN); /* a reader of events that went is seen by the write */
    if (sigprocmask(SIG_BLOCK, &set, NULL) != 0)
        return -1;
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

bool daemon_begin(struct daemon *daemon, struct service *service, const struct instance *instance,
                  char *detail)
{
    assert(daemon && service && instance && detail);
    *daemon = (struct daemon){
        .service = service, .instance = instance, .epoll = -1, .listener = -1, .signals = -1};
    size_t hosts = sim_host_count(sim_testbed_world(service->tb));
    daemon->shown = calloc(hosts + 1, sizeof(*daemon->shown));
    daemon->counted = calloc(hosts + 1, sizeof(*daemon->counted));
    assert(daemon->shown && daemon->counted);
    const char *what = "the trees of the nodes";
    bool done = make_folders(daemon) && render_all(daemon);
    if (done) {
        what = "the socket, descriptors and signals";
        daemon->epoll = epoll_create1(EPOLL_CLOEXEC);
        daemon->signals = catch_signals();
        daemon->listener = listen_at(instance->socket);
        done = daemon->epoll >= 0 && daemon->signals >= 0 && daemon->listener >= 0 &&
               watch(daemon, daemon->listener, &daemon->listener) &&
               watch(daemon, daemon->signals, &daemon->signals) &&
               watch(daemon, service->doorbell, &daemon->service);
    }
    if (!done) {
        snprintf(detail, TESTBED_DETAIL, "%s in %.120s: %s", what, instance->folder,
                 strerror(errno));
        daemon_end(daemon);
        return false;
    }
    daemon->start = daemon_now(daemon);
    return true;
}

void daemon_end(struct daemon *daemon)
{
    assert(daemon && daemon->service);
    for (uint32_t i = 0; i < daemon->service->client_capacity; i++) {
        if (daemon->service->clients[i])
            let_go(daemon, daemon->service->clients[i]);
    }
    if (daemon->listener >= 0)
        close(daemon->listener);
    if (daemon->signals >= 0)
        close(daemon->signals);
    if (daemon->epoll >= 0)
        close(daemon->epoll);
    free(daemon->shown);
    free(daemon->counted);
    daemon->shown = daemon->counted = NULL;
}

bool daemon_watch_input(struct daemon *daemon)
{
    assert(daemon && daemon->epoll >= 0);
    return watch(daemon, STDIN_FILENO, &daemon->stop);
}

/* Whoever started us has nothing to say but that it is gone. */
static void look_at_input(struct daemon *daemon)
{
    char ignored[256];
    ssize_t length = read(STDIN_FILENO, ignored, sizeof(ignored));
    if (PLANTED(simfabric_outlives_its_starter))
        return;
    daemon->stop = length == 0 || (length < 0 && errno != EINTR && errno != EAGAIN);
}

static void handle(struct daemon *daemon, void *what)
{
    uint64_t rung;
    if (what == &daemon->listener)
        let_in(daemon);
    else if (what == &daemon->signals)
        daemon->stop = true;
    else if (what == &daemon->stop)
        look_at_input(daemon);
    else if (what == &daemon->service)
        (void)!read(daemon->service->doorbell, &rung, sizeof(rung)); /* only that it rang matters */
    else
        serve(daemon, what);
}

/* How long to wait: until the world goes on, and never long while events wait for a full pipe. */
static uint64_t pause_of(struct daemon *daemon, bool more)
{
    if (more)
        return 0;
    uint64_t next = service_next(daemon->service, true);
    uint64_t now = daemon_now(daemon);
    uint64_t pause = next == UINT64_MAX ? 3600 * SECOND : next > now ? next - now : 0;
    uint64_t counters = counters_pause(daemon);
    pause = pause < counters ? pause : counters;
    return daemon->service->stuck && pause > RETRY ? RETRY : pause;
}

/* The trees of a large fabric that comes up take at most half of the time: programs and packets
 * wait meanwhile. */
static void look(struct daemon *daemon, uint64_t now)
{
    assert(daemon->shown && daemon->counted);
    (void)render_all(daemon); /* what could not be written is tried when it changes again */
    render_counters(daemon, now);
    uint64_t end = daemon_now(daemon), took = end - now;
    daemon->look_at = end + (took > LOOK ? took : LOOK);
}

void daemon_run(struct daemon *daemon, bool (*until)(void *context), void *context)
{
    assert(daemon && daemon->listener >= 0);
    struct epoll_event ready[READY];
    while (!daemon->stop && !(until && until(context))) {
        uint64_t now = daemon_now(daemon);
        bool more = service_run(daemon->service, now);
        announce(daemon);
        uint64_t pause = pause_of(daemon, more);
        if (pause > LOOK || now >= daemon->look_at)
            look(daemon, now);
        const struct timespec wait = {.tv_sec = (time_t)(pause / SECOND),
                                      .tv_nsec = (long)(pause % SECOND)};
        int count = epoll_pwait2(daemon->epoll, ready, READY, &wait, NULL);
        if (count > 0)
            daemon->settled = 0;
        for (int i = 0; i < count; i++)
            handle(daemon, ready[i].data.ptr);
    }
}
