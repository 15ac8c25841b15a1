/* SPDX-License-Identifier: Apache-2.0 */
/* A fault that comes again and again is said when its reason changes, and otherwise once a minute;
 * one of configuration, that nothing but an operator ends, once an hour. */
#ifndef SRC_RAIL_SAID_H
#define SRC_RAIL_SAID_H

#include <stdint.h>

#include "src/fabric/av.h"

#define RAIL_SAID_MORE 40                            /* bytes of text */
#define RAIL_SAID_AGAIN (60ull * 1000000000ull)      /* ns */
#define RAIL_SAID_STANDING (60ull * RAIL_SAID_AGAIN) /* ns: faults of configuration */

struct rail_said {
    enum fabric_error error; /* FABRIC_OK: nothing yet */
    char detail[128];        /* its beginning */
    uint64_t at;             /* ns */
    uint64_t left_out;       /* since then */
};

/* Whether it is to be said at time `now`; then the text for the end of the line is in `more`
 * (RAIL_SAID_MORE bytes): empty, or how often it was left out. */
bool rail_said_is_due(struct rail_said *said, enum fabric_error error, const char *detail,
                      uint64_t now, char *more);

#define RAIL_MTU_NOTE 128 /* bytes of text */

/* The same for peers whose MTUs differ (MK-F3): whether `note` (RAIL_MTU_NOTE bytes) is to be said
 * now, which names both and the one that is used. */
bool rail_said_mtu(struct rail_said *said, const struct fabric_port_address *own,
                   const struct fabric_port_address *peer, const struct fabric_path *path,
                   uint64_t now, char *note);

#endif
