/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The messages inside authenticated records. One flat structure serves all of them; the table in
 * message.c says which members a type carries, in which order.
 */
#ifndef SRC_WIRE_MESSAGE_H
#define SRC_WIRE_MESSAGE_H

#include "src/fabric/av.h"
#include "src/wire/crypto.h"

#define WIRE_MAX_VALUE (16u * 1024u * 1024u) /* bytes of a block */
#define WIRE_MAX_BULK (2048u * 1024u)        /* payload bytes that one BULK announces */
#define WIRE_DETAIL 240
#define WIRE_INSTANCE_BYTES 16

enum wire_type {
    WIRE_WELCOME = 1,  /* server, first of all: what it is */
    WIRE_LINK_REQUEST, /* client: its port and queue pair for one of its rails */
    WIRE_LINK_ACCEPT,  /* server: its own */
    WIRE_LINK_READY,   /* client: its queue pair receives; probe it */
    WIRE_LINK_UP,      /* server: the probe passed both ways */
    WIRE_LINK_DOWN,    /* either: this link is refused, or has ended */
    WIRE_RAIL_CHANGED, /* server: the port behind these links changed; ask for new ones */
    WIRE_PUT,          /* client */
    WIRE_GET,          /* client */
    WIRE_EXISTS,       /* client */
    WIRE_DELETE,       /* client */
    WIRE_CANCEL,       /* client: the operation is closed; nothing of it may become visible */
    WIRE_RESULT,       /* server: how the operation ended; bulk of a GET over TCP follows it */
    WIRE_BULK,         /* either: bytes of a value follow the record, which this frame ends */
    WIRE_PREPARED,     /* server: a PUT is whole and verified, and visible only after COMMIT */
    WIRE_COMMIT,       /* client: the operation is still open, for `lease` from PREPARED on */
    WIRE_PING,         /* either, after a silence; the answer is PONG */
    WIRE_PONG,
    WIRE_INSTANCE, /* client, first of all: which one it is, across its connections */
    WIRE_TYPE_END,
    WIRE_PAYLOAD, /* no frame: bytes that a BULK announced have come to where they were wanted */
};

enum wire_way {
    WIRE_WAY_TCP, /* bulk follows on this stream */
    WIRE_WAY_RC,  /* the server reads or writes the client's window */
};

/* What a message does not have is zero; of the long members at the end only the key's length and
 * the beginning of `detail` are. */
struct wire_message {
    enum wire_type type;
    uint64_t id;            /* of the operation, chosen by the client, never 0 */
    uint8_t rail;           /* the client's number of the rail; RAIL_CHANGED: the server's */
    uint32_t generation;    /* of the link; grows with every LINK_REQUEST of the rail */
    uint32_t qp_num, psn;   /* 24 bits */
    uint32_t dct_num;       /* 24 bits: the client's DC target on this rail; 0: none */
    uint64_t dc_access_key; /* that its initiators must present */
    enum fabric_mtu dc_mtu; /* of the target */
    uint8_t dc_gid;         /* its GID's position in `address`; FABRIC_AV_MAX_GIDS: no GRH */
    bool dc;                /* LINK_ACCEPT: the server reaches the target, not the pair */
    uint64_t iova;          /* window: for this operation, or for the probe */
    uint32_t rkey, length;  /* bytes; RESULT of buffer_too_small: that are needed */
    enum fabric_mtu path_mtu;
    enum fabric_error error;
    enum wire_way way;
    uint8_t found;
    struct wire_tag tag;
    uint8_t key_length;
    uint32_t offset;     /* BULK, PAYLOAD: where the bytes belong in the value */
    const uint8_t *data; /* `length` bytes: BULK to be sent, in no frame; PAYLOAD that has come */
    struct wire_tag_run *run;    /* BULK to be sent: gets what the stream has taken; or null */
    uint8_t mac[WIRE_TAG_BYTES]; /* the last BULK of a PUT: ends its tag; else zeros */
    uint16_t lanes;
    uint8_t rails;
    uint16_t operations;            /* PUT, GET, DELETE that it may have under way */
    uint64_t block_size, max_value; /* bytes */
    uint8_t server_rail;            /* LINK_ACCEPT: the server's number of its own */
    uint64_t lease;                 /* COMMIT: ns */
    uint8_t instance[WIRE_INSTANCE_BYTES];
    uint16_t lane, member; /* INSTANCE: what the connection is for, and which of its like it is */

    char detail[WIRE_DETAIL]; /* for people */
    uint8_t key[WIRE_MAX_KEY];
    uint8_t digest[WIRE_MAC_BYTES]; /* over both addresses and the session */
    struct fabric_port_address address;
};

/* Nothing but its type. Cheaper than an initializer, which clears the long members too. */
void wire_message_begin(struct wire_message *message, enum wire_type type);

/* The shard of a server with `lanes` of them that has the key. */
uint32_t wire_key_lane(const void *key, size_t key_length, uint32_t lanes);

/* Bytes that any message needs at most, with its frame header. */
#define WIRE_MESSAGE_ROOM 1024u

/* Writes frame header and members to `out`; *length is what was used. False when it does not fit.
 */
bool wire_message_encode(const struct wire_message *message, uint8_t *out, size_t room,
                         size_t *length);

/* Reads one frame from the front of `data`; *used is its length. Errors: frame_invalid (unknown
 * type, members that do not fill the frame exactly, a value out of its range). */
enum fabric_error wire_message_decode(const uint8_t *data, size_t length, struct wire_message *out,
                                      size_t *used);

#endif
