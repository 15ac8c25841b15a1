/* SPDX-License-Identifier: Apache-2.0 */
#include "src/cli/parts.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define MAGIC "memkv parts 1 "
#define KEY_MAX 255u /* bytes */

uint32_t cli_parts_count(uint64_t size)
{
    assert(size <= CLI_MAX_FILE);
    return (uint32_t)((size + CLI_PART - 1) / CLI_PART);
}

void cli_parts_checksum(const void *data, size_t size, struct cli_parts *out)
{
    assert(data && out);
    XXH128_hash_t hash = XXH3_128bits(data, size);
    *out = (struct cli_parts){size, hash.high64, hash.low64};
}

size_t cli_parts_write(const struct cli_parts *parts, char out[CLI_LIST_MAX])
{
    assert(parts && out);
    int wrote = snprintf(out, CLI_LIST_MAX, MAGIC "%" PRIu64 " %016" PRIx64 "%016" PRIx64 "\n",
                         parts->size, parts->checksum_high, parts->checksum_low);
    assert(wrote > 0 && wrote < CLI_LIST_MAX);
    return (size_t)wrote;
}

/* Read by writing again: what differs in a byte is somebody's own value. */
bool cli_parts_read(const void *value, size_t length, struct cli_parts *out)
{
    char text[CLI_LIST_MAX], again[CLI_LIST_MAX], *at;
    assert((value || length == 0) && out);
    if (length < sizeof MAGIC - 1 || length >= sizeof text ||
        memcmp(value, MAGIC, sizeof MAGIC - 1) != 0)
        return false;
    memcpy(text, value, length);
    text[length] = '\0';
    uint64_t size = strtoull(text + sizeof MAGIC - 1, &at, 10);
    if (*at != ' ' || strlen(at) != 1 + 32 + 1)
        return false;
    char low[17], high[17];
    memcpy(high, at + 1, 16);
    memcpy(low, at + 17, 16);
    high[16] = low[16] = '\0';
    const struct cli_parts parts = {size, strtoull(high, NULL, 16), strtoull(low, NULL, 16)};
    bool same = cli_parts_write(&parts, again) == length && memcmp(again, text, length) == 0;
    if (!same || size <= CLI_PART || size > CLI_MAX_FILE)
        return false;
    *out = parts;
    return true;
}

bool cli_parts_key(const char *key, uint32_t i, char out[CLI_PART_KEY])
{
    assert(key && out);
    int wrote = snprintf(out, CLI_PART_KEY, "%s#%u", key, i);
    return wrote > 0 && (unsigned)wrote <= KEY_MAX;
}
