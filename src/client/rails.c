/* SPDX-License-Identifier: Apache-2.0 */
/* What a change of one of our ports means for the links over it. */
#include <assert.h>
#include <stdio.h>

#include "src/client/client.h"
#include "src/fabric/planted.h"

void client_rail_report(struct client *c, uint32_t rail)
{
    assert(c && rail < c->rail_count);
    const struct rail *r = &c->rails[rail];
    client_report(c, json_pack("{s:s, s:s, s:i, s:s, s:s}", "event", "rail", "device", r->name,
                               "port", (int)r->port_num, "state", rail_state_name(r->state),
                               "reason", error_name(r->reason)));
}

/* Whether it can stay when our rail changed. LENDING has said nothing yet; what REQUESTED said is
 * no longer true, and both ends must choose from the same lists. */
static bool stands(const struct rail *r, struct client_link *l)
{
    if (l->state == CLIENT_LINK_LENDING)
        return r->only_gids;
    return l->state > CLIENT_LINK_REQUESTED && rail_path_stands(r, &l->path);
}

/* Only the node whose port changed notices; the server learns it from the new request, or from
 * LINK_DOWN when there is nothing to request with (MK-C4). */
void client_rail_changed(struct client *c, uint32_t rail)
{
    assert(c && rail < c->rail_count);
    struct rail *r = &c->rails[rail];
    client_rail_report(c, rail);
    for (uint32_t i = 0; i < c->peer_count; i++) {
        struct client_peer *p = c->peers[i];
        struct client_link *l = &p->links[rail];
        enum fabric_error reason =
            r->state == RAIL_READY ? ERR_STALE_GENERATION : rail_transfer_error(r);
        bool was_down = l->state == CLIENT_LINK_DOWN;
        if (stands(r, l))
            continue;
        client_link_end(c, p, rail, reason, r->detail, false);
        l->backoff = 0;
        if (r->state == RAIL_READY) {
            client_link_begin(c, p, rail);
        } else if (!was_down && !PLANTED(client_change_not_told)) {
            struct wire_message m = {.type = WIRE_LINK_DOWN,
                                     .rail = (uint8_t)rail,
                                     .generation = l->generation,
                                     .error = rail_mirror(reason)};
            snprintf(m.detail, sizeof m.detail, "%s", r->detail);
            client_peer_send(c, p, &m);
        }
        client_peer_judge(c, p);
    }
}

void client_rail_look(struct client *c, uint32_t rail, const struct fabric_async *event)
{
    assert(c && rail < c->rail_count);
    struct rail *r = &c->rails[rail];
    /* The look closes a lost device; what was lent through it is revoked while it still exists. */
    for (uint32_t i = 0; r->device_lost && i < c->peer_count; i++)
        client_link_end(c, c->peers[i], rail, ERR_DEVICE_REMOVED, "the device is gone", false);
    bool changed = event ? rail_judge_event(r, event) : rail_judge(r);
    if (changed)
        client_rail_changed(c, rail);
}
