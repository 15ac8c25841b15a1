/* SPDX-License-Identifier: Apache-2.0 */
/* A manager that only asks and listens: at h0 of a leaf with four hosts, h2 at its port 3. */
#ifndef TESTS_SUPPORT_SMA_ASKER_H
#define TESTS_SUPPORT_SMA_ASKER_H

#include "tests/support/subnet.h"

struct asker {
    struct subnet s;
    struct mad last; /* received */
    unsigned received;
    uint16_t slid;
};

/* The routes to the switch (1 hop) and to h2 (2 hops). */
extern const uint8_t to_switch[1], to_host[2];

/* Ended by subnet_close(&a->s). */
void open_asker(struct asker *a);

/* Sends along the route and waits; returns the status, 0xFFFF when nobody answers. Of the routes 0
 * hops end at h0, 1 at the switch, 2 at h2. `data` may be null. */
uint16_t ask(struct asker *a, uint8_t hops, uint8_t method, uint16_t attribute, uint32_t modifier,
             const uint8_t *data);

#endif
