/* SPDX-License-Identifier: Apache-2.0 */
/* What carries gmac.h: libcrypto always, libipsec-mb where it is built in. For those two only. */
#ifndef SRC_WIRE_GMAC_WAY_H
#define SRC_WIRE_GMAC_WAY_H

#include <stddef.h>
#include <stdint.h>

/* The members are the functions of gmac.h; `create` may return null. */
struct gmac_way {
    const char *library;
    void *(*create)(void);
    void (*destroy)(void *state);
    void (*begin)(void *state, const uint8_t *key, const uint8_t *iv);
    void (*add)(void *state, const uint8_t *data, size_t length);
    void (*end)(void *state, uint8_t *mac);
};

/* Null where the processor lacks what makes it faster than libcrypto. */
const struct gmac_way *gmac_ipsec(void);

#endif
