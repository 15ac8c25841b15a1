/* SPDX-License-Identifier: Apache-2.0 */
#include "src/wire/gmac.h"

#include <assert.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <stdlib.h>

#include "src/fabric/planted.h"
#include "src/wire/gmac_way.h"

struct wire_gmac {
    const struct gmac_way *way;
    void *state;
    bool open;
};

/* ------------------------------------------------------------------ by libcrypto */

static void crypto_destroy(void *state)
{
    EVP_MAC_CTX_free(state);
}

static void *crypto_create(void)
{
    char cipher[] = "AES-256-GCM";
    const OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_CIPHER, cipher, 0),
        OSSL_PARAM_construct_end(),
    };
    EVP_MAC *mac = EVP_MAC_fetch(NULL, "GMAC", NULL);
    EVP_MAC_CTX *context = mac ? EVP_MAC_CTX_new(mac) : NULL;
    EVP_MAC_free(mac);
    if (context && EVP_MAC_CTX_set_params(context, params) == 1)
        return context;
    crypto_destroy(context);
    return NULL;
}

static void crypto_begin(void *state, const uint8_t *key, const uint8_t *iv)
{
    uint8_t copy[WIRE_GMAC_IV_BYTES];
    for (unsigned i = 0; i < sizeof copy; i++)
        copy[i] = iv[i];
    const OSSL_PARAM params[] = {
        OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_IV, copy, sizeof copy),
        OSSL_PARAM_construct_end(),
    };
    bool ok = EVP_MAC_init(state, key, WIRE_GMAC_KEY_BYTES, params) == 1;
    assert(ok); /* a context with a cipher has nothing left that can fail */
}

static void crypto_add(void *state, const uint8_t *data, size_t length)
{
    bool ok = EVP_MAC_update(state, data, length) == 1;
    assert(ok);
}

static void crypto_end(void *state, uint8_t *mac)
{
    size_t written = 0;
    bool ok = EVP_MAC_final(state, mac, &written, WIRE_GMAC_BYTES) == 1;
    assert(ok && written == WIRE_GMAC_BYTES);
}

static const struct gmac_way libcrypto = {"libcrypto",  crypto_create, crypto_destroy,
                                          crypto_begin, crypto_add,    crypto_end};

/* ------------------------------------------------------------------ by either */

static const struct gmac_way *fastest(void)
{
#ifdef MEMKV_IPSEC_MB
    const struct gmac_way *way = gmac_ipsec();
    if (way)
        return way;
#endif
    return &libcrypto;
}

const char *wire_gmac_library(void)
{
    return fastest()->library;
}

struct wire_gmac *wire_gmac_new(bool portable)
{
    struct wire_gmac *gmac = calloc(1, sizeof *gmac);
    if (!gmac)
        return NULL;
    gmac->way = portable ? &libcrypto : fastest();
    gmac->state = gmac->way->create();
    if (gmac->state)
        return gmac;
    free(gmac);
    return NULL;
}

void wire_gmac_free(struct wire_gmac *gmac)
{
    if (!gmac)
        return;
    gmac->way->destroy(gmac->state);
    free(gmac);
}

void wire_gmac_begin(struct wire_gmac *gmac, const uint8_t key[WIRE_GMAC_KEY_BYTES],
                     const uint8_t iv[WIRE_GMAC_IV_BYTES])
{
    static const uint8_t zeros[WIRE_GMAC_IV_BYTES];
    assert(gmac && key && iv);
    gmac->way->begin(gmac->state, key, PLANTED(wire_gmac_iv_left_out) ? zeros : iv);
    gmac->open = true;
}

void wire_gmac_add(struct wire_gmac *gmac, const void *data, size_t length)
{
    assert(gmac && gmac->open && (data || length == 0));
    if (length)
        gmac->way->add(gmac->state, data, length);
}

void wire_gmac_end(struct wire_gmac *gmac, uint8_t mac[WIRE_GMAC_BYTES])
{
    assert(gmac && gmac->open && mac);
    gmac->way->end(gmac->state, mac);
    gmac->open = false;
}
