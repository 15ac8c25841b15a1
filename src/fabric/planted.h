/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deliberate bugs that measure the tests. if (PLANTED(room_what)) stands beside the right code; in
 * every build but the planted one it is the constant 0 and leaves nothing in the object file.
 */
#ifndef SRC_FABRIC_PLANTED_H
#define SRC_FABRIC_PLANTED_H

#ifdef MEMKV_PLANTED
int planted_is(const char *name);
#define PLANTED(name) planted_is(#name)
#else
#define PLANTED(name) 0
#endif

#endif
