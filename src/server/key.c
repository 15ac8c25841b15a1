/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changing the key of a cluster takes time: servers get the new one first, then client by client.
 * Meanwhile both are good. Blocks keep the tag of their writer; who reads one with another key gets
 * a tag made anew, after the stored one was verified.
 */
#include <assert.h>
#include <openssl/crypto.h>
#include <string.h>

#include "src/config/key_file.h"
#include "src/fabric/planted.h"
#include "src/rail/log.h"
#include "src/server/server.h"

/* Tells keys apart and nothing about them; neither 0 nor UINT32_MAX, which are no key's. */
static uint32_t serial_of(const uint8_t key[CONFIG_KEY_BYTES])
{
    uint8_t derived[WIRE_KEY_BYTES];
    wire_derive(key, "memkv key serial 1", NULL, 0, derived);
    uint32_t serial = (uint32_t)derived[0] << 24 | (uint32_t)derived[1] << 16 |
                      (uint32_t)derived[2] << 8 | derived[3];
    return serial == 0 || serial == UINT32_MAX ? 1 : serial;
}

/* Its position; key_count when it is none of ours any more. */
static uint32_t find_key(const struct server *s, const uint8_t *bytes)
{
    uint32_t at = 0;
    while (at < s->key_count && memcmp(s->keys[at].bytes, bytes, CONFIG_KEY_BYTES) != 0)
        at++;
    return at;
}

static const struct server_key *key_of_serial(const struct server *s, uint32_t serial)
{
    for (uint32_t i = 0; i < s->key_count; i++) {
        if (s->keys[i].serial == serial)
            return &s->keys[i];
    }
    return NULL;
}

void server_set_key(struct server *server, const uint8_t key[CONFIG_KEY_BYTES])
{
    struct server *s = server;
    struct server_key newest;
    assert(s && key && s->key_count <= SERVER_KEYS);
    uint32_t at = PLANTED(server_keys_twice) ? s->key_count : find_key(s, key);
    if (at < s->key_count) {
        newest = s->keys[at];
    } else {
        newest.serial = serial_of(key);
        memcpy(newest.bytes, key, CONFIG_KEY_BYTES);
        s->key_count += s->key_count < SERVER_KEYS;
        at = s->key_count - 1; /* the oldest drops out */
    }
    memmove(&s->keys[1], &s->keys[0], at * sizeof s->keys[0]);
    s->keys[0] = newest;
    OPENSSL_cleanse(&newest, sizeof newest);
}

void server_note_maker(struct server *server, const struct server_transfer *t)
{
    const struct server_connection *c = server_transfer_owner(server, t);
    assert(t->kind == SERVER_PUT && t->block);
    uint32_t at = c ? find_key(server, wire_channel_key(c->channel)) : server->key_count;
    uint32_t serial = at < server->key_count ? server->keys[at].serial : UINT32_MAX;
    if (!PLANTED(server_maker_unnoted))
        store_set_maker(t->block, serial); /* UINT32_MAX: a key that nobody can have any more */
}

static bool refuse_tag(struct server *s, struct server_connection *c, struct server_transfer *t,
                       uint64_t id, const char *why)
{
    store_unpin(c->lane->store, t->block);
    server_transfer_free(s, t);
    server_result(s, c, id, ERR_TAG_MISMATCH, why);
    return false;
}

bool server_tag_for(struct server *server, struct server_connection *c, struct server_transfer *t)
{
    struct server *s = server;
    assert(s && c && t && t->kind == SERVER_GET && t->block);
    const uint8_t *stored = store_tag(t->block), *key = wire_channel_key(c->channel);
    const struct server_key *maker = key_of_serial(s, store_maker(t->block));
    const void *value = store_data(c->lane->store, t->block);
    memcpy(t->tag.nonce, stored, sizeof t->tag.nonce);
    memcpy(t->tag.mac, stored + sizeof t->tag.nonce, sizeof t->tag.mac);
    if (PLANTED(server_tag_kept))
        return true;
    if (!maker)
        return refuse_tag(s, c, t, t->id, "no key known here made its tag");
    if (memcmp(maker->bytes, key, CONFIG_KEY_BYTES) == 0)
        return true; /* the reader computes what the writer did */
    if (!wire_tag_verify(maker->bytes, t->key, t->key_length, value, t->length, &t->tag))
        return refuse_tag(s, c, t, t->id, "it is not what was put: its tag does not fit");
    wire_tag_compute(key, t->key, t->key_length, value, t->length, &t->tag);
    return true;
}

bool server_tag_is_right(struct server *server, const struct server_transfer *t)
{
    struct server *s = server;
    assert(s && t && t->kind == SERVER_PUT && t->block);
    const struct server_connection *c =
        server_connection_at(s, t->connection_slot, t->connection_serial);
    const uint8_t *key = c ? wire_channel_key(c->channel) : s->keys[0].bytes;
    if (wire_tag_verify(key, t->key, t->key_length, store_data(t->lane->store, t->block), t->length,
                        &t->tag) ||
        PLANTED(server_tag_unchecked))
        return true;
    s->counters.tag_mismatches++;
    return false;
}

const char *server_reload(struct server *server, const json_t *request)
{
    const char *hex = json_string_value(json_object_get(request, "auth_key"));
    uint8_t key[CONFIG_KEY_BYTES];
    assert(server);
    if (!hex || strlen(hex) != 2 * sizeof key || !config_parse_key(hex, key))
        return "auth_key: 64 hexadecimal digits are expected";
    bool same = memcmp(server->keys[0].bytes, key, sizeof key) == 0;
    server_set_key(server, key);
    OPENSSL_cleanse(key, sizeof key);
    rail_log(server->fabric, FABRIC_LOG_INFO, "reloaded: the key is %s",
             same ? "the same" : "a new one; the one before stays good until the next");
    return NULL;
}
