/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a value of 2 MiB costs either end of a channel, over a stream that is nothing but memory.
 * Each end is compared with memcpy of the same bytes in the same run, and with memcpy and the tag
 * where the end computes one: what is missing is what the channel adds. Prints measured / to reach.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/wire/channel.h"
#include "tests/support/fake_fabric.h"
#include "tests/support/reach.h"

#define BLOCK ((size_t)2 << 20)
#define BUFFERS 32u /* more than a cache holds */
#define BLOCKS 320u
#define PIECE ((uint32_t)128 << 10)
#define TO_REACH 0.8

/* One end of the stream; what it sends goes to the other one's `data`. */
struct end {
    struct fake_fabric *fake;
    struct fabric_ops ops;
    struct end *other;
    struct wire_channel *channel;
    struct wire_tag_run *run;
    uint8_t *data;
    size_t from, used, room;
    double took; /* s of processor time */
};

static struct end ends[2];

static struct end *end_of(struct fabric *f)
{
    return f == &ends[0].fake->head ? &ends[0] : &ends[1];
}

static enum fabric_error take_send(struct fabric *f, fabric_stream stream, const void *data,
                                   size_t length, size_t *accepted)
{
    struct end *to = end_of(f)->other;
    (void)stream;
    if (to->from == to->used)
        to->from = to->used = 0;
    *accepted = length < to->room - to->used ? length : to->room - to->used;
    memcpy(to->data + to->used, data, *accepted);
    to->used += *accepted;
    return FABRIC_OK;
}

static enum fabric_error take_recv(struct fabric *f, fabric_stream stream, void *buf,
                                   size_t capacity, size_t *received, bool *end)
{
    struct end *e = end_of(f);
    (void)stream;
    *end = false;
    *received = capacity < e->used - e->from ? capacity : e->used - e->from;
    memcpy(buf, e->data + e->from, *received);
    e->from += *received;
    return FABRIC_OK;
}

static void open_end(struct end *e, struct end *other, enum wire_role role)
{
    static const uint8_t key[WIRE_KEY_BYTES] = {1, 2, 3};
    *e = (struct end){.fake = fake_fabric_new(NULL), .other = other, .room = (size_t)1 << 20};
    e->data = malloc(e->room);
    e->ops = *e->fake->head.ops;
    e->ops.stream_send = take_send;
    e->ops.stream_recv = take_recv;
    e->fake->head.ops = &e->ops;
    reach_check(wire_channel_open(&e->fake->head, (fabric_stream){1}, role, key, &e->channel) == 0,
                "a channel");
}

static void close_end(struct end *e)
{
    wire_channel_close(e->channel, true);
    fabric_destroy(&e->fake->head);
    free(e->data);
}

static void shake_hands(void)
{
    struct wire_message m;
    bool got = false;
    for (int i = 0; i < 6; i++) {
        struct end *e = &ends[i % 2];
        reach_check(wire_channel_flush(e->channel) == 0, "sending");
        reach_check(wire_channel_next(e->channel, &m, &got) == 0 && !got, "the handshake");
    }
    reach_check(wire_channel_is_ready(ends[0].channel) && wire_channel_is_ready(ends[1].channel),
                "the handshake");
}

/* ------------------------------------------------------------------ one value */

struct course {
    const uint8_t *from;
    uint8_t *to;
    size_t sent, received;
    bool tags; /* the sender computes the tag as well: PUT */
};

static void begin_tag(struct end *e)
{
    static const uint8_t nonce[WIRE_TAG_NONCE_BYTES] = {7};
    e->run = wire_tag_begin(wire_channel_tagger(e->channel), "key", 3, BLOCK, nonce);
    reach_check(e->run != NULL, "a tag");
}

static void send_some(struct end *e, struct course *c)
{
    double began = reach_cpu_seconds();
    reach_check(wire_channel_flush(e->channel) == 0, "sending");
    while (!wire_channel_is_sending(e->channel) && c->sent < BLOCK) {
        const struct wire_message m = {.type = WIRE_BULK,
                                       .id = 1,
                                       .offset = (uint32_t)c->sent,
                                       .length = c->tags ? PIECE : (uint32_t)BLOCK,
                                       .data = c->from + c->sent};
        reach_check(wire_channel_send(e->channel, &m) == 0, "sending");
        if (c->tags)
            wire_tag_add(e->run, m.data, m.length);
        c->sent += m.length;
    }
    e->took += reach_cpu_seconds() - began;
}

static void receive_some(struct end *e, struct course *c)
{
    double began = reach_cpu_seconds();
    bool got = true;
    while (got) {
        struct wire_message m;
        reach_check(wire_channel_next(e->channel, &m, &got) == 0, "receiving");
        if (got && m.type == WIRE_BULK)
            wire_channel_receive(e->channel, c->to + m.offset);
        if (got && m.type == WIRE_PAYLOAD) {
            wire_tag_add(e->run, m.data, m.length);
            c->received += m.length;
        }
    }
    e->took += reach_cpu_seconds() - began;
}

static void move(struct course *c)
{
    uint8_t sent[WIRE_TAG_BYTES], received[WIRE_TAG_BYTES];
    begin_tag(&ends[1]);
    if (c->tags)
        begin_tag(&ends[0]);
    while (c->received < BLOCK) {
        send_some(&ends[0], c);
        receive_some(&ends[1], c);
    }
    wire_tag_end(ends[1].run, received);
    if (c->tags)
        wire_tag_end(ends[0].run, sent);
    reach_check(!c->tags || memcmp(sent, received, sizeof sent) == 0, "the tags");
}

/* ------------------------------------------------------------------ the whole */

static uint8_t *memory(int fill)
{
    uint8_t *made = aligned_alloc(4096, BUFFERS * BLOCK);
    reach_check(made != NULL, "memory");
    memset(made, fill, BUFFERS * BLOCK);
    return made;
}

static double copy_all(const uint8_t *from, uint8_t *to)
{
    double began = reach_cpu_seconds();
    for (unsigned i = 0; i < BLOCKS; i++)
        memcpy(to + i % BUFFERS * BLOCK, from + i % BUFFERS * BLOCK, BLOCK);
    return reach_cpu_seconds() - began;
}

/* Of bytes that are in the cache. */
static double tag_all(const uint8_t *from)
{
    uint8_t mac[WIRE_TAG_BYTES];
    double began = reach_cpu_seconds();
    for (unsigned i = 0; i < BLOCKS; i++) {
        begin_tag(&ends[0]);
        for (size_t at = 0; at < BLOCK; at += WIRE_RECEIVE)
            wire_tag_add(ends[0].run, from, WIRE_RECEIVE);
        wire_tag_end(ends[0].run, mac);
    }
    return reach_cpu_seconds() - began;
}

static void judge(const char *what, double took, double copy, double tag)
{
    printf("%s: %.0f us a block, %.2f of memcpy's rate\n", what, took / BLOCKS * 1e6, copy / took);
    reach(REACH_AT_LEAST, what, (copy + tag) / took, TO_REACH,
          tag > 0 ? "of memcpy and the tag" : "of memcpy");
}

int main(void)
{
    uint8_t *from = memory(1), *to = memory(2);
    open_end(&ends[0], &ends[1], WIRE_CLIENT);
    open_end(&ends[1], &ends[0], WIRE_SERVER);
    shake_hands();
    copy_all(from, to);
    const double copy = copy_all(from, to), tag = tag_all(from);
    for (int tags = 0; tags < 2; tags++) {
        ends[0].took = ends[1].took = 0;
        for (unsigned i = 0; i < BLOCKS; i++) {
            struct course c = {
                .from = from + i % BUFFERS * BLOCK, .to = to + i % BUFFERS * BLOCK, .tags = tags};
            move(&c);
        }
        judge(tags ? "PUT, the client's side" : "GET, the server's side", ends[0].took, copy,
              tags ? tag : 0);
        judge(tags ? "PUT, the server's side" : "GET, the client's side", ends[1].took, copy, tag);
    }
    reach_check(memcmp(from, to, BUFFERS * BLOCK) == 0, "the bytes");
    close_end(&ends[0]);
    close_end(&ends[1]);
    free(from);
    free(to);
    return 0;
}
