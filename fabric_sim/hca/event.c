/* SPDX-License-Identifier: Apache-2.0 */
#include "fabric_sim/hca/engine.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "src/fabric/planted.h"

static const char *event_name(const struct hca_event *event)
{
    return event->kind == HCA_EVENT_ASYNC ? fabric_async_name(event->type) : "MW_REVOKED";
}

void event_push(struct hca *hca, const struct hca_event *event)
{
    /* Chapter 11.6.3.3: after a local catastrophic error nothing more is reported. The end of a
     * window is no report of the device but the answer to a request. */
    if (hca->state.device->removed && event->kind == HCA_EVENT_ASYNC &&
        !PLANTED(hca_events_after_fatal))
        return;
    if (!state_event_put(&hca->state, event, sim_now(hca->sim)))
        abort(); /* a lost event would be a lie */
    SIM_TRACE(hca->sim, hca->label, "event %s port=%u", event_name(event),
              (unsigned)event->port_num);
    if (hca->notify.event)
        hca->notify.event(hca->notify.context, hca);
}

void event_qp(struct qp_context *ctx, enum fabric_async_type type)
{
    struct hca_event event = {.kind = HCA_EVENT_ASYNC,
                              .type = type,
                              .qp = {ctx->qp->slot.id},
                              .context = ctx->qp->context};
    event_push(ctx->hca, &event);
}

void event_port(struct hca *hca, uint8_t port_num, enum fabric_async_type type)
{
    assert(port_num >= 1 && port_num <= hca->state.device->port_count);
    struct hca_event event = {.kind = HCA_EVENT_ASYNC, .type = type, .port_num = port_num};
    event_push(hca, &event);
}

void event_trap(struct hca_port *port, uint16_t number, const struct packet *packet, uint32_t key)
{
    struct hca *hca = port->hca;
    SIM_TRACE(hca->sim, hca->label, "trap %u key=0x%x slid=%u dqpn=0x%06x", (unsigned)number,
              (unsigned)key, (unsigned)packet->slid, (unsigned)packet->dest_qp);
    if (!hca->trap_handler || PLANTED(hca_no_trap))
        return;
    struct hca_trap trap = {.number = number,
                            .port_num = port->info->port_num,
                            .sl = packet->sl,
                            .lid1 = packet->slid,
                            .lid2 = packet->dlid,
                            .key = key,
                            .qp1 = packet->src_qp,
                            .qp2 = packet->dest_qp};
    hca->trap_handler(hca->trap_context, hca, &trap);
}

bool hca_event_poll(struct hca *hca, struct hca_event *out)
{
    assert(hca && out);
    return state_event_take(&hca->state, out);
}

void hca_set_notify(struct hca *hca, const struct hca_notify *notify)
{
    assert(hca);
    if (notify)
        hca->notify = *notify;
    else
        memset(&hca->notify, 0, sizeof(hca->notify));
}

void hca_set_trap_handler(struct hca *hca, hca_trap_handler handler, void *context)
{
    assert(hca);
    hca->trap_handler = handler;
    hca->trap_context = context;
}

/* The host's table follows the port's, except that a prefix changed under a live link leaves entry
 * 0 as it was where the device has it so (GID_CACHE_STALE). */
static void refresh_gid0(struct hca_port *port, const struct port_info *before)
{
    bool stale = hca_has(port->hca, FABRIC_CAP_GID_CACHE_STALE);
    bool prefix_only = before->gid_prefix != port->info->gid_prefix &&
                       before->state == FABRIC_PORT_ACTIVE &&
                       port->info->state == FABRIC_PORT_ACTIVE;
    if (!(stale && prefix_only) || PLANTED(hca_gid_never_stale))
        port->state->gid0 = port->info->gids[0].gid;
}

void port_changed(void *context, struct net_port *net_port, const struct port_info *before)
{
    struct hca *hca = context;
    uint8_t port_num = net_port_num(net_port);
    struct hca_port *port = port_of(hca, port_num);
    refresh_gid0(port, before);
    struct rules_event_profile profile = {hca->profile->port_err_on_init,
                                          hca_has(hca, FABRIC_CAP_SM_CHANGE_EVENT)};
    enum fabric_async_type types[RULES_MAX_EVENTS];
    size_t count = rules_port_events(&profile, before, port->info, 0, types);
    if (count > 1) /* a draw only where it can matter */
        count = rules_port_events(&profile, before, port->info, sim_random(hca->sim), types);
    port->info->client_reregister = 0;
    if (port->state->link_layer != port->info->link_layer)
        port_size_tables(port);
    for (size_t i = 0; i < count; i++)
        event_port(hca, PLANTED(hca_event_wrong_port) ? 1 : port_num, types[i]);
}
