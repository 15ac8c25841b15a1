/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Partition keys (vol. 1, chapter 10.9): the low 15 bits identify a partition, bit 15 tells full
 * from limited members. And what counts as a LID. Pure functions.
 */
#ifndef SRC_FABRIC_PKEY_H
#define SRC_FABRIC_PKEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FABRIC_PKEY_FULL 0x8000u      /* the membership bit */
#define FABRIC_PKEY_PARTITION 0x7fffu /* the bits that identify */
#define FABRIC_LID_MAX 0xbfffu        /* above are multicast LIDs and the permissive LID */

/* An entry that holds no key: 0x0000 and 0x8000 (vol. 1, chapter 10.9.1.1). */
bool fabric_pkey_empty(uint16_t pkey);
bool fabric_pkey_full(uint16_t pkey);
const char *fabric_pkey_membership(uint16_t pkey); /* "full" or "limited" */

/* Whether both are keys of the same partition, whatever their membership. */
bool fabric_pkey_same_partition(uint16_t a, uint16_t b);

/* Whether packets pass between a port with `a` and a port with `b`: the same partition, and not two
 * limited members (vol. 1, chapter 10.9.3). */
bool fabric_pkey_match(uint16_t a, uint16_t b);

/* Finds the partition of `wanted` in a table: its full entry before its limited one, the lower
 * index among equals. False, with *index untouched, when it is not there. */
bool fabric_pkey_find(const uint16_t *table, size_t count, uint16_t wanted, uint16_t *index);

/* A unicast LID: 0x0001 to 0xBFFF (vol. 1, chapter 4.1.3). */
bool fabric_lid_valid(uint32_t lid);

#endif
