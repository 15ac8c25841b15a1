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
