/* SPDX-License-Identifier: Apache-2.0 */
/* AES-256-GMAC by libipsec-mb. The build leaves this file out where the library is missing. */
#include <assert.h>
#include <intel-ipsec-mb.h>
#include <openssl/crypto.h>
#include <stdlib.h>

#include "src/wire/gmac.h"
#include "src/wire/gmac_way.h"

#define ALIGNMENT 64u
/* With less than this libcrypto is as fast. */
#define NEEDED (IMB_CPUFLAGS_AVX512 | IMB_FEATURE_VAES | IMB_FEATURE_VPCLMULQDQ)

struct state {
    struct gcm_key_data key;
    struct gcm_context_data context;
};

/* What a tag needs of a manager, which itself has 200 KiB and takes longer to make than a tag.
 * Written before main and never again: what a processor has does not change. */
static struct {
    aes_gcm_pre_t expand;
    aes_gmac_init_t begin;
    aes_gmac_update_t add;
    aes_gmac_finalize_t end;
} chosen;

__attribute__((constructor)) static void choose(void)
{
    IMB_MGR *manager = alloc_mb_mgr(0);
    if (!manager)
        return;
    if ((manager->features & NEEDED) == NEEDED) {
        init_mb_mgr_avx512(manager);
        if (imb_get_errno(manager) == 0) { /* it has tested itself */
            chosen.expand = manager->gcm256_pre;
            chosen.begin = manager->gmac256_init;
            chosen.add = manager->gmac256_update;
            chosen.end = manager->gmac256_finalize;
        }
    }
    free_mb_mgr(manager);
}

static void *create(void)
{
    return aligned_alloc(ALIGNMENT, (sizeof(struct state) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
}

static void begin(void *state, const uint8_t *key, const uint8_t *iv)
{
    struct state *s = state;
    assert(chosen.expand && chosen.begin && chosen.add && chosen.end);
    chosen.expand(key, &s->key);
    chosen.begin(&s->key, &s->context, iv, WIRE_GMAC_IV_BYTES);
}

static void add(void *state, const uint8_t *data, size_t length)
{
    struct state *s = state;
    chosen.add(&s->key, &s->context, data, length);
}

static void end(void *state, uint8_t *mac)
{
    struct state *s = state;
    chosen.end(&s->key, &s->context, mac, WIRE_GMAC_BYTES);
    OPENSSL_cleanse(s, sizeof *s);
}

const struct gmac_way *gmac_ipsec(void)
{
    static const struct gmac_way way = {"libipsec-mb", create, free, begin, add, end};
    return chosen.begin ? &way : NULL;
}
