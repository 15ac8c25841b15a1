/* SPDX-License-Identifier: Apache-2.0 */
#include "src/wire/crypto.h"

#include <assert.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <stdlib.h>
#include <string.h>

#include "src/fabric/planted.h"
#include "src/wire/gmac.h"

struct wire_mac {
    EVP_MAC_CTX *context;
};

static EVP_MAC_CTX *context_new(const char *algorithm)
{
    EVP_MAC *mac = EVP_MAC_fetch(NULL, algorithm, NULL);
    EVP_MAC_CTX *context = mac ? EVP_MAC_CTX_new(mac) : NULL;
    EVP_MAC_free(mac);
    return context;
}

static bool hmac_start(EVP_MAC_CTX *context, const uint8_t *key)
{
    char digest[] = "SHA256";
    const OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
        OSSL_PARAM_construct_end(),
    };
    return EVP_MAC_init(context, key, WIRE_KEY_BYTES, params) == 1;
}

struct wire_mac *wire_mac_new(const uint8_t key[WIRE_KEY_BYTES])
{
    assert(key);
    struct wire_mac *mac = calloc(1, sizeof *mac);
    if (!mac)
        return NULL;
    mac->context = context_new("HMAC");
    if (mac->context && hmac_start(mac->context, key))
        return mac;
    wire_mac_free(mac);
    return NULL;
}

void wire_mac_free(struct wire_mac *mac)
{
    if (!mac)
        return;
    EVP_MAC_CTX_free(mac->context);
    free(mac);
}

void wire_mac_compute(struct wire_mac *mac, const struct wire_span *parts, size_t count,
                      uint8_t out[WIRE_MAC_BYTES])
{
    assert(mac && (parts || count == 0) && out);
    size_t length = 0;
    bool ok = EVP_MAC_init(mac->context, NULL, 0, NULL) == 1; /* the key stays */
    for (size_t i = 0; i < count && ok; i++)
        ok = EVP_MAC_update(mac->context, parts[i].data, parts[i].length) == 1;
    ok = ok && EVP_MAC_final(mac->context, out, &length, WIRE_MAC_BYTES) == 1;
    assert(ok && length == WIRE_MAC_BYTES); /* a keyed context has nothing left that can fail */
}

void wire_derive(const uint8_t key[WIRE_KEY_BYTES], const char *label,
                 const struct wire_span *parts, size_t count, uint8_t out[WIRE_KEY_BYTES])
{
    assert(key && label && count < 8);
    struct wire_span all[8] = {{label, strlen(label) + 1}};
    for (size_t i = 0; i < count; i++)
        all[i + 1] = parts[i];
    struct wire_mac *mac = wire_mac_new(key);
    assert(mac);
    wire_mac_compute(mac, all, count + 1, out);
    wire_mac_free(mac);
}

bool wire_equal(const uint8_t *a, const uint8_t *b, size_t length)
{
    assert(a && b);
    return CRYPTO_memcmp(a, b, length) == 0;
}

/* ------------------------------------------------------------------ tags */

struct wire_tag_run {
    struct wire_tagger *tagger;
    struct wire_gmac *gmac;
    struct wire_tag_run *next, *next_idle;
};

struct wire_tagger {
    struct wire_mac *derive; /* under the cluster key */
    struct wire_tag_run *runs, *idle;
};

struct wire_tagger *wire_tagger_new(const uint8_t cluster_key[WIRE_KEY_BYTES])
{
    assert(cluster_key);
    struct wire_tagger *tagger = calloc(1, sizeof *tagger);
    if (!tagger)
        return NULL;
    tagger->derive = wire_mac_new(cluster_key);
    if (tagger->derive)
        return tagger;
    wire_tagger_free(tagger);
    return NULL;
}

void wire_tagger_free(struct wire_tagger *tagger)
{
    if (!tagger)
        return;
    while (tagger->runs) {
        struct wire_tag_run *run = tagger->runs;
        tagger->runs = run->next;
        wire_gmac_free(run->gmac);
        free(run);
    }
    wire_mac_free(tagger->derive);
    free(tagger);
}

/* The key of a tag must never serve twice: it depends on all that can differ between two blocks. */
static void one_time_key(struct wire_tagger *tagger, const void *key, size_t key_length,
                         size_t length, const uint8_t *nonce, uint8_t out[WIRE_KEY_BYTES])
{
    static const char label[] = "memkv block tag 1";
    assert(key_length <= WIRE_MAX_KEY);
    uint8_t sizes[9] = {(uint8_t)key_length};
    for (unsigned i = 0; i < 8; i++)
        sizes[1 + i] = (uint8_t)((uint64_t)length >> (8 * (7 - i)));
    const struct wire_span parts[] = {{label, sizeof label},
                                      {sizes, sizeof sizes},
                                      {key, key_length},
                                      {nonce, WIRE_TAG_NONCE_BYTES}};
    wire_mac_compute(tagger->derive, parts, 4, out);
}

/* An idle one, or one more. */
static struct wire_tag_run *take_run(struct wire_tagger *tagger)
{
    struct wire_tag_run *run = tagger->idle;
    if (run) {
        tagger->idle = run->next_idle;
        return run;
    }
    run = calloc(1, sizeof *run);
    if (!run)
        return NULL;
    run->gmac = wire_gmac_new(false);
    if (!run->gmac) {
        free(run);
        return NULL;
    }
    run->tagger = tagger;
    run->next = tagger->runs;
    tagger->runs = run;
    return run;
}

struct wire_tag_run *wire_tag_begin(struct wire_tagger *tagger, const void *key, size_t key_length,
                                    size_t length, const uint8_t nonce[WIRE_TAG_NONCE_BYTES])
{
    /* What NIST SP 800-38D, 8 asks for is that no key meets an IV twice; a key that serves once
     * meets any IV once. */
    static const uint8_t iv[WIRE_GMAC_IV_BYTES];
    uint8_t once[WIRE_KEY_BYTES];
    assert(tagger && key && nonce);
    struct wire_tag_run *run = take_run(tagger);
    if (!run)
        return NULL;
    one_time_key(tagger, key, key_length, length, nonce, once);
    wire_gmac_begin(run->gmac, once, iv);
    OPENSSL_cleanse(once, sizeof once);
    return run;
}

void wire_tag_add(struct wire_tag_run *run, const void *data, size_t length)
{
    assert(run && data);
    wire_gmac_add(run->gmac, data, PLANTED(wire_tag_end_left_out) ? length & ~(size_t)15 : length);
}

void wire_tag_drop(struct wire_tag_run *run)
{
    if (!run)
        return;
    run->next_idle = run->tagger->idle;
    run->tagger->idle = run;
}

void wire_tag_end(struct wire_tag_run *run, uint8_t mac[WIRE_TAG_BYTES])
{
    assert(run && mac);
    wire_gmac_end(run->gmac, mac);
    wire_tag_drop(run);
}

bool wire_tag_fill(struct wire_tagger *tagger, const void *key, size_t key_length,
                   const void *value, size_t length, struct wire_tag *tag)
{
    assert(value && tag);
    struct wire_tag_run *run = wire_tag_begin(tagger, key, key_length, length, tag->nonce);
    if (!run)
        return false;
    wire_tag_add(run, value, length);
    wire_tag_end(run, tag->mac);
    return true;
}

void wire_tag_compute(const uint8_t cluster_key[WIRE_KEY_BYTES], const void *key, size_t key_length,
                      const void *value, size_t length, struct wire_tag *tag)
{
    struct wire_tagger *tagger = wire_tagger_new(cluster_key);
    bool filled = tagger && wire_tag_fill(tagger, key, key_length, value, length, tag);
    assert(filled);
    wire_tagger_free(tagger);
}

bool wire_tag_verify(const uint8_t cluster_key[WIRE_KEY_BYTES], const void *key, size_t key_length,
                     const void *value, size_t length, const struct wire_tag *tag)
{
    assert(tag);
    struct wire_tag again = *tag;
    wire_tag_compute(cluster_key, key, key_length, value, length, &again);
    return wire_equal(again.mac, tag->mac, WIRE_TAG_BYTES);
}
