/* SPDX-License-Identifier: Apache-2.0 */
#include "src/config/key_file.h"

#include <assert.h>
#include <string.h>

static uint8_t nibble(char c)
{
    return (uint8_t)(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
}

bool config_read_key_file(const char *text, uint8_t key[CONFIG_KEY_BYTES])
{
    static const char digits[] = "0123456789abcdefABCDEF";
    const char *at = text;
    assert(text && key);
    while (*at == '#' || *at == '\n' || *at == '\r')
        at += *at == '#' ? strcspn(at, "\n") : 1;
    if (strspn(at, digits) != 2 * CONFIG_KEY_BYTES)
        return false;
    const char *rest = at + 2 * CONFIG_KEY_BYTES;
    if (strspn(rest, " \r\n") != strlen(rest))
        return false;
    for (size_t i = 0; i < CONFIG_KEY_BYTES; i++)
        key[i] = (uint8_t)(nibble(at[2 * i]) << 4 | nibble(at[2 * i + 1]));
    return true;
}
