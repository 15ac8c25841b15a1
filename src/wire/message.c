/* SPDX-License-Identifier: Apache-2.0 */
#include "src/wire/message.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "src/fabric/planted.h"
#include "src/wire/bytes.h"

#define FRAME_HEADER 8u
#define MAX_FIELDS 12

enum field {
    END,
    ID,
    RAIL,
    GENERATION,
    ADDRESS,
    QUEUE_PAIR, /* qp_num, psn */
    WINDOW,     /* iova, rkey */
    LENGTH,
    DIGEST,
    PATH_MTU,
    ERROR, /* by name: numbers differ between versions */
    DETAIL,
    WAY,
    FOUND,
    TAG,
    KEY,
    PIECE, /* offset, length, MAC */
    SERVER,
    SERVER_RAIL,
    LEASE,
    INSTANCE,
    DC_TARGET, /* dct_num, dc_access_key, dc_mtu, dc_gid */
    TRANSPORT,
};

static const uint8_t layouts[WIRE_TYPE_END][MAX_FIELDS] = {
    [WIRE_WELCOME] = {SERVER},
    [WIRE_LINK_REQUEST] = {RAIL, GENERATION, ADDRESS, QUEUE_PAIR, WINDOW, LENGTH, DC_TARGET},
    [WIRE_LINK_ACCEPT] = {RAIL, GENERATION, ADDRESS, QUEUE_PAIR, SERVER_RAIL, TRANSPORT},
    [WIRE_LINK_READY] = {RAIL, GENERATION, DIGEST},
    [WIRE_LINK_UP] = {RAIL, GENERATION, PATH_MTU, DIGEST},
    [WIRE_LINK_DOWN] = {RAIL, GENERATION, ERROR, DETAIL},
    [WIRE_RAIL_CHANGED] = {RAIL, GENERATION, ERROR, DETAIL},
    [WIRE_PUT] = {ID, WAY, RAIL, GENERATION, WINDOW, LENGTH, TAG, KEY},
    [WIRE_GET] = {ID, WAY, RAIL, GENERATION, WINDOW, LENGTH, KEY},
    [WIRE_EXISTS] = {ID, KEY},
    [WIRE_DELETE] = {ID, KEY},
    [WIRE_CANCEL] = {ID},
    [WIRE_RESULT] = {ID, ERROR, LENGTH, FOUND, TAG, DETAIL},
    [WIRE_BULK] = {ID, PIECE},
    [WIRE_PREPARED] = {ID},
    [WIRE_COMMIT] = {ID, LEASE},
    [WIRE_PING] = {END},
    [WIRE_PONG] = {END},
    [WIRE_INSTANCE] = {INSTANCE},
};

static void put_address(struct wire_writer *w, const struct fabric_port_address *a)
{
    assert(a->gid_count <= FABRIC_AV_MAX_GIDS);
    wire_put(w, a->link_layer, 1);
    wire_put(w, a->state, 1);
    wire_put(w, a->port_num, 1);
    wire_put(w, a->lid, 2);
    wire_put(w, a->lmc, 1);
    wire_put(w, a->port_guid, 8);
    wire_put(w, a->subnet_prefix, 8);
    wire_put(w, a->pkey, 2);
    wire_put(w, a->pkey_index, 2);
    wire_put(w, a->mtu, 1);
    wire_put(w, a->active_mtu, 1);
    wire_put(w, a->flags, 4);
    wire_put(w, a->sl, 1);
    wire_put(w, a->traffic_class, 1);
    wire_put(w, a->max_rd_atomic, 1);
    wire_put(w, a->max_dest_rd_atomic, 1);
    wire_put(w, a->generation, 4);
    wire_put(w, a->gid_count, 1);
    for (unsigned i = 0; i < a->gid_count; i++) {
        wire_put_bytes(w, a->gids[i].gid.raw, sizeof a->gids[i].gid.raw);
        wire_put(w, a->gids[i].type, 1);
        wire_put(w, a->gids[i].index, 1);
    }
}

static void get_gids(struct wire_reader *r, struct fabric_port_address *a)
{
    for (unsigned i = 0; i < a->gid_count; i++) {
        const uint8_t *raw = wire_get_bytes(r, sizeof a->gids[i].gid.raw);
        if (raw)
            memcpy(a->gids[i].gid.raw, raw, sizeof a->gids[i].gid.raw);
        a->gids[i].type = (enum fabric_gid_type)wire_get(r, 1);
        a->gids[i].index = (uint8_t)wire_get(r, 1);
        if (a->gids[i].type > FABRIC_GID_TYPE_ROCE_V2)
            r->failed = true;
    }
}

static void get_address(struct wire_reader *r, struct fabric_port_address *a)
{
    memset(a, 0, sizeof *a); /* two of them are compared as a whole */
    a->link_layer = (enum fabric_link_layer)wire_get(r, 1);
    a->state = (enum fabric_port_state)wire_get(r, 1);
    a->port_num = (uint8_t)wire_get(r, 1);
    a->lid = (uint16_t)wire_get(r, 2);
    a->lmc = (uint8_t)wire_get(r, 1);
    a->port_guid = wire_get(r, 8);
    a->subnet_prefix = wire_get(r, 8);
    a->pkey = (uint16_t)wire_get(r, 2);
    a->pkey_index = (uint16_t)wire_get(r, 2);
    a->mtu = (enum fabric_mtu)wire_get(r, 1);
    a->active_mtu = (enum fabric_mtu)wire_get(r, 1);
    a->flags = (uint32_t)wire_get(r, 4);
    a->sl = (uint8_t)wire_get(r, 1);
    a->traffic_class = (uint8_t)wire_get(r, 1);
    a->max_rd_atomic = (uint8_t)wire_get(r, 1);
    a->max_dest_rd_atomic = (uint8_t)wire_get(r, 1);
    a->generation = (uint32_t)wire_get(r, 4);
    a->gid_count = (uint8_t)wire_get(r, 1);
    if (a->link_layer > FABRIC_LINK_LAYER_ETHERNET || a->state > FABRIC_PORT_ACTIVE || a->lmc > 7 ||
        a->sl > 15 || a->gid_count > FABRIC_AV_MAX_GIDS) {
        r->failed = true;
        return;
    }
    get_gids(r, a);
}

static void put_tag(struct wire_writer *w, const struct wire_tag *tag)
{
    wire_put_bytes(w, tag->nonce, sizeof tag->nonce);
    wire_put_bytes(w, tag->mac, sizeof tag->mac);
}

static void put_piece(struct wire_writer *w, const struct wire_message *m)
{
    wire_put(w, m->offset, 4);
    wire_put(w, m->length, 4);
    wire_put_bytes(w, m->mac, sizeof m->mac);
}

static void put_server(struct wire_writer *w, const struct wire_message *m)
{
    wire_put(w, m->lanes, 2);
    wire_put(w, m->rails, 1);
    wire_put(w, m->operations, 2);
    wire_put(w, m->block_size, 8);
    wire_put(w, m->max_value, 8);
}

static void put_instance(struct wire_writer *w, const struct wire_message *m)
{
    wire_put_bytes(w, m->instance, sizeof m->instance);
    wire_put(w, m->lane, 2);
    wire_put(w, m->member, 2);
}

static void put_target(struct wire_writer *w, const struct wire_message *m)
{
    wire_put(w, m->dct_num, 3);
    wire_put(w, m->dc_access_key, 8);
    wire_put(w, m->dc_mtu, 1);
    wire_put(w, m->dc_gid, 1);
}

static void put_group(struct wire_writer *w, enum field field, const struct wire_message *m)
{
    if (field == SERVER)
        put_server(w, m);
    else if (field == INSTANCE)
        put_instance(w, m);
    else if (field == DC_TARGET)
        put_target(w, m);
    else
        wire_put(w, m->dc, 1);
}

static void put_field(struct wire_writer *w, enum field field, const struct wire_message *m)
{
    switch (field) {
    case END:
        break;
    case ID:
        wire_put(w, m->id, 8);
        break;
    case RAIL:
        wire_put(w, m->rail, 1);
        break;
    case GENERATION:
        wire_put(w, m->generation, 4);
        break;
    case ADDRESS:
        put_address(w, &m->address);
        break;
    case QUEUE_PAIR:
        wire_put(w, m->qp_num, 3);
        wire_put(w, m->psn, 3);
        break;
    case WINDOW:
        wire_put(w, m->iova, 8);
        wire_put(w, m->rkey, 4);
        break;
    case LENGTH:
        wire_put(w, m->length, 4);
        break;
    case DIGEST:
        wire_put_bytes(w, m->digest, sizeof m->digest);
        break;
    case PATH_MTU:
        wire_put(w, m->path_mtu, 1);
        break;
    case ERROR:
        wire_put_string(w, error_name(m->error), strlen(error_name(m->error)));
        break;
    case DETAIL:
        wire_put_string(w, m->detail, strlen(m->detail));
        break;
    case WAY:
        wire_put(w, m->way, 1);
        break;
    case FOUND:
        wire_put(w, m->found, 1);
        break;
    case TAG:
        put_tag(w, &m->tag);
        break;
    case KEY:
        wire_put_string(w, m->key, m->key_length);
        break;
    case PIECE:
        put_piece(w, m);
        break;
    case SERVER_RAIL:
        wire_put(w, m->server_rail, 1);
        break;
    case LEASE:
        wire_put(w, m->lease, 8);
        break;
    case SERVER:
    case INSTANCE:
    case DC_TARGET:
    case TRANSPORT:
        put_group(w, field, m);
        break;
    }
}

static void get_copy(struct wire_reader *r, void *to, size_t length)
{
    const uint8_t *from = wire_get_bytes(r, length);
    if (from)
        memcpy(to, from, length);
}

static void get_error(struct wire_reader *r, struct wire_message *m)
{
    char name[64];
    size_t length = (size_t)wire_get(r, 1);
    const uint8_t *from = wire_get_bytes(r, length);
    if (!from || length >= sizeof name || memchr(from, 0, length)) {
        r->failed = true;
        return;
    }
    memcpy(name, from, length);
    name[length] = 0;
    m->error = FABRIC_OK;
    if (strcmp(name, error_name(FABRIC_OK)) != 0 && !error_by_name(name, &m->error))
        m->error = ERR_INTERNAL; /* a newer peer's name */
}

/* What a peer says for people goes to a log: only printable ASCII passes. */
static void get_detail(struct wire_reader *r, struct wire_message *m)
{
    size_t length = (size_t)wire_get(r, 1);
    const uint8_t *from = wire_get_bytes(r, length);
    size_t kept = length < sizeof m->detail ? length : sizeof m->detail - 1;
    for (size_t i = 0; from && i < kept; i++)
        m->detail[i] = from[i] >= ' ' && from[i] <= '~' ? (char)from[i] : '?';
    m->detail[from ? kept : 0] = 0;
}

static void get_key(struct wire_reader *r, struct wire_message *m)
{
    m->key_length = (uint8_t)wire_get(r, 1);
    if (m->key_length == 0)
        r->failed = true;
    get_copy(r, m->key, m->key_length);
}

static void get_piece(struct wire_reader *r, struct wire_message *m)
{
    m->offset = (uint32_t)wire_get(r, 4);
    m->length = (uint32_t)wire_get(r, 4);
    get_copy(r, m->mac, sizeof m->mac);
    bool bounded = m->length <= WIRE_MAX_BULK || PLANTED(wire_bulk_unbounded);
    if (m->length == 0 || !bounded || m->offset > WIRE_MAX_VALUE)
        r->failed = true;
}

static void get_server(struct wire_reader *r, struct wire_message *m)
{
    m->lanes = (uint16_t)wire_get(r, 2);
    m->rails = (uint8_t)wire_get(r, 1);
    m->operations = (uint16_t)wire_get(r, 2);
    m->block_size = wire_get(r, 8);
    m->max_value = wire_get(r, 8);
    if (m->lanes == 0 || m->operations == 0)
        r->failed = true;
}

static void get_instance(struct wire_reader *r, struct wire_message *m)
{
    get_copy(r, m->instance, sizeof m->instance);
    m->lane = (uint16_t)wire_get(r, 2);
    m->member = (uint16_t)wire_get(r, 2);
}

static void get_target(struct wire_reader *r, struct wire_message *m)
{
    m->dct_num = (uint32_t)wire_get(r, 3);
    m->dc_access_key = wire_get(r, 8);
    m->dc_mtu = (enum fabric_mtu)wire_get(r, 1);
    m->dc_gid = (uint8_t)wire_get(r, 1);
    if (m->dc_gid > FABRIC_AV_MAX_GIDS || m->dc_mtu > FABRIC_MTU_4096)
        r->failed = true;
}

static void get_group(struct wire_reader *r, enum field field, struct wire_message *m)
{
    if (field == SERVER) {
        get_server(r, m);
    } else if (field == INSTANCE) {
        get_instance(r, m);
    } else if (field == DC_TARGET) {
        get_target(r, m);
    } else {
        uint64_t transport = wire_get(r, 1);
        m->dc = transport == 1;
        r->failed = r->failed || transport > 1;
    }
}

static void get_field(struct wire_reader *r, enum field field, struct wire_message *m)
{
    switch (field) {
    case END:
        break;
    case ID:
        m->id = wire_get(r, 8);
        break;
    case RAIL:
        m->rail = (uint8_t)wire_get(r, 1);
        break;
    case GENERATION:
        m->generation = (uint32_t)wire_get(r, 4);
        break;
    case ADDRESS:
        get_address(r, &m->address);
        break;
    case QUEUE_PAIR:
        m->qp_num = (uint32_t)wire_get(r, 3);
        m->psn = (uint32_t)wire_get(r, 3);
        break;
    case WINDOW:
        m->iova = wire_get(r, 8);
        m->rkey = (uint32_t)wire_get(r, 4);
        break;
    case LENGTH:
        m->length = (uint32_t)wire_get(r, 4);
        break;
    case DIGEST:
        get_copy(r, m->digest, sizeof m->digest);
        break;
    case PATH_MTU:
        m->path_mtu = (enum fabric_mtu)wire_get(r, 1);
        break;
    case ERROR:
        get_error(r, m);
        break;
    case DETAIL:
        get_detail(r, m);
        break;
    case WAY:
        m->way = wire_get(r, 1) ? WIRE_WAY_RC : WIRE_WAY_TCP;
        break;
    case FOUND:
        m->found = (uint8_t)wire_get(r, 1);
        break;
    case TAG:
        get_copy(r, m->tag.nonce, sizeof m->tag.nonce);
        get_copy(r, m->tag.mac, sizeof m->tag.mac);
        break;
    case KEY:
        get_key(r, m);
        break;
    case PIECE:
        get_piece(r, m);
        break;
    case SERVER_RAIL:
        m->server_rail = (uint8_t)wire_get(r, 1);
        break;
    case LEASE:
        m->lease = wire_get(r, 8);
        break;
    case SERVER:
    case INSTANCE:
    case DC_TARGET:
    case TRANSPORT:
        get_group(r, field, m);
        break;
    }
}

uint32_t wire_key_lane(const void *key, size_t key_length, uint32_t lanes)
{
    assert(key && key_length && lanes);
    return (uint32_t)(XXH3_64bits(key, key_length) % lanes);
}

void wire_message_begin(struct wire_message *message, enum wire_type type)
{
    assert(message && type >= WIRE_WELCOME && type < WIRE_TYPE_END);
    memset(message, 0, offsetof(struct wire_message, detail) + 1);
    message->type = type;
}

bool wire_message_encode(const struct wire_message *message, uint8_t *out, size_t room,
                         size_t *length)
{
    assert(message && message->type >= WIRE_WELCOME && message->type < WIRE_TYPE_END);
    if (room < FRAME_HEADER)
        return false;
    struct wire_writer body = {.data = out + FRAME_HEADER, .room = room - FRAME_HEADER};
    for (unsigned i = 0; i < MAX_FIELDS && layouts[message->type][i]; i++)
        put_field(&body, (enum field)layouts[message->type][i], message);
    if (body.failed)
        return false;
    struct wire_writer head = {.data = out, .room = FRAME_HEADER};
    wire_put(&head, message->type, 1);
    wire_put(&head, 0, 3);
    wire_put(&head, body.used, 4);
    *length = FRAME_HEADER + body.used;
    return true;
}

enum fabric_error wire_message_decode(const uint8_t *data, size_t length, struct wire_message *out,
                                      size_t *used)
{
    assert(data && out && used);
    struct wire_reader r = {.data = data, .left = length};
    unsigned type = (unsigned)wire_get(&r, 1);
    uint64_t reserved = wire_get(&r, 3);
    size_t size = (size_t)wire_get(&r, 4);
    if (r.failed || reserved || size > r.left || type < WIRE_WELCOME || type >= WIRE_TYPE_END)
        return ERR_FRAME_INVALID;
    wire_message_begin(out, (enum wire_type)type);
    struct wire_reader body = {.data = r.data, .left = size};
    for (unsigned i = 0; i < MAX_FIELDS && layouts[type][i]; i++)
        get_field(&body, (enum field)layouts[type][i], out);
    if (body.failed || body.left)
        return ERR_FRAME_INVALID;
    *used = FRAME_HEADER + size;
    return FABRIC_OK;
}
