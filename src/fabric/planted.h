/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Planted bugs: deliberate mistakes that the tests must find, one at a time.
 *
 *     if (PLANTED(hca_pkey_raw_compare) ? a == b : (a & 0x7fff) == (b & 0x7fff))
 *
 * Only the variant `planted` (-DMEMKV_PLANTED) contains them; there the environment variable
 * MEMKV_PLANTED=room_what selects one, and none is active without it. Everywhere else PLANTED() is
 * the constant 0 and leaves nothing in the object. Names are [a-z0-9_]+ and begin with the room.
 * `make planted` finds the names by reading the sources.
 */
#ifndef MEMKV_SRC_FABRIC_PLANTED_H
#define MEMKV_SRC_FABRIC_PLANTED_H

#ifdef MEMKV_PLANTED

#include <stdbool.h>

/* Whether this is the planted bug that the environment selects. */
bool planted_is(const char *name);

#define PLANTED(name) planted_is(#name)

#else

#define PLANTED(name) 0

#endif
#endif
