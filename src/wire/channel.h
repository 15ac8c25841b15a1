/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session on a control stream of the fabric: what server and client talk through. Bytes of values
 * go from the sender's memory to the stream and from the stream to where the receiver wants them,
 * without a copy here but for what was read ahead of them.
 */
#ifndef SRC_WIRE_CHANNEL_H
#define SRC_WIRE_CHANNEL_H

#include "src/wire/session.h"

/* A sender of bulk adds no more while this many bytes wait. */
#define WIRE_BULK_WATERMARK (256u * 1024u)
/* Bytes that go to the stream at a time where their tag is computed: still in the cache then. */
#define WIRE_TAGGED (128u * 1024u)
/* Payload bytes that are told of at a time: still in the cache when their tag is computed. */
#define WIRE_RECEIVE (256u * 1024u)

struct wire_channel;

/* Takes over the stream: wire_channel_close closes it, also after a failure of this function.
 * A server's stream is open already; a client calls wire_channel_flush when CONNECTED came.
 * Errors: resources_exhausted. */
enum fabric_error wire_channel_open(struct fabric *f, fabric_stream stream, enum wire_role role,
                                    const uint8_t key[WIRE_KEY_BYTES], struct wire_channel **out);
/* As wire_session_accept, right after the opening; and wire_session_key. */
void wire_channel_accept(struct wire_channel *channel, const uint8_t key[WIRE_KEY_BYTES]);
const uint8_t *wire_channel_key(const struct wire_channel *channel);
/* `reset`: the peer gets no more of what was queued. Null is fine. */
void wire_channel_close(struct wire_channel *channel, bool reset);

bool wire_channel_is_ready(const struct wire_channel *channel);
bool wire_channel_is_challenged(const struct wire_channel *channel);
/* Computes tags under the key of the connection; ends with it. Null without memory. */
struct wire_tagger *wire_channel_tagger(struct wire_channel *channel);
/* Bytes accepted by wire_channel_send, payload included, that the stream has not taken. */
size_t wire_channel_queued(const struct wire_channel *channel);

/* The next message that has arrived, if *got; valid until the next call. Call until *got is false.
 * After a BULK, PAYLOAD tells of the bytes that have come since to where wire_channel_receive said.
 * Errors end the channel: those of wire_session_feed and of the stream. */
enum fabric_error wire_channel_next(struct wire_channel *channel, struct wire_message *out,
                                    bool *got);
/* Right after a BULK: its payload is wanted at `to`, which holds its length. Unless this is said it
 * is thrown away. */
void wire_channel_receive(struct wire_channel *channel, void *to);
/* What is still to come of the payload is thrown away: nothing is written any more to where it was
 * wanted. */
void wire_channel_discard(struct wire_channel *channel);
/* From now on what is less than a full record waits for wire_channel_flush, so that messages that
 * belong together travel together. */
void wire_channel_cork(struct wire_channel *channel);
/* Queues and, unless it is corked, sends what the stream takes. A BULK of more than WIRE_COPIED
 * bytes is always sent at once, with what was queued before it, and its bytes are not copied: they
 * stay as they are until wire_channel_is_sending says no, or the channel is closed; its `run` lives
 * as long, or until wire_channel_keep. Errors: queue_full (also for such a BULK while another one
 * is being sent), resources_exhausted, peer_gone. */
enum fabric_error wire_channel_send(struct wire_channel *channel,
                                    const struct wire_message *message);
/* The stream has not taken all of a payload that was not copied. */
bool wire_channel_is_sending(const struct wire_channel *channel);
/* It is to get no BULK: so it is, or much waits. WRITABLE follows. */
bool wire_channel_is_busy(const struct wire_channel *channel);
/* Copies what is left of the payload, so that its memory and its run are free now. Without memory
 * for that the next send or flush fails: resources_exhausted. */
void wire_channel_keep(struct wire_channel *channel);
/* Sends what waits, as far as the stream takes it: also after CONNECTED and WRITABLE. Errors:
 * peer_gone, and as wire_channel_keep says. */
enum fabric_error wire_channel_flush(struct wire_channel *channel);
/* Records so far, in either direction. */
void wire_channel_records(const struct wire_channel *channel, uint64_t *sent, uint64_t *received);

void wire_channel_bind(struct wire_channel *channel, const struct wire_message *request,
                       const struct wire_message *accept, uint8_t out[WIRE_MAC_BYTES]);

#endif
