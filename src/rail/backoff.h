/* SPDX-License-Identifier: Apache-2.0 */
/* How long to wait before something that failed is tried again: 100 ms doubling to 30 s, without an
 * end, and a random part so that many who failed together do not come back together. */
#ifndef SRC_RAIL_BACKOFF_H
#define SRC_RAIL_BACKOFF_H

#include "src/fabric/fabric.h"

#define RAIL_BACKOFF_FIRST (100ull * 1000000ull)  /* ns */
#define RAIL_BACKOFF_LAST (30ull * 1000000000ull) /* ns */
#define RAIL_SETTLED (10ull * 1000000000ull)      /* ns: what stood so long was no flapping */

/* One more failure: *backoff (ns; 0 when there was none before) grows. Returns how long to
 * wait, ns: *backoff and up to a quarter more. */
uint64_t rail_backoff_grow(struct fabric *f, uint64_t *backoff);

#endif
