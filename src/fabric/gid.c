/* SPDX-License-Identifier: Apache-2.0 */
#include "src/fabric/gid.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "src/fabric/planted.h"

static const uint8_t mapped_prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

bool fabric_gid_equal(const union fabric_gid *a, const union fabric_gid *b)
{
    assert(a && b);
    return memcmp(a->raw, b->raw, sizeof(a->raw)) == 0;
}

enum fabric_gid_family fabric_gid_family(const union fabric_gid *gid)
{
    assert(gid);
    return memcmp(gid->raw, mapped_prefix, sizeof(mapped_prefix)) == 0 ? FABRIC_GID_IPV4
                                                                       : FABRIC_GID_IPV6;
}

static enum fabric_gid_scope ipv4_scope(const uint8_t *address)
{
    if (address[0] == 0 || address[0] == 127 || address[0] >= 224)
        return FABRIC_GID_SCOPE_NONE;
    if (address[0] == 169 && address[1] == 254)
        return FABRIC_GID_SCOPE_LINK_LOCAL;
    if (PLANTED(fabric_gid_private_is_link_local) && address[0] == 10)
        return FABRIC_GID_SCOPE_LINK_LOCAL;
    return FABRIC_GID_SCOPE_ROUTABLE;
}

enum fabric_gid_scope fabric_gid_scope(const union fabric_gid *gid)
{
    assert(gid);
    const uint8_t *raw = gid->raw;
    if (fabric_gid_family(gid) == FABRIC_GID_IPV4)
        return ipv4_scope(raw + sizeof(mapped_prefix));
    static const uint8_t zero[15];
    if (raw[0] == 0xff || (memcmp(raw, zero, sizeof(zero)) == 0 && raw[15] <= 1))
        return FABRIC_GID_SCOPE_NONE;
    if (raw[0] == 0xfe && (raw[1] & 0xc0) == 0x80)
        return FABRIC_GID_SCOPE_LINK_LOCAL;
    if ((raw[0] & 0xfe) == 0xfc && !PLANTED(fabric_gid_unique_local_routable))
        return FABRIC_GID_SCOPE_UNIQUE_LOCAL;
    return FABRIC_GID_SCOPE_ROUTABLE;
}

const char *fabric_gid_scope_name(enum fabric_gid_scope scope)
{
    static const char *const names[] = {"none", "link-local", "unique-local", "routable"};
    assert(scope >= FABRIC_GID_SCOPE_NONE && scope <= FABRIC_GID_SCOPE_ROUTABLE);
    return names[scope];
}

const char *fabric_gid_family_name(enum fabric_gid_family family)
{
    return family == FABRIC_GID_IPV4 ? "IPv4" : "IPv6";
}

const char *fabric_gid_type_name(enum fabric_gid_type type)
{
    static const char *const names[] = {"IB", "RoCE v1", "RoCE v2"};
    assert(type <= FABRIC_GID_TYPE_ROCE_V2);
    return names[type];
}

uint64_t fabric_gid_prefix(const union fabric_gid *gid)
{
    assert(gid);
    uint64_t prefix = 0;
    for (size_t i = 0; i < 8; i++)
        prefix = prefix << 8 | gid->raw[i];
    return prefix;
}

union fabric_gid fabric_gid_make(uint64_t subnet_prefix, uint64_t port_guid)
{
    union fabric_gid gid;
    for (size_t i = 0; i < 8; i++) {
        gid.raw[i] = (uint8_t)(subnet_prefix >> (56 - 8 * i));
        gid.raw[8 + i] = (uint8_t)(port_guid >> (56 - 8 * i));
    }
    return gid;
}

void fabric_gid_format(const union fabric_gid *gid, char out[FABRIC_GID_TEXT])
{
    assert(gid && out);
    for (size_t i = 0; i < 8; i++) {
        unsigned int group = (unsigned int)gid->raw[2 * i] << 8 | gid->raw[2 * i + 1];
        snprintf(out + 5 * i, 6, i < 7 ? "%04x:" : "%04x", group & 0xffffu);
    }
}

/* A dotted IPv4 address at the end of the text, four bytes of it. */
static bool parse_ipv4(const char *text, uint8_t *out)
{
    for (size_t i = 0; i < 4; i++) {
        unsigned int value = 0;
        size_t digits = 0;
        for (; *text >= '0' && *text <= '9' && digits < 3; digits++)
            value = value * 10 + (unsigned int)(*text++ - '0');
        if (digits == 0 || value > 255 || *text != (i < 3 ? '.' : '\0'))
            return false;
        out[i] = (uint8_t)value;
        text++;
    }
    return true;
}

/* A group of one to four hexadecimal digits; *text moves past it. */
static bool parse_group(const char **text, uint8_t *out)
{
    unsigned int value = 0;
    size_t digits = 0;
    for (; digits < 5; digits++) {
        char c = **text;
        if (c >= '0' && c <= '9')
            value = value << 4 | (unsigned int)(c - '0');
        else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
            value = value << 4 | (unsigned int)((c | 0x20) - 'a' + 10);
        else
            break;
        ++*text;
    }
    out[0] = (uint8_t)(value >> 8);
    out[1] = (uint8_t)value;
    return digits >= 1 && digits <= 4;
}

/* Past a colon between groups; a double one sets *gap. False for a misplaced or a last colon. */
static bool parse_colon(const char **text, size_t length, size_t *gap)
{
    if (**text != ':')
        return false;
    ++*text;
    if (**text != ':')
        return **text != '\0';
    ++*text;
    if (*gap != SIZE_MAX)
        return false;
    *gap = length;
    return true;
}

/* The groups of an IPv6 text into `raw`, *length bytes of them, and where "::" stood. */
static bool parse_groups(const char *text, uint8_t *raw, size_t *length, size_t *gap)
{
    if (text[0] == ':' && !(text[1] == ':' && parse_colon(&text, 0, gap)))
        return false;
    while (*text) {
        if (*length <= 12 && parse_ipv4(text, raw + *length)) {
            *length += 4;
            return true;
        }
        if (*length > 14 || !parse_group(&text, raw + *length))
            return false;
        *length += 2;
        if (*text && !parse_colon(&text, *length, gap))
            return false;
    }
    return true;
}

bool fabric_gid_parse(const char *text, union fabric_gid *out)
{
    assert(text && out);
    union fabric_gid gid = {{0}};
    uint8_t raw[16] = {0};
    size_t length = 0, gap = SIZE_MAX;
    if (parse_ipv4(text, raw)) {
        memcpy(gid.raw, mapped_prefix, sizeof(mapped_prefix));
        memcpy(gid.raw + sizeof(mapped_prefix), raw, 4);
    } else if (!parse_groups(text, raw, &length, &gap)) {
        return false;
    } else if (gap == SIZE_MAX) {
        if (length != 16)
            return false;
        memcpy(gid.raw, raw, 16);
    } else {
        if (length > 14)
            return false;
        memcpy(gid.raw, raw, gap);
        memcpy(gid.raw + 16 - (length - gap), raw + gap, length - gap);
    }
    *out = gid;
    return true;
}

const char *fabric_gid_unusable(enum fabric_link_layer link_layer,
                                const struct fabric_gid_entry *entry)
{
    assert(entry);
    static const uint8_t zero[8];
    if (memcmp(entry->gid.raw + 8, zero, sizeof(zero)) == 0)
        return "empty";
    if (link_layer == FABRIC_LINK_LAYER_INFINIBAND)
        return entry->type == FABRIC_GID_TYPE_IB ? NULL : "no InfiniBand GID";
    if (entry->type != FABRIC_GID_TYPE_ROCE_V2 && !PLANTED(fabric_gid_roce_v1_usable))
        return "not RoCE v2";
    if (fabric_gid_scope(&entry->gid) == FABRIC_GID_SCOPE_NONE)
        return "no address of a port";
    return entry->index > UINT8_MAX ? "index above 255" : NULL;
}

static int rank(enum fabric_link_layer link_layer, const union fabric_gid *gid)
{
    if (link_layer == FABRIC_LINK_LAYER_INFINIBAND || PLANTED(fabric_gid_first_is_best))
        return 0;
    return (int)fabric_gid_scope(gid);
}

/* Where the entry goes in the list of `used`, best first. */
static size_t place_of(enum fabric_link_layer link_layer, const struct fabric_usable_gid *list,
                       size_t used, const struct fabric_gid_entry *entry)
{
    int mine = rank(link_layer, &entry->gid);
    size_t place = used;
    for (; place > 0; place--) {
        int theirs = rank(link_layer, &list[place - 1].gid);
        if (theirs > mine || (theirs == mine && list[place - 1].index <= entry->index))
            break;
    }
    return place;
}

static size_t of_family(const struct fabric_usable_gid *list, size_t used,
                        enum fabric_gid_family family)
{
    size_t count = 0;
    for (size_t i = 0; i < used; i++)
        count += fabric_gid_family(&list[i].gid) == family;
    return count;
}

/* The one of a full list that makes room for a GID of `family`: the last, but never the only one
 * of the other family. */
static size_t victim(const struct fabric_usable_gid *list, size_t used,
                     enum fabric_gid_family family)
{
    size_t last = used - 1;
    enum fabric_gid_family theirs = fabric_gid_family(&list[last].gid);
    if (theirs == family || of_family(list, used, theirs) > 1 || PLANTED(fabric_gid_family_lost))
        return last;
    return last - 1;
}

uint8_t fabric_gids_usable(enum fabric_link_layer link_layer,
                           const struct fabric_gid_entry *entries, size_t count,
                           struct fabric_usable_gid out[FABRIC_AV_MAX_GIDS])
{
    assert((entries || count == 0) && out);
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        const struct fabric_gid_entry *entry = &entries[i];
        if (fabric_gid_unusable(link_layer, entry))
            continue;
        enum fabric_gid_family family = fabric_gid_family(&entry->gid);
        size_t place = place_of(link_layer, out, used, entry);
        if (used == FABRIC_AV_MAX_GIDS) {
            size_t gone = victim(out, used, family);
            bool first = of_family(out, used, family) == 0 && !PLANTED(fabric_gid_family_lost);
            if (place > gone && !first)
                continue;
            memmove(&out[gone], &out[gone + 1], (used - gone - 1) * sizeof(*out));
            used--;
            place = place_of(link_layer, out, used, entry);
        }
        memmove(&out[place + 1], &out[place], (used - place) * sizeof(*out));
        out[place] = (struct fabric_usable_gid){entry->gid, entry->type, (uint8_t)entry->index};
        used++;
    }
    assert(used <= FABRIC_AV_MAX_GIDS);
    return (uint8_t)used;
}
