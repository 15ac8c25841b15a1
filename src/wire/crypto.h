/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cryptography of the wire: HMAC-SHA256 for keys and records, AES-256-GMAC with a one-time key
 * for blocks.
 */
#ifndef SRC_WIRE_CRYPTO_H
#define SRC_WIRE_CRYPTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WIRE_KEY_BYTES 32
#define WIRE_MAC_BYTES 32
#define WIRE_NONCE_BYTES 32
#define WIRE_TAG_NONCE_BYTES 16
#define WIRE_TAG_BYTES 16
#define WIRE_MAX_KEY 255 /* bytes of a block's key */

struct wire_span {
    const void *data;
    size_t length;
};

/* A keyed HMAC-SHA256 that is used again and again. */
struct wire_mac;

/* Null without memory. wire_mac_free takes null. */
struct wire_mac *wire_mac_new(const uint8_t key[WIRE_KEY_BYTES]);
void wire_mac_free(struct wire_mac *mac);
/* The MAC over the parts one after the other. */
void wire_mac_compute(struct wire_mac *mac, const struct wire_span *parts, size_t count,
                      uint8_t out[WIRE_MAC_BYTES]);

/* HMAC-SHA256 over `label` (with its final NUL, so that no label is the beginning of another) and
 * the parts: how every key is derived from another. */
void wire_derive(const uint8_t key[WIRE_KEY_BYTES], const char *label,
                 const struct wire_span *parts, size_t count, uint8_t out[WIRE_KEY_BYTES]);

/* Compares in constant time. */
bool wire_equal(const uint8_t *a, const uint8_t *b, size_t length);

/* What the writer of a block computes over its value and every verifier computes again. */
struct wire_tag {
    uint8_t nonce[WIRE_TAG_NONCE_BYTES]; /* fresh for every PUT: the key of a tag serves once */
    uint8_t mac[WIRE_TAG_BYTES];
};

/* Tags of many values under one cluster key: what they share is fetched and derived once, and what
 * one has used serves the next. Its functions run on one thread at a time. */
struct wire_tagger;
/* One tag that is computed while the bytes of its value come. Belongs to its tagger. */
struct wire_tag_run;

/* Null without memory. wire_tagger_free takes null, and ends the runs that are left. */
struct wire_tagger *wire_tagger_new(const uint8_t cluster_key[WIRE_KEY_BYTES]);
void wire_tagger_free(struct wire_tagger *tagger);

/* Begins the tag of a value of `length` bytes under `key`; null without memory. Ends with
 * wire_tag_end or wire_tag_drop. */
struct wire_tag_run *wire_tag_begin(struct wire_tagger *tagger, const void *key, size_t key_length,
                                    size_t length, const uint8_t nonce[WIRE_TAG_NONCE_BYTES]);
/* The next bytes of the value. */
void wire_tag_add(struct wire_tag_run *run, const void *data, size_t length);
/* After the last: the run is over. */
void wire_tag_end(struct wire_tag_run *run, uint8_t mac[WIRE_TAG_BYTES]);
void wire_tag_drop(struct wire_tag_run *run); /* null is fine */

/* Fills tag->mac for the nonce that stands in it: of a value that is there as a whole. False
 * without memory. */
bool wire_tag_fill(struct wire_tagger *tagger, const void *key, size_t key_length,
                   const void *value, size_t length, struct wire_tag *tag);
/* The same for one value only, and whether a tag is the right one. */
void wire_tag_compute(const uint8_t cluster_key[WIRE_KEY_BYTES], const void *key, size_t key_length,
                      const void *value, size_t length, struct wire_tag *tag);
bool wire_tag_verify(const uint8_t cluster_key[WIRE_KEY_BYTES], const void *key, size_t key_length,
                     const void *value, size_t length, const struct wire_tag *tag);

#endif
