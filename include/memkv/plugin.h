/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The client of MemKV as a plug-in: one shared object, memkv_plugin.so, for engines that load their
 * storage at run time and languages that call C without a compiler. It shows one function,
 * memkv_plugin, which returns a table of functions; it needs no libmemkv beside it.
 *
 *     void *object = dlopen("memkv_plugin.so", RTLD_NOW | RTLD_LOCAL);
 *     memkv_plugin_entry *entry = (memkv_plugin_entry *)dlsym(object, MEMKV_PLUGIN_ENTRY);
 *     const struct memkv_plugin *memkv = entry(MEMKV_PLUGIN_ABI);
 *     memkv->open("memkv://node1:9900/model-7?auth_key_file=/etc/memkv/auth.key", &store, &error);
 *
 * The functions are those of memkv.h by the same names, and everything that stands there holds for
 * them: threads, fork, ownership of memory, errors. dlclose may be called when every client is
 * closed; the object stays loaded all the same, because a name that is being looked up outlives its
 * client.
 */
#ifndef MEMKV_PLUGIN_H
#define MEMKV_PLUGIN_H

#include "memkv.h"

#ifdef __cplusplus
extern "C" {
#endif

#define MEMKV_PLUGIN_ABI 1u /* changes when a member changes; a new one at the end is no change */
#define MEMKV_PLUGIN_ENTRY "memkv_plugin"

struct memkv_plugin {
    size_t size;         /* bytes of this structure as the plug-in has it: what begins there or
                          * later is not in it */
    unsigned abi;        /* MEMKV_PLUGIN_ABI */
    const char *version; /* memkv_version(); never freed */

    /* Opens a client by its URI (UTF-8, at most MEMKV_PLUGIN_MAX_URI bytes):
     *
     *     memkv://HOST:PORT[,HOST:PORT...][/NAMESPACE][?KEY=VALUE[&KEY=VALUE...]]
     *
     * The servers win over those of the environment and of the configuration file, and so does each
     * KEY=VALUE, a key of that file ("timeout=2s"). With a namespace every key of the client lies
     * under "NAMESPACE/". %XX stands for a byte. The authentication key is never in it: name its
     * file (auth_key_file), here or in the environment. Errors: those of memkv_open; config_invalid
     * names the column. Like memkv_open it does not wait for a server. */
    int (*open)(const char *uri, struct memkv_client **out, struct memkv_error *error);
    void (*close)(struct memkv_client *client); /* memkv_close, and so on */

    int (*put)(struct memkv_client *client, const void *key, size_t key_length, const void *data,
               size_t length, struct memkv_error *error);
    int (*get)(struct memkv_client *client, const void *key, size_t key_length, void *data,
               size_t capacity, size_t *length, struct memkv_error *error);
    int (*exists)(struct memkv_client *client, const void *key, size_t key_length, bool *found,
                  struct memkv_error *error);
    int (*remove)(struct memkv_client *client, const void *key, size_t key_length, bool *found,
                  struct memkv_error *error); /* memkv_delete: `delete` is a word of C++ */
    int (*batch)(struct memkv_client *client, const struct memkv_request *requests, size_t count,
                 struct memkv_completion *out, struct memkv_error *error);

    void (*interrupt)(struct memkv_client *client);
    int (*memory_register)(struct memkv_client *client, void *data, size_t length,
                           struct memkv_memory **out, struct memkv_error *error);
    int (*memory_unregister)(struct memkv_client *client, struct memkv_memory *memory,
                             struct memkv_error *error);
    int (*status)(struct memkv_client *client, char **out, struct memkv_error *error);
    void (*free)(void *data);
};

#define MEMKV_PLUGIN_MAX_URI 4096u /* bytes, without the NUL */

/* The table for callers that were compiled with `abi`; it lives for ever. Null: this plug-in does
 * not speak that ABI. */
typedef const struct memkv_plugin *memkv_plugin_entry(unsigned abi);
MEMKV_API memkv_plugin_entry memkv_plugin;

#ifdef __cplusplus
}
#endif

#endif
