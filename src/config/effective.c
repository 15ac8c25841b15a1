/* SPDX-License-Identifier: Apache-2.0 */
#include "src/config/effective.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum form {
    TEXT,
    SIZE,
    DURATION,
    NUMBER,  /* negative: not set */
    NONZERO, /* 0: not set */
    HEX,     /* 0: not set */
    BOOLEAN,
    WORD,    /* an int, a position in `words` */
    DEVICES, /* of struct config_rdma */
    MEDIA,
    SECRET,
};

struct entry {
    struct config_key key;
    enum form form;
    size_t offset;
    const char *const *words;
};

static const char *const rdma_transports[] = {"auto", "dc", "rc"};
static const char *const storage_modes[] = {"memory", "file", "direct"};
static const char *const durabilities[] = {"ack", "interval", "none"};
static const char *const log_levels[] = {"debug", "info", "warn", "error"};
static const char *const log_formats[] = {"auto", "text", "json"};

#define AT(member) offsetof(struct server_config, member)

static const struct entry entries[] = {
    {{"network", "address", "where clients connect; port 0 picks a free one"},
     TEXT,
     AT(address),
     NULL},
    {{"network", "auth_key", "the key of the cluster, 64 hex digits"}, SECRET, 0, NULL},
    {{"network", "auth_key_file", "a file that holds the key instead"},
     TEXT,
     AT(auth_key_file),
     NULL},
    {{"network", "num_connections", "ignored: a client has its own num_connections"},
     NUMBER,
     AT(num_connections),
     NULL},
    {{"admin", "address", "HTTP for operators; the data IP and the next port unless it is set"},
     TEXT,
     AT(admin_address),
     NULL},
    {{"admin", "tls_cert", "certificate for HTTPS, PEM; with tls_key or not at all"},
     TEXT,
     AT(tls_cert),
     NULL},
    {{"admin", "tls_key", "its key, PEM"}, TEXT, AT(tls_key), NULL},
    {{"memory", "block_size", "the largest single RDMA operation"},
     SIZE,
     AT(memory_block_size),
     NULL},
    {{"memory", "max_size", "memory for blocks"}, SIZE, AT(memory_max_size), NULL},
    {{"rdma", "devices", "device, or device:port, for each rail; every device unless it is set"},
     DEVICES,
     AT(rdma),
     NULL},
    {{"rdma", "transport", "auto: DC where both ends have it, else RC; dc and rc: that or nothing"},
     WORD,
     AT(rdma.transport),
     rdma_transports},
    {{"rdma", "num_dcis", "DC initiators of each rail and path MTU that a client has a target of"},
     NUMBER,
     AT(num_dcis),
     NULL},
    {{"rdma", "pkey_index", "entry of the P_Key table; means nothing on RoCE"},
     NUMBER,
     AT(rdma.pkey_index),
     NULL},
    {{"rdma", "pkey", "partition by value instead; means nothing on RoCE"},
     HEX,
     AT(rdma.pkey),
     NULL},
    {{"rdma", "mtu", "path MTU; 4096, capped at the port's active MTU, unless it is set"},
     NONZERO,
     AT(rdma.mtu),
     NULL},
    {{"rdma", "service_level",
      "InfiniBand: selects a virtual lane; RoCE: the VLAN priority, lossless unless it is set"},
     NUMBER,
     AT(rdma.service_level),
     NULL},
    {{"rdma", "traffic_class",
      "RoCE: DSCP << 2, lossless unless it is set; means nothing on InfiniBand"},
     NUMBER,
     AT(rdma.traffic_class),
     NULL},
    {{"rdma", "gid_index", "entry of the GID table; chosen by type and scope unless it is set"},
     NUMBER,
     AT(rdma.gid_index),
     NULL},
    {{"rdma", "start_wait", "ignored: a client has its own start_wait"},
     DURATION,
     AT(rdma.start_wait),
     NULL},
    {{"rdma", "busy_poll", "true: less latency for a whole core that looks without end"},
     BOOLEAN,
     AT(rdma.busy_poll),
     NULL},
    {{"storage", "mode", "memory, file or direct"}, WORD, AT(storage_mode), storage_modes},
    {{"storage", "path", "the folder of mode file"}, TEXT, AT(storage_path), NULL},
    {{"storage", "devices",
      "drives of mode direct; of mode file folders, one on each drive, in place of path"},
     MEDIA,
     0,
     NULL},
    {{"storage", "max_size", "of the store on disk"}, SIZE, AT(storage_max_size), NULL},
    {{"storage", "block_size", "the extent on disk"}, SIZE, AT(storage_block_size), NULL},
    {{"storage", "durability", "ack: an acknowledged PUT survives a power cut"},
     WORD,
     AT(durability),
     durabilities},
    {{"storage", "lanes", "single-threaded shards"}, NUMBER, AT(lanes), NULL},
    {{"storage.eviction", "enabled", "without it a full store refuses"},
     BOOLEAN,
     AT(eviction_enabled),
     NULL},
    {{"storage.eviction", "start_percent", "full to so much: eviction begins"},
     NUMBER,
     AT(eviction_start_percent),
     NULL},
    {{"storage.eviction", "stop_percent", "and goes on down to so much"},
     NUMBER,
     AT(eviction_stop_percent),
     NULL},
    {{"log", "level", "debug, info, warn or error"}, WORD, AT(log_level), log_levels},
    {{"log", "format", "auto: text on a terminal, JSON elsewhere"},
     WORD,
     AT(log_format),
     log_formats},
};

#define COUNT (sizeof entries / sizeof entries[0])

const struct config_key *config_key(size_t i)
{
    return i < COUNT ? &entries[i].key : NULL;
}

/* In the largest unit in which it is a whole number. */
static void with_unit(char *out, uint64_t amount, const char *const *units, const uint64_t *factors,
                      size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (amount % factors[i] == 0) {
            snprintf(out, CONFIG_VALUE_MAX, "%" PRIu64 "%s%s", amount / factors[i],
                     units[i][0] ? " " : "", units[i]);
            return;
        }
    }
    assert(0 && "the last factor is 1");
}

static void put_size(char *out, uint64_t bytes)
{
    static const char *const units[] = {"GiB", "MiB", "KiB", ""};
    static const uint64_t factors[] = {1u << 30, 1u << 20, 1u << 10, 1};
    with_unit(out, bytes, units, factors, 4);
}

static void put_duration(char *out, uint64_t ns)
{
    static const char *const units[] = {"s", "ms", "us", "ns"};
    static const uint64_t factors[] = {1000000000u, 1000000u, 1000u, 1};
    with_unit(out, ns, units, factors, 4);
}

/* Quoted always: an address, a path or a name is never anything else. The end of a line would be
 * read as a space. */
static size_t put_quoted(char *out, size_t used, const char *text)
{
    assert(used + 4 * strlen(text) + 4 < CONFIG_VALUE_MAX);
    out[used++] = '"';
    for (; *text; text++) {
        if ((unsigned char)*text < 0x20 || *text == 0x7f) {
            used += (size_t)snprintf(out + used, 5, "\\x%02x", (unsigned char)*text);
            continue;
        }
        if (*text == '"' || *text == '\\')
            out[used++] = '\\';
        out[used++] = *text;
    }
    out[used++] = '"';
    out[used] = '\0';
    return used;
}

static bool put_devices(char *out, const struct config_rdma *rdma)
{
    size_t used = 1;
    out[0] = '[';
    for (uint32_t i = 0; i < rdma->device_count; i++) {
        char name[CONFIG_NAME_MAX + 8];
        const struct config_device *d = &rdma->devices[i];
        snprintf(name, sizeof name, d->port ? "%s:%u" : "%s", d->name, d->port);
        if (i)
            used += (size_t)snprintf(out + used, CONFIG_VALUE_MAX - used, ", ");
        used = put_quoted(out, used, name);
    }
    snprintf(out + used, CONFIG_VALUE_MAX - used, "]");
    return rdma->device_count > 0;
}

static bool put_media(char *out, const struct server_config *config)
{
    size_t used = 1;
    out[0] = '[';
    for (uint32_t i = 0; i < config->media_count; i++) {
        if (i)
            used += (size_t)snprintf(out + used, CONFIG_VALUE_MAX - used, ", ");
        used = put_quoted(out, used, config->media[i]);
    }
    snprintf(out + used, CONFIG_VALUE_MAX - used, "]");
    return config->media_count > 0;
}

static bool put_number(char *out, enum form form, int64_t number)
{
    if (number < 0 || (form == NONZERO && number == 0))
        return false;
    snprintf(out, CONFIG_VALUE_MAX, "%" PRId64, number);
    return true;
}

bool config_key_value(const struct server_config *config, size_t i, char out[CONFIG_VALUE_MAX])
{
    assert(config && out && i < COUNT);
    const struct entry *e = &entries[i];
    const void *at = (const char *)config + e->offset;
    uint64_t wide = 0;
    out[0] = '\0';
    if (e->form == SIZE || e->form == DURATION || e->form == HEX)
        memcpy(&wide, at, sizeof wide);
    switch (e->form) {
    case TEXT:
        put_quoted(out, 0, at);
        return *(const char *)at != '\0';
    case SIZE:
        put_size(out, wide);
        return wide > 0;
    case DURATION:
        put_duration(out, wide);
        return true;
    case HEX:
        snprintf(out, CONFIG_VALUE_MAX, "0x%04" PRIx64, wide);
        return wide > 0;
    case NUMBER:
    case NONZERO:
        return put_number(out, e->form, *(const int64_t *)at);
    case BOOLEAN:
        snprintf(out, CONFIG_VALUE_MAX, "%s", *(const bool *)at ? "true" : "false");
        return true;
    case WORD:
        snprintf(out, CONFIG_VALUE_MAX, "%s", e->words[*(const int *)at]);
        return true;
    case DEVICES:
        return put_devices(out, at);
    case MEDIA:
        return put_media(out, config);
    default:
        return false;
    }
}
