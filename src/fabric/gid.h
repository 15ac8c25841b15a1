/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GIDs: what they are, which of a table can be used, and their text form. Pure functions.
 */
#ifndef SRC_FABRIC_GID_H
#define SRC_FABRIC_GID_H

#include "src/fabric/av.h"

enum fabric_gid_family {
    FABRIC_GID_IPV4, /* IPv4-mapped, ::ffff:a.b.c.d */
    FABRIC_GID_IPV6, /* everything else, also the GIDs of InfiniBand */
};

/* The order is the order of preference. 10/8 and its like are routable: private, yet not confined
 * to a link. */
enum fabric_gid_scope {
    FABRIC_GID_SCOPE_NONE, /* unspecified, loopback, multicast: no address of a port */
    FABRIC_GID_SCOPE_LINK_LOCAL,
    FABRIC_GID_SCOPE_UNIQUE_LOCAL,
    FABRIC_GID_SCOPE_ROUTABLE,
};

#define FABRIC_GID_TEXT 40 /* bytes of a GID's text, with the final NUL */

bool fabric_gid_equal(const union fabric_gid *a, const union fabric_gid *b);
enum fabric_gid_family fabric_gid_family(const union fabric_gid *gid);
enum fabric_gid_scope fabric_gid_scope(const union fabric_gid *gid);
const char *fabric_gid_scope_name(enum fabric_gid_scope scope);    /* "link-local" */
const char *fabric_gid_family_name(enum fabric_gid_family family); /* "IPv4" */
const char *fabric_gid_type_name(enum fabric_gid_type type);       /* "RoCE v2" */

/* The subnet prefix: the first 8 bytes, in host order. */
uint64_t fabric_gid_prefix(const union fabric_gid *gid);

/* A GID from a subnet prefix and a port GUID, both in host order (vol. 1, chapter 4.1.1). */
union fabric_gid fabric_gid_make(uint64_t subnet_prefix, uint64_t port_guid);

/* Eight groups of four hexadecimal digits, as sysfs prints it. */
void fabric_gid_format(const union fabric_gid *gid, char out[FABRIC_GID_TEXT]);

/* The reverse; also any IPv6 text form with "::", and a dotted IPv4 tail or a bare IPv4 address
 * (which gives its mapped form). False, with *out untouched, when the text is no address. */
bool fabric_gid_parse(const char *text, union fabric_gid *out);

/* Why an entry cannot be used on a port of this link layer, as words for people; null when it can.
 */
const char *fabric_gid_unusable(enum fabric_link_layer link_layer,
                                const struct fabric_gid_entry *entry);

/* Copies the usable ones of `entries` (any order, holes left out) to `out`, best first, and returns
 * how many they are; the worst are dropped where there are more than fit. InfiniBand: in table
 * order. RoCE: by scope, within it in table order. A pinned index is a table of one entry. */
uint8_t fabric_gids_usable(enum fabric_link_layer link_layer,
                           const struct fabric_gid_entry *entries, size_t count,
                           struct fabric_usable_gid out[FABRIC_AV_MAX_GIDS]);

#endif
