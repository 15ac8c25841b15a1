/* SPDX-License-Identifier: Apache-2.0 */
#include "src/config/key_file.h"

#include <assert.h>
#include <openssl/crypto.h>
#include <string.h>

static uint8_t nibble(char c)
{
    return (uint8_t)(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
}

bool config_parse_key(const char *text, uint8_t key[CONFIG_KEY_BYTES])
{
    assert(text && key);
    if (strspn(text, "0123456789abcdefABCDEF") != 2 * CONFIG_KEY_BYTES)
        return false;
    for (size_t i = 0; i < CONFIG_KEY_BYTES; i++)
        key[i] = (uint8_t)(nibble(text[2 * i]) << 4 | nibble(text[2 * i + 1]));
    return true;
}

bool config_read_key_file(const char *text, uint8_t key[CONFIG_KEY_BYTES])
{
    uint8_t found[CONFIG_KEY_BYTES];
    const char *at = text;
    assert(text && key);
    while (*at == '#' || *at == '\n' || *at == '\r')
        at += *at == '#' ? strcspn(at, "\n") : 1;
    bool whole = config_parse_key(at, found);
    const char *rest = whole ? at + 2 * CONFIG_KEY_BYTES : at;
    whole = whole && strspn(rest, " \r\n") == strlen(rest);
    if (whole)
        memcpy(key, found, sizeof found);
    OPENSSL_cleanse(found, sizeof found);
    return whole;
}
