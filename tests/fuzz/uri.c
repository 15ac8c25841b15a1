/* SPDX-License-Identifier: Apache-2.0 */
/* URIs of the plug-in: settings and a prefix come out, or there is a complaint with its column. */
#include <string.h>

#include "lib/uri.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length)
{
    static struct lib_uri uri;
    struct memkv_error error = {.code = MEMKV_OK};
    char *text = malloc(length + 1);
    HOLDS(text);
    memcpy(text, data, length);
    text[length] = '\0';
    int code = lib_uri_read(text, &uri, &error);
    HOLDS(code == error.code && (code == MEMKV_OK || code == MEMKV_ERR_CONFIG_INVALID));
    HOLDS((code == MEMKV_OK) != (strstr(error.text, "column") != NULL));
    if (code == MEMKV_OK) {
        size_t prefix = strlen(uri.prefix), count = 0;
        HOLDS(prefix == 0 || uri.prefix[prefix - 1] == '/');
        for (; uri.settings[count]; count++)
            HOLDS(strchr(uri.settings[count], '='));
        HOLDS(count >= 1 && count <= LIB_URI_SETTINGS + 1);
    }
    free(text);
    return 0;
}
