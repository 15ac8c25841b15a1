/* SPDX-License-Identifier: Apache-2.0 */
#include "src/fabric/ipoib.h"

#include <assert.h>
#include <string.h>

#include "src/fabric/planted.h"

static bool is(const char *text, const char *data, size_t length)
{
    size_t own = strlen(text);
    if (PLANTED(fabric_ipoib_mode_bare) && length + 1 == own)
        own--;
    return length == own && memcmp(data, text, own) == 0;
}

bool fabric_ipoib_mode(const void *data, size_t length, bool *connected)
{
    assert(data && connected);
    *connected = is("connected\n", data, length);
    return *connected || is("datagram\n", data, length);
}

bool fabric_ipoib_mtu(const void *data, size_t length, uint32_t most, uint32_t *mtu)
{
    const char *digits = data;
    uint32_t value = 0;
    assert(data && mtu && most <= IPOIB_CONNECTED_MTU);
    if (length > 0 && digits[length - 1] == '\n')
        length--;
    if (length == 0 || length > 5)
        return false;
    for (size_t i = 0; i < length; i++) {
        if (digits[i] < '0' || digits[i] > '9')
            return false;
        value = value * 10 + (uint32_t)(digits[i] - '0');
    }
    if (value < IPOIB_MTU_LEAST || (value > most && !PLANTED(fabric_ipoib_mtu_unbounded)))
        return false;
    *mtu = value;
    return true;
}
