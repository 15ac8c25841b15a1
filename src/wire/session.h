/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One authenticated conversation, without any input or output of its own: bytes that arrived go
 * in, messages come out; messages to send go in, bytes come out. The stream may split and merge
 * bytes anywhere.
 *
 * Both ends share a 32-byte key. HELLO and CHALLENGE exchange fresh nonces; CHALLENGE and PROOF
 * show that the other end has the key, over a transcript of both versions, roles and nonces. Only
 * then are keys of either direction derived, and only then does anything else pass: no address,
 * memory key or queue pair number is told to a stranger (MK-I1).
 */
#ifndef SRC_WIRE_SESSION_H
#define SRC_WIRE_SESSION_H

#include "src/wire/message.h"

#define WIRE_VERSION 1
#define WIRE_HEADER_BYTES 20u
#define WIRE_MAX_BODY 65536u /* frames of one record */
#define WIRE_COPIED                                                                                \
    16384u /* payload bytes of a BULK that are cheaper to copy than to send apart                  \
            */
#define WIRE_MAX_QUEUED (4u * 1024u * 1024u)

enum wire_role {
    WIRE_CLIENT = 1,
    WIRE_SERVER = 2,
};

struct wire_session;

/* `nonce` comes from the fabric's entropy. A client's session has its HELLO to send at once.
 * Errors: resources_exhausted. */
enum fabric_error wire_session_create(enum wire_role role, const uint8_t key[WIRE_KEY_BYTES],
                                      const uint8_t nonce[WIRE_NONCE_BYTES],
                                      struct wire_session **out);
void wire_session_destroy(struct wire_session *session); /* null is fine */

/* A server's, before a byte was fed: a client may have this key instead. HELLO hints at its key. */
void wire_session_accept(struct wire_session *session, const uint8_t key[WIRE_KEY_BYTES]);
/* The key that this session uses: settled by HELLO. */
const uint8_t *wire_session_key(const struct wire_session *session);

/* The other end has shown that it has the key, and so have we. */
bool wire_session_is_ready(const struct wire_session *session);
/* A server has answered a HELLO and got no proof. A client that dislikes the server's proof says so
 * by a proof of zeros, which is as wrong as any other: both ends then know what it was. */
bool wire_session_is_challenged(const struct wire_session *session);

/* Takes `length` bytes that arrived; takes less when a message waits to be fetched: *taken. Errors
 * end the session: auth_failed, replayed, frame_invalid, frame_too_large, unsupported_version (of
 * either end: a server that finds the client's too high has its own version to send, and the client
 * that gets this says the same), resources_exhausted. */
enum fabric_error wire_session_feed(struct wire_session *session, const uint8_t *data,
                                    size_t length, size_t *taken);
/* The next message, if *got. It is valid until the next call on this session. Errors: as feed. */
enum fabric_error wire_session_next(struct wire_session *session, struct wire_message *out,
                                    bool *got);
/* Bytes of the payload that the last message, BULK, announced and that come next on the stream; 0:
 * none. They go by this session, which takes nothing meanwhile: only whoever has the tag of their
 * block can tell that they are right. */
size_t wire_session_payload(const struct wire_session *session);
/* So many of them went by. */
void wire_session_payload_passed(struct wire_session *session, size_t length);
/* The stream ended: frame_invalid in the middle of a record or of its payload, else
 * peer_gone. */
enum fabric_error wire_session_end(const struct wire_session *session);

/* Queues one message; copies it, and a payload of up to WIRE_COPIED bytes. A longer one is to
 * follow at once what is queued when this returns. Messages that are queued one after the other
 * share a record of up to WIRE_MAX_BODY bytes, until wire_session_pending closes it. Errors:
 * queue_full (WIRE_MAX_QUEUED bytes wait; the peer does not read), resources_exhausted. The session
 * must be ready. */
enum fabric_error wire_session_send(struct wire_session *session,
                                    const struct wire_message *message);
/* Bytes that wait to be sent. */
size_t wire_session_queued(const struct wire_session *session);
/* What waits to be sent, valid until the next call on this session; and how much of it was sent. */
const uint8_t *wire_session_pending(struct wire_session *session, size_t *length);
void wire_session_sent(struct wire_session *session, size_t length);
/* Records so far, in either direction. */
void wire_session_records(const struct wire_session *session, uint64_t *sent, uint64_t *received);

/* Binds a LINK_REQUEST and its LINK_ACCEPT, every address field of both, to this session: both ends
 * compute it and compare what the other sends. */
void wire_session_bind(struct wire_session *session, const struct wire_message *request,
                       const struct wire_message *accept, uint8_t out[WIRE_MAC_BYTES]);

#endif
