/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HA-2.2, HA-2.3: the subnet manager at work. 4,096 hosts brought up and walked by someone who
 * knows nothing of how the tables were made; then late start, restart, handover and re-LID on a
 * smaller world, with the events that HCAs of two profiles raise.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabric_sim/hca/hca.h"
#include "tests/support/subnet.h"

#define HOSTS 4096
#define SMALL 64
#define EVENTS 256

/* ---------------------------------------------------------------- 4,096 hosts */

static bool show_big(char *verdict, size_t size)
{
    struct subnet s;
    struct subnet_walk walk;
    struct sm_stats stats;
    bool clean;

    subnet_open_tree(&s, HOSTS, 36, NULL);
    subnet_bring_up(&s);
    subnet_walk(s.net, &walk);
    clean = subnet_walk_clean(s.net);
    sm_stats(s.sm[0], &stats);
    snprintf(verdict, size,
             "%d hosts, %zu switches: %zu LIDs, %zu twice, %zu out of range; %zu paths, %zu loops, "
             "%zu unreachable; %zu ports not active",
             HOSTS, stats.switches, walk.lids, walk.duplicates, walk.out_of_range, walk.paths,
             walk.loops, walk.unreachable, walk.not_active);
    subnet_close(&s);
    return clean && stats.nodes == HOSTS + stats.switches;
}

/* ---------------------------------------------------------------- events */

struct world {
    struct subnet s;
    struct hca *hca; /* at h9 */
    char log[EVENTS];
};

static const char *event_name(enum fabric_async_type type)
{
    switch (type) {
    case FABRIC_ASYNC_PORT_ACTIVE:
        return "PORT_ACTIVE";
    case FABRIC_ASYNC_PORT_ERR:
        return "PORT_ERR";
    case FABRIC_ASYNC_LID_CHANGE:
        return "LID_CHANGE";
    case FABRIC_ASYNC_PKEY_CHANGE:
        return "PKEY_CHANGE";
    case FABRIC_ASYNC_SM_CHANGE:
        return "SM_CHANGE";
    case FABRIC_ASYNC_CLIENT_REREGISTER:
        return "CLIENT_REREGISTER";
    case FABRIC_ASYNC_GID_CHANGE:
        return "GID_CHANGE";
    default:
        return "other";
    }
}

/* The events since the last look, in their order. */
static const char *events(struct world *w)
{
    struct hca_event event;

    w->log[0] = '\0';
    while (hca_event_poll(w->hca, &event)) {
        size_t used = strlen(w->log);

        snprintf(w->log + used, EVENTS - used, "%s%s", used ? " " : "", event_name(event.type));
    }
    return w->log;
}

static bool has(const char *log, const char *name)
{
    return strstr(log, name) != NULL;
}

static bool begins(const char *log, const char *name)
{
    return strncmp(log, name, strlen(name)) == 0;
}

static bool ends(const char *log, const char *name)
{
    return strlen(log) >= strlen(name) && strcmp(log + strlen(log) - strlen(name), name) == 0;
}

static size_t words(const char *log)
{
    size_t count = log[0] ? 1 : 0;

    for (const char *at = log; *at; at++)
        count += *at == ' ';
    return count;
}

static bool expect(const char *profile, const char *what, const char *log, bool right)
{
    printf("%-7s %-26s %s%s\n", profile, what, log[0] ? log : "(no event)", right ? "" : "  WRONG");
    return right;
}

/* ---------------------------------------------------------------- the stories */

static void open_world(struct world *w, const char *profile)
{
    memset(w, 0, sizeof *w);
    subnet_open(&w->s);
    fat_tree_build(w->s.net, &(struct fat_tree_config){.hosts = SMALL, .radix = 8});
    w->hca = hca_create(w->s.net, &(struct hca_init){.node = net_find(w->s.net, "h9"),
                                                     .name = "hca",
                                                     .profile = hca_profile_find(profile),
                                                     .caps = FABRIC_CAPS_ALL});
    subnet_manage(&w->s, "h0", &(struct sm_config){.default_limited = true, .priority = 1});
    subnet_add_manager(&w->s, 1, "h5", &(struct sm_config){.default_limited = true, .priority = 3});
}

/* P_Key, LID and re-registration in any order, then ACTIVE; SM_CHANGE by profile. */
static bool come_up(const char *log, bool sm_change)
{
    return has(log, "LID_CHANGE") && has(log, "PKEY_CHANGE") && has(log, "CLIENT_REREGISTER") &&
           ends(log, "PORT_ACTIVE") && has(log, "SM_CHANGE") == sm_change;
}

static bool show_start_and_restart(struct world *w, const char *profile, bool strict)
{
    const char *log;
    bool right = true;

    sim_run_until(w->s.sim, UINT64_C(60000000000));
    log = events(w);
    right &= expect(profile, "no manager for a minute", log,
                    !has(log, "ACTIVE") && subnet_info(&w->s, "h9")->state == FABRIC_PORT_INIT);
    subnet_bring_up(&w->s);
    log = events(w);
    right &=
        expect(profile, "late start", log, come_up(log, strict) && words(log) == (strict ? 5 : 4));
    sm_restart(w->s.sm[0], true);
    right &= subnet_wait_up(&w->s, 0);
    log = events(w);
    right &= expect(profile, "restart", log, strcmp(log, "CLIENT_REREGISTER") == 0);
    return right;
}

static bool show_link(struct world *w, const char *profile, bool strict)
{
    struct net_port *port = subnet_port(&w->s, "h9", 1);
    const char *log;

    net_link_set_up(port, false);
    sm_sweep(w->s.sm[0]);
    if (!subnet_wait_up(&w->s, 0))
        return false;
    events(w);
    net_link_set_up(port, true);
    sm_sweep(w->s.sm[0]);
    if (!subnet_wait_up(&w->s, 0))
        return false;
    log = events(w);
    return expect(profile, "link up", log,
                  begins(log, "PORT_ERR") != strict && has(log, "CLIENT_REREGISTER") &&
                      ends(log, "PORT_ACTIVE"));
}

static bool show_lid_and_handover(struct world *w, const char *profile, bool strict)
{
    uint16_t lid = subnet_info(&w->s, "h9")->lid;
    const char *log;
    bool right = true;

    sm_lid_swap(w->s.sm[0], subnet_guid(&w->s, "h9"), subnet_guid(&w->s, "h33"));
    right &= subnet_wait_up(&w->s, 0) && subnet_walk_clean(w->s.net);
    log = events(w);
    right &= expect(profile, "LIDs swapped", log,
                    strcmp(log, "LID_CHANGE") == 0 && subnet_info(&w->s, "h33")->lid == lid);
    sm_start(w->s.sm[1]);
    right &= subnet_wait_up(&w->s, 1) && sm_state(w->s.sm[0]) == SM_STANDBY;
    right &= subnet_walk_clean(w->s.net);
    log = events(w);
    right &= expect(profile, "handover to a better one", log,
                    has(log, "CLIENT_REREGISTER") && has(log, "SM_CHANGE") == strict &&
                        words(log) == (strict ? 2 : 1));
    sm_prefix_set(w->s.sm[1], UINT64_C(0xFEC0000000000002));
    right &= subnet_wait_up(&w->s, 1);
    log = events(w);
    right &= expect(profile, "another prefix", log, strcmp(log, "CLIENT_REREGISTER") == 0);
    return right;
}

static bool show_profile(const char *profile, bool strict)
{
    struct world w;
    bool right;

    open_world(&w, profile);
    right = show_start_and_restart(&w, profile, strict);
    right &= show_link(&w, profile, strict);
    right &= show_lid_and_handover(&w, profile, strict);
    hca_destroy(w.hca);
    subnet_close(&w.s);
    return right;
}

int main(void)
{
    char verdict[256];
    bool right = show_big(verdict, sizeof verdict);

    right &= show_profile("mlx5", false);
    right &= show_profile("strict", true);
    printf("sm: %s; late start, restart, handover and re-LID %s\n", verdict,
           right ? "right" : "WRONG");
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
