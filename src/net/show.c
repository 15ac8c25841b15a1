/* SPDX-License-Identifier: Apache-2.0 */
#include "src/net/show.h"

#include <assert.h>
#include <stdio.h>

#include "src/fabric/planted.h"

#define WATCH_COOKIE 1

const char *net_state_text(enum fabric_port_state state)
{
    static const char *const names[] = {"NoState", "Down", "Initializing", "Armed", "Active"};
    assert(state <= FABRIC_PORT_ACTIVE);
    return names[state];
}

const char *net_link_layer_text(enum fabric_link_layer link_layer)
{
    static const char *const names[] = {"Unspecified", "InfiniBand", "Ethernet"};
    assert(link_layer <= FABRIC_LINK_LAYER_ETHERNET);
    return names[link_layer];
}

const char *net_gid_verdict_text(enum net_gid_verdict verdict)
{
    static const char *const names[] = {"chosen", "usable", "unusable"};
    assert(verdict <= NET_GID_UNUSABLE);
    return names[verdict];
}

static void say_error(const struct net_model *model, const struct net_output *talk)
{
    net_say_error(talk, model->error, model->detail, model->fix);
    for (uint32_t i = 0; i < model->place_count; i++)
        net_print(talk, "  looked for %s: %s\n", model->places[i].what, model->places[i].found);
}

/* Waits `ns`, or until it is woken. */
static enum fabric_error wait(struct fabric *f, uint64_t ns, bool *woken)
{
    uint64_t now, deadline;
    fabric_timer timer;
    struct fabric_event event;
    size_t count;
    *woken = false;
    enum fabric_error error = fabric_now(f, &now);
    deadline = ns < FABRIC_FOREVER - now ? now + ns : FABRIC_FOREVER;
    if (!error)
        error = fabric_timer_set(f, deadline, WATCH_COOKIE, &timer);
    while (!error && !*woken) {
        error = fabric_poll(f, &event, 1, FABRIC_FOREVER, &count);
        if (error || count == 0)
            continue;
        if (event.type == FABRIC_EVENT_TIMER && event.u.timer.cookie == WATCH_COOKIE)
            return FABRIC_OK;
        *woken = event.type == FABRIC_EVENT_WOKEN;
    }
    return error;
}

/* Files that could not be used are no error of the whole: the rest is shown. */
static enum fabric_error ending(const struct net_model *model)
{
    if (model->error)
        return model->error;
    return model->fault_count && !PLANTED(net_faults_unnoticed) ? ERR_SYSFILE_INVALID : FABRIC_OK;
}

static enum fabric_error watch(struct net_model *model, uint64_t ns)
{
    bool woken;
    struct fabric_guarantees guarantees;
    enum fabric_error error = fabric_guarantees(model->fabric, &guarantees);
    if (!error && (guarantees.caps & FABRIC_CAP_VIRTUAL_TIME)) {
        model->error = ERR_NOT_SUPPORTED;
        snprintf(model->detail, sizeof(model->detail),
                 "virtual time does not pass while a command waits");
        return FABRIC_OK;
    }
    if (!error)
        error = wait(model->fabric, ns, &woken);
    if (error)
        return ERR_INTERNAL;
    if (woken)
        return ERR_CANCELLED;
    net_model_watch(model);
    return FABRIC_OK;
}

enum cli_exit net_show_run(struct fabric *f, const struct net_show_options *options,
                           const struct net_output *out, const struct net_output *talk)
{
    struct net_model model;
    enum fabric_error error = FABRIC_OK;
    assert(f && options && out && talk);
    net_model_read(f, options->config, options->device, options->port, &model);
    if (options->watch && !model.error)
        error = watch(&model, options->watch);
    if (options->json)
        net_print_json(out, net_show_json(&model), options->pretty);
    else if (!model.error)
        net_show_text(&model, out);
    else
        say_error(&model, talk);
    if (!error)
        error = ending(&model);
    net_model_free(&model);
    return cli_exit_of(error);
}
