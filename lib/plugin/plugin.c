/* SPDX-License-Identifier: Apache-2.0 */
#include "include/memkv/plugin.h"

#include "lib/uri.h"
#include "src/config/version.h"

static int open_uri(const char *text, struct memkv_client **out, struct memkv_error *error)
{
    struct lib_uri uri;
    int code = lib_uri_read(text, &uri, error);
    if (code)
        return code;
    const struct memkv_options options = {
        .size = sizeof options, .settings = uri.settings, .key_prefix = uri.prefix};
    return memkv_open(&options, out, error);
}

const struct memkv_plugin *memkv_plugin(unsigned abi)
{
    static const struct memkv_plugin table = {
        .size = sizeof table,
        .abi = MEMKV_PLUGIN_ABI,
        .version = MEMKV_VERSION,
        .open = open_uri,
        .close = memkv_close,
        .put = memkv_put,
        .get = memkv_get,
        .exists = memkv_exists,
        .remove = memkv_delete,
        .batch = memkv_batch,
        .interrupt = memkv_interrupt,
        .memory_register = memkv_memory_register,
        .memory_unregister = memkv_memory_unregister,
        .status = memkv_status,
        .free = memkv_free,
    };
    return abi == MEMKV_PLUGIN_ABI ? &table : NULL;
}
