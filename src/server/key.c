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

/* Under which key the stored tag was made, if it was under any. */
static const uint8_t *maker_of(const struct server *s, const struct server_transfer *t,
                               const void *value)
{
    for (uint32_t i = 0; i < s->key_count; i++) {
        if (wire_tag_verify(s->keys[i], t->key, t->key_length, value, t->length, &t->tag))
            return s->keys[i];
    }
    return NULL;
}

bool server_tag_for(struct server *server, struct server_connection *c, struct server_transfer *t,
                    const struct wire_message *request)
{
    struct server *s = server;
    assert(s && c && t && t->kind == SERVER_GET && t->block && request);
    const uint8_t *stored = store_tag(t->block), *key = wire_channel_key(c->channel);
    const void *value = store_data(c->lane->store, t->block);
    t->key_length = request->key_length;
    memcpy(t->key, request->key, request->key_length);
    memcpy(t->tag.nonce, stored, sizeof t->tag.nonce);
    memcpy(t->tag.mac, stored + sizeof t->tag.nonce, sizeof t->tag.mac);
    if (s->key_count == 1 || PLANTED(server_tag_kept))
        return true; /* there was never another one */
    const uint8_t *maker = maker_of(s, t, value);
    if (maker) {
        if (memcmp(maker, key, CONFIG_KEY_BYTES) != 0)
            wire_tag_compute(key, t->key, t->key_length, value, t->length, &t->tag);
        return true;
    }
    store_unpin(c->lane->store, t->block);
    server_transfer_free(s, t);
    server_result(s, c, request->id, ERR_TAG_MISMATCH, "no key known here made its tag");
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
