/* SPDX-License-Identifier: Apache-2.0 */
#include "fabric_sim/world/mad.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "fabric_sim/world/bytes.h"
#include "src/fabric/planted.h"

/* Offsets of tables 109 (common header), 136 and 137 (subnet management). */
enum {
    AT_BASE_VERSION = 0,
    AT_CLASS = 1,
    AT_CLASS_VERSION = 2,
    AT_METHOD = 3,
    AT_STATUS = 4,
    AT_HOP_POINTER = 6,
    AT_HOP_COUNT = 7,
    AT_TID = 8,
    AT_ATTRIBUTE = 16,
    AT_MODIFIER = 20,
    AT_MKEY = 24,
    AT_DR_SLID = 32,
    AT_DR_DLID = 34,
    AT_INITIAL_PATH = 128,
    AT_RETURN_PATH = 192,
};

#define DIRECTION_BIT 0x80u /* of the first status byte */

struct mad *mad_new(void)
{
    struct mad *mad = calloc(1, sizeof *mad);

    if (!mad)
        abort();
    return mad;
}

void mad_free(struct mad *mad)
{
    free(mad);
}

uint8_t mad_class(const struct mad *mad)
{
    return mad->bytes[AT_CLASS];
}

uint8_t mad_method(const struct mad *mad)
{
    return mad->bytes[AT_METHOD];
}

uint16_t mad_status(const struct mad *mad)
{
    return (uint16_t)(bytes_get16(mad->bytes + AT_STATUS) & 0x7FFF);
}

uint64_t mad_tid(const struct mad *mad)
{
    return bytes_get64(mad->bytes + AT_TID);
}

uint16_t mad_attribute(const struct mad *mad)
{
    return bytes_get16(mad->bytes + AT_ATTRIBUTE);
}

uint32_t mad_modifier(const struct mad *mad)
{
    return bytes_get32(mad->bytes + AT_MODIFIER);
}

uint64_t mad_mkey(const struct mad *mad)
{
    return bytes_get64(mad->bytes + AT_MKEY);
}

bool mad_is_response(const struct mad *mad)
{
    return (mad->bytes[AT_METHOD] & 0x80) != 0;
}

void mad_set_method(struct mad *mad, uint8_t method)
{
    assert(method != 0);
    mad->bytes[AT_METHOD] = method;
}

void mad_set_status(struct mad *mad, uint16_t status)
{
    assert(status < 0x8000);
    mad->bytes[AT_STATUS] = (uint8_t)((mad->bytes[AT_STATUS] & DIRECTION_BIT) | status >> 8);
    mad->bytes[AT_STATUS + 1] = (uint8_t)status;
}

void mad_set_mkey(struct mad *mad, uint64_t mkey)
{
    bytes_put64(mad->bytes + AT_MKEY, mkey);
}

uint8_t *mad_data(struct mad *mad)
{
    return mad->bytes + MAD_SMP_DATA;
}

const uint8_t *mad_data_const(const struct mad *mad)
{
    return mad->bytes + MAD_SMP_DATA;
}

void mad_begin(struct mad *mad, uint8_t mad_class, uint8_t method, uint64_t tid, uint16_t attribute,
               uint32_t modifier)
{
    assert(mad_class == MAD_CLASS_SUBN_LID || mad_class == MAD_CLASS_SUBN_DIRECTED);
    mad->bytes[AT_BASE_VERSION] = 1;
    mad->bytes[AT_CLASS] = mad_class;
    mad->bytes[AT_CLASS_VERSION] = 1;
    mad->bytes[AT_METHOD] = method;
    bytes_put64(mad->bytes + AT_TID, tid);
    bytes_put16(mad->bytes + AT_ATTRIBUTE, attribute);
    bytes_put32(mad->bytes + AT_MODIFIER, modifier);
    if (mad_class != MAD_CLASS_SUBN_DIRECTED)
        return;
    bytes_put16(mad->bytes + AT_DR_SLID, LID_PERMISSIVE);
    bytes_put16(mad->bytes + AT_DR_DLID, LID_PERMISSIVE);
}

bool mad_version_known(const struct mad *mad)
{
    return mad->bytes[AT_BASE_VERSION] == 1 && mad->bytes[AT_CLASS_VERSION] == 1;
}

uint8_t mad_hop_pointer(const struct mad *mad)
{
    return mad->bytes[AT_HOP_POINTER];
}

uint8_t mad_hop_count(const struct mad *mad)
{
    return mad->bytes[AT_HOP_COUNT];
}

bool mad_returning(const struct mad *mad)
{
    return (mad->bytes[AT_STATUS] & DIRECTION_BIT) != 0;
}

void mad_set_route(struct mad *mad, const uint8_t *path, uint8_t hops)
{
    assert(hops <= MAD_MAX_HOPS);
    mad->bytes[AT_HOP_POINTER] = 0;
    mad->bytes[AT_HOP_COUNT] = hops;
    /* entry 0 of both paths is unused */
    if (hops > 0)
        memcpy(mad->bytes + AT_INITIAL_PATH + 1, path, hops);
}

/* Where a directed route was longer than the notice can tell, the hops next to here are told. */
void mad_describe_bad_mkey(const struct mad *mad, uint16_t slid, struct mad_notice *notice)
{
    uint8_t hops = mad->bytes[AT_HOP_COUNT];

    assert(!mad_is_response(mad));
    notice->lid1 = slid;
    notice->method = mad_method(mad);
    notice->attribute = mad_attribute(mad);
    notice->modifier = mad_modifier(mad);
    notice->m_key = mad_mkey(mad);
    notice->is_directed = mad_class(mad) == MAD_CLASS_SUBN_DIRECTED;
    if (!notice->is_directed || hops > MAD_MAX_HOPS)
        return;
    notice->dr_slid = bytes_get16(mad->bytes + AT_DR_SLID);
    notice->path_truncated = hops > MAD_NOTICE_HOPS;
    notice->path_hops = notice->path_truncated ? MAD_NOTICE_HOPS : hops;
    memcpy(notice->return_path, mad->bytes + AT_RETURN_PATH + 1 + (hops - notice->path_hops),
           notice->path_hops);
}

static bool dr_lid_permissive(const struct mad *mad, size_t at)
{
    return bytes_get16(mad->bytes + at) == LID_PERMISSIVE;
}

enum mad_hop mad_hop_originate(struct mad *mad, uint8_t *out_port)
{
    uint8_t *pointer = mad->bytes + AT_HOP_POINTER;
    uint8_t count = mad->bytes[AT_HOP_COUNT];

    assert(mad->bytes[AT_CLASS] == MAD_CLASS_SUBN_DIRECTED);
    if (count > MAD_MAX_HOPS)
        return MAD_HOP_DISCARD;
    if (!mad_returning(mad)) {
        if (*pointer != 0)
            return MAD_HOP_DISCARD;
        *pointer = 1;
        *out_port = mad->bytes[AT_INITIAL_PATH + 1];
        return count == 0 ? MAD_HOP_AGENT : MAD_HOP_FORWARD;
    }
    if (*pointer != count + 1)
        return MAD_HOP_DISCARD;
    *pointer = count;
    *out_port = mad->bytes[AT_RETURN_PATH + count];
    return count == 0 ? MAD_HOP_MANAGER : MAD_HOP_FORWARD;
}

/* The outbound half of mad_hop_receive (C14-9). */
static enum mad_hop receive_outbound(struct mad *mad, uint8_t in_port, bool is_switch,
                                     uint8_t *out_port)
{
    uint8_t *pointer = mad->bytes + AT_HOP_POINTER;
    uint8_t count = mad->bytes[AT_HOP_COUNT];

    if (*pointer == 0 || *pointer > count)
        return MAD_HOP_DISCARD;
    if (PLANTED(sm_return_path))
        mad->bytes[AT_RETURN_PATH + *pointer] = 1;
    else
        mad->bytes[AT_RETURN_PATH + *pointer] = in_port;
    *pointer = (uint8_t)(*pointer + 1);
    if (*pointer == count + 1)
        return dr_lid_permissive(mad, AT_DR_DLID) ? MAD_HOP_AGENT : MAD_HOP_DISCARD;
    *out_port = mad->bytes[AT_INITIAL_PATH + *pointer];
    return is_switch || PLANTED(sm_hca_forwards) ? MAD_HOP_FORWARD : MAD_HOP_DISCARD;
}

/* The returning half (C14-13). */
static enum mad_hop receive_returning(struct mad *mad, bool is_switch, uint8_t *out_port)
{
    uint8_t *pointer = mad->bytes + AT_HOP_POINTER;
    uint8_t count = mad->bytes[AT_HOP_COUNT];

    if (*pointer == 0 || *pointer > count)
        return MAD_HOP_DISCARD;
    *pointer = (uint8_t)(*pointer - 1);
    if (*pointer == 0)
        return dr_lid_permissive(mad, AT_DR_SLID) ? MAD_HOP_MANAGER : MAD_HOP_DISCARD;
    *out_port = mad->bytes[AT_RETURN_PATH + *pointer];
    return is_switch ? MAD_HOP_FORWARD : MAD_HOP_DISCARD;
}

enum mad_hop mad_hop_receive(struct mad *mad, uint8_t in_port, uint8_t ports, bool is_switch,
                             uint8_t *out_port)
{
    enum mad_hop hop;

    assert(in_port <= ports);
    if (mad->bytes[AT_HOP_COUNT] > MAD_MAX_HOPS)
        return MAD_HOP_DISCARD;
    if (mad_returning(mad))
        hop = receive_returning(mad, is_switch, out_port);
    else
        hop = receive_outbound(mad, in_port, is_switch, out_port);
    if (hop == MAD_HOP_FORWARD && (*out_port == 0 || *out_port > ports))
        return MAD_HOP_DISCARD;
    return hop;
}

void mad_make_response(struct mad *mad, uint16_t status)
{
    assert(!mad_is_response(mad));
    mad->bytes[AT_METHOD] = MAD_GET_RESP;
    mad_set_status(mad, status);
    if (mad->bytes[AT_CLASS] == MAD_CLASS_SUBN_DIRECTED)
        mad->bytes[AT_STATUS] |= DIRECTION_BIT;
}
