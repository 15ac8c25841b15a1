/* SPDX-License-Identifier: Apache-2.0 */
#include "src/rail/said.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "src/fabric/planted.h"
#include "src/rail/rail.h"

bool rail_said_is_due(struct rail_said *said, enum fabric_error error, const char *detail,
                      uint64_t now, char *more)
{
    char beginning[sizeof said->detail];
    assert(said && error && detail && more && now >= said->at);
    snprintf(beginning, sizeof beginning, "%s", detail);
    bool same = said->error == error && strcmp(said->detail, beginning) == 0;
    uint64_t again = rail_is_configuration(error) ? RAIL_SAID_STANDING : RAIL_SAID_AGAIN;
    *more = 0;
    if (same && now - said->at < again && !PLANTED(rail_said_every_time)) {
        said->left_out++;
        return false;
    }
    if (same && said->left_out)
        snprintf(more, RAIL_SAID_MORE, " (%" PRIu64 " times more)", said->left_out);
    *said = (struct rail_said){.error = error, .at = now};
    memcpy(said->detail, beginning, sizeof beginning);
    return true;
}

bool rail_said_mtu(struct rail_said *said, const struct fabric_port_address *own,
                   const struct fabric_port_address *peer, const struct fabric_path *path,
                   uint64_t now, char *note)
{
    char detail[64], more[RAIL_SAID_MORE];
    assert(said && own && peer && path && note);
    if (!(path->notes & FABRIC_AV_NOTE_MTU_DIFFERS))
        return false;
    snprintf(detail, sizeof detail, "%u here, %u there; %u is used", fabric_mtu_bytes(own->mtu),
             fabric_mtu_bytes(peer->mtu), fabric_mtu_bytes(path->path_mtu));
    bool due = rail_said_is_due(said, ERR_MTU_MISMATCH, detail, now, more) ||
               PLANTED(rail_mtu_said_every_time);
    if (due)
        snprintf(note, RAIL_MTU_NOTE, "MTU differs: %s%s", detail, more);
    return due;
}
