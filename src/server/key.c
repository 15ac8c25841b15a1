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

uint32_t server_key_serial(const uint8_t key[CONFIG_KEY_BYTES])
{
    uint8_t derived[WIRE_KEY_BYTES];
    assert(key);
    wire_derive(key, "memkv key serial 1", NULL, 0, derived);
    return (uint32_t)derived[0] << 24 | (uint32_t)derived[1] << 16 | (uint32_t)derived[2] << 8 |
           derived[3];
}

void server_set_key(struct server *server, const uint8_t key[CONFIG_KEY_BYTES])
{
    struct server *s = server;
    assert(s && key && s->key_count <= SERVER_KEYS);
    if (s->key_count && memcmp(s->keys[0], key, CONFIG_KEY_BYTES) == 0)
        return;
    memmove(s->keys[1], s->keys[0], (SERVER_KEYS - 1) * CONFIG_KEY_BYTES);
    memcpy(s->keys[0], key, CONFIG_KEY_BYTES);
    s->key_count += s->key_count < SERVER_KEYS;
    s->key_serial = server_key_serial(key);
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

bool server_tag_for(struct server *server, struct server_connection *c, struct server_transfer *t)
{
    struct server *s = server;
    assert(s && c && t && t->kind == SERVER_GET && t->block);
    const uint8_t *stored = store_tag(t->block), *key = wire_channel_key(c->channel);
    const void *value = store_data(c->lane->store, t->block);
    memcpy(t->tag.nonce, stored, sizeof t->tag.nonce);
    memcpy(t->tag.mac, stored + sizeof t->tag.nonce, sizeof t->tag.mac);
    bool first = s->key_count == 1 && store_maker(t->block) == s->key_serial;
    if (first || PLANTED(server_tag_kept))
        return true; /* there was never another one */
    const uint8_t *maker = maker_of(s, t, value);
    if (maker) {
        if (memcmp(maker, key, CONFIG_KEY_BYTES) != 0)
            wire_tag_compute(key, t->key, t->key_length, value, t->length, &t->tag);
        return true;
    }
    const uint64_t id = t->id;
    store_unpin(c->lane->store, t->block);
    server_transfer_free(s, t);
    server_result(s, c, id, ERR_TAG_MISMATCH, "no key known here made its tag");
    return false;
}

bool server_tag_is_right(struct server *server, const struct server_transfer *t)
{
    struct server *s = server;
    assert(s && t && t->kind == SERVER_PUT && t->block);
    const struct server_connection *c =
        server_connection_at(s, t->connection_slot, t->connection_serial);
    const uint8_t *key = c ? wire_channel_key(c->channel) : s->keys[0];
    if (wire_tag_verify(key, t->key, t->key_length, store_data(t->lane->store, t->block), t->length,
                        &t->tag) ||
        PLANTED(server_tag_unchecked))
        return true;
    s->counters.tag_mismatches++;
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
