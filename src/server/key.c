/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changing the key of a cluster takes time: servers get the new one first, then client by client.
 * Meanwhile both are good. Blocks keep the tag of their writer; who reads one with another key gets
 * a tag made anew, after the stored one was verified.
 */
#include <assert.h>
#include <openssl/crypto.h>
#include <string.h>

#include "src/fabric/planted.h"
#include "src/rail/log.h"
#include "src/server/server.h"

void server_set_key(struct server *server, const uint8_t key[CONFIG_KEY_BYTES])
{
    struct server *s = server;
    assert(s && key && s->key_count <= SERVER_KEYS);
    if (s->key_count && memcmp(s->keys[0], key, CONFIG_KEY_BYTES) == 0)
        return;
    memmove(s->keys[1], s->keys[0], (SERVER_KEYS - 1) * CONFIG_KEY_BYTES);
    memcpy(s->keys[0], key, CONFIG_KEY_BYTES);
    s->key_count += s->key_count < SERVER_KEYS;
}

bool server_tag_for(const struct server *server, const uint8_t key[CONFIG_KEY_BYTES],
                    const struct server_transfer *t, const void *value, struct wire_tag *tag)
{
    const struct server *s = server;
    assert(s && key && t && value && tag);
    if (s->key_count == 1 || PLANTED(server_tag_kept))
        return true; /* there was never another one */
    for (uint32_t i = 0; i < s->key_count; i++) {
        if (!wire_tag_verify(s->keys[i], t->key, t->key_length, value, t->length, tag))
            continue;
        if (memcmp(s->keys[i], key, CONFIG_KEY_BYTES) != 0)
            wire_tag_compute(key, t->key, t->key_length, value, t->length, tag);
        return true;
    }
    return false;
}

const char *server_reload(struct server *server, const json_t *request)
{
    static const char digits[] = "0123456789abcdef";
    const char *hex = json_string_value(json_object_get(request, "auth_key"));
    uint8_t key[CONFIG_KEY_BYTES];
    assert(server);
    if (!hex || strlen(hex) != 2 * sizeof key || strspn(hex, digits) != 2 * sizeof key)
        return "auth_key: 64 hexadecimal digits are expected";
    for (size_t i = 0; i < sizeof key; i++)
        key[i] = (uint8_t)((strchr(digits, hex[2 * i]) - digits) << 4 |
                           (strchr(digits, hex[2 * i + 1]) - digits));
    bool same = memcmp(server->keys[0], key, sizeof key) == 0;
    server_set_key(server, key);
    OPENSSL_cleanse(key, sizeof key);
    rail_log(server->fabric, FABRIC_LOG_INFO, "reloaded: the key is %s",
             same ? "the same" : "a new one; the one before stays good until the next");
    return NULL;
}
