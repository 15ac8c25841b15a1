/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AES-256-GMAC of NIST SP 800-38D: through libipsec-mb where it was built in and the processor has
 * wide AES and carry-less multiplication (VAES, VPCLMULQDQ, AVX-512), three times as fast as
 * OpenSSL 3.0; otherwise through libcrypto. Either way the same bytes.
 */
#ifndef SRC_WIRE_GMAC_H
#define SRC_WIRE_GMAC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WIRE_GMAC_KEY_BYTES 32
#define WIRE_GMAC_IV_BYTES 12
#define WIRE_GMAC_BYTES 16

/* One computation at a time, used again and again. */
struct wire_gmac;

/* Null without memory. `portable`: through libcrypto in any case. wire_gmac_free takes null. */
struct wire_gmac *wire_gmac_new(bool portable);
void wire_gmac_free(struct wire_gmac *gmac);

/* Begins anew, also where something was begun. The same key and IV must never begin two messages:
 * from two tags under them a forger computes the hash key (SP 800-38D, 8 and appendix A). */
void wire_gmac_begin(struct wire_gmac *gmac, const uint8_t key[WIRE_GMAC_KEY_BYTES],
                     const uint8_t iv[WIRE_GMAC_IV_BYTES]);
/* The next bytes of the message, in pieces of any length. */
void wire_gmac_add(struct wire_gmac *gmac, const void *data, size_t length);
/* After the last; nothing of the key stays behind. */
void wire_gmac_end(struct wire_gmac *gmac, uint8_t mac[WIRE_GMAC_BYTES]);

/* What computes unless `portable` is asked for: "libipsec-mb" or "libcrypto". */
const char *wire_gmac_library(void);

#endif
