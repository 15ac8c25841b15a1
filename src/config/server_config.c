/* SPDX-License-Identifier: Apache-2.0 */
#include "src/config/server_config.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "src/fabric/planted.h"

#define MIB (1024ll * 1024ll)
#define GIB (1024ll * MIB)

/* What the tables fill: strings and lists as they stand in the tree, until they are copied. */
struct raw {
    struct server_config config;
    const struct yaml_value *address, *auth_key, *admin_address;
    const struct yaml_value *device, *devices, *mtu, *media;
    const char *auth_key_file, *tls_cert, *tls_key, *path;
};

#define AT(member) offsetof(struct raw, member)

static const char *const rdma_transports[] = {"auto", "dc", "rc", NULL};
static const char *const storage_modes[] = {"memory", "file", "direct", NULL};
static const char *const durabilities[] = {"ack", "interval", "none", NULL};
static const char *const log_levels[] = {"debug", "info", "warn", "error", NULL};
static const char *const log_formats[] = {"auto", "text", "json", NULL};

static const struct yaml_field network_fields[] = {
    {.name = "address", .type = YAML_TYPE_SCALAR, .offset = AT(address)},
    {.name = "auth_key", .type = YAML_TYPE_SCALAR, .offset = AT(auth_key)},
    {.name = "auth_key_file",
     .type = YAML_TYPE_STRING,
     .offset = AT(auth_key_file),
     .min = 1,
     .max = CONFIG_PATH_MAX - 1},
    {.name = "num_connections",
     .type = YAML_TYPE_INTEGER,
     .offset = AT(config.num_connections),
     .min = 1,
     .max = 1024},
    {.name = NULL},
};

static const struct yaml_field admin_fields[] = {
    {.name = "address", .type = YAML_TYPE_SCALAR, .offset = AT(admin_address)},
    {.name = "tls_cert",
     .type = YAML_TYPE_STRING,
     .offset = AT(tls_cert),
     .min = 1,
     .max = CONFIG_PATH_MAX - 1},
    {.name = "tls_key",
     .type = YAML_TYPE_STRING,
     .offset = AT(tls_key),
     .min = 1,
     .max = CONFIG_PATH_MAX - 1},
    {.name = NULL},
};

static const struct yaml_field memory_fields[] = {
    {.name = "block_size",
     .type = YAML_TYPE_SIZE,
     .offset = AT(config.memory_block_size),
     .min = 4096,
     .max = 64 * MIB},
    {.name = "max_size",
     .type = YAML_TYPE_SIZE,
     .offset = AT(config.memory_max_size),
     .min = 4096,
     .max = 65536 * GIB},
    {.name = NULL},
};

static const struct yaml_field rdma_fields[] = {
    {.name = "device", .type = YAML_TYPE_SCALAR, .offset = AT(device)},
    {.name = "devices", .type = YAML_TYPE_SEQUENCE, .offset = AT(devices)},
    {.name = "transport",
     .type = YAML_TYPE_ENUM,
     .offset = AT(config.rdma.transport),
     .names = rdma_transports},
    {.name = "num_dcis",
     .type = YAML_TYPE_INTEGER,
     .offset = AT(config.num_dcis),
     .min = 1,
     .max = 256},
    {.name = "pkey_index",
     .type = YAML_TYPE_INTEGER,
     .offset = AT(config.rdma.pkey_index),
     .min = 0,
     .max = 65535},
    {.name = "pkey",
     .type = YAML_TYPE_HEX,
     .offset = AT(config.rdma.pkey),
     .min = 1,
     .max = 0xffff},
    {.name = "mtu", .type = YAML_TYPE_ANY, .offset = AT(mtu)},
    {.name = "service_level",
     .type = YAML_TYPE_INTEGER,
     .offset = AT(config.rdma.service_level),
     .min = 0,
     .max = 15},
    {.name = "traffic_class",
     .type = YAML_TYPE_INTEGER,
     .offset = AT(config.rdma.traffic_class),
     .min = 0,
     .max = 255},
    {.name = "gid_index",
     .type = YAML_TYPE_INTEGER,
     .offset = AT(config.rdma.gid_index),
     .min = 0,
     .max = 255},
    {.name = "start_wait", .type = YAML_TYPE_DURATION, .offset = AT(config.rdma.start_wait)},
    {.name = "busy_poll", .type = YAML_TYPE_BOOLEAN, .offset = AT(config.rdma.busy_poll)},
    {.name = NULL},
};

static const struct yaml_field eviction_fields[] = {
    {.name = "enabled", .type = YAML_TYPE_BOOLEAN, .offset = AT(config.eviction_enabled)},
    {.name = "start_percent",
     .type = YAML_TYPE_INTEGER,
     .offset = AT(config.eviction_start_percent),
     .min = 1,
     .max = 99},
    {.name = "stop_percent",
     .type = YAML_TYPE_INTEGER,
     .offset = AT(config.eviction_stop_percent),
     .min = 0,
     .max = 98},
    {.name = NULL},
};

static const struct yaml_field storage_fields[] = {
    {.name = "mode",
     .type = YAML_TYPE_ENUM,
     .offset = AT(config.storage_mode),
     .names = storage_modes},
    {.name = "path",
     .type = YAML_TYPE_STRING,
     .offset = AT(path),
     .min = 1,
     .max = CONFIG_PATH_MAX - 1},
    {.name = "devices", .type = YAML_TYPE_SEQUENCE, .offset = AT(media)},
    {.name = "max_size",
     .type = YAML_TYPE_SIZE,
     .offset = AT(config.storage_max_size),
     .min = 1 * MIB,
     .max = 1048576 * GIB},
    {.name = "block_size",
     .type = YAML_TYPE_SIZE,
     .offset = AT(config.storage_block_size),
     .min = 4096,
     .max = 64 * MIB},
    {.name = "durability",
     .type = YAML_TYPE_ENUM,
     .offset = AT(config.durability),
     .names = durabilities},
    {.name = "eviction", .type = YAML_TYPE_SECTION, .fields = eviction_fields},
    {.name = "lanes",
     .type = YAML_TYPE_INTEGER,
     .offset = AT(config.lanes),
     .min = 1,
     .max = CONFIG_MAX_LANES},
    {.name = NULL},
};

static const struct yaml_field log_fields[] = {
    {.name = "level", .type = YAML_TYPE_ENUM, .offset = AT(config.log_level), .names = log_levels},
    {.name = "format",
     .type = YAML_TYPE_ENUM,
     .offset = AT(config.log_format),
     .names = log_formats},
    {.name = NULL},
};

static const struct yaml_field sections[] = {
    {.name = "network", .type = YAML_TYPE_SECTION, .fields = network_fields, .required = true},
    {.name = "admin", .type = YAML_TYPE_SECTION, .fields = admin_fields},
    {.name = "memory", .type = YAML_TYPE_SECTION, .fields = memory_fields},
    {.name = "rdma", .type = YAML_TYPE_SECTION, .fields = rdma_fields},
    {.name = "storage", .type = YAML_TYPE_SECTION, .fields = storage_fields},
    {.name = "log", .type = YAML_TYPE_SECTION, .fields = log_fields},
    {.name = NULL},
};

static void defaults(struct raw *raw)
{
    struct server_config *c = &raw->config;
    strcpy(c->address, PLANTED(config_default_port) ? "0.0.0.0:9901" : "0.0.0.0:9900");
    c->num_connections = 4;
    c->memory_block_size = (uint64_t)(2 * MIB);
    c->memory_max_size = (uint64_t)GIB;
    config_rdma_defaults(&c->rdma);
    c->num_dcis = 8;
    c->storage_block_size = (uint64_t)(4 * MIB);
    c->eviction_enabled = true;
    c->eviction_start_percent = 70;
    c->eviction_stop_percent = 60;
    c->lanes = 1;
    c->log_level = 1;
}

static void copy_path(char *to, const char *from)
{
    if (from)
        memcpy(to, from, strlen(from) + 1);
}

static bool read_media(const struct yaml_value *list, struct server_config *c,
                       struct yaml_errors *errors)
{
    for (size_t i = 0; i < yaml_count(list); i++) {
        const char *text;
        const struct yaml_value *item = yaml_item(list, i);
        if (!yaml_read_string(item, "devices", 1, CONFIG_PATH_MAX - 1, &text, errors))
            return false;
        if (c->media_count == CONFIG_MAX_MEDIA) {
            yaml_complain(errors, yaml_mark(item), "devices: found more than %d", CONFIG_MAX_MEDIA);
            return false;
        }
        for (uint32_t k = 0; k < c->media_count; k++) {
            if (strcmp(c->media[k], text) != 0 || PLANTED(config_folder_twice))
                continue;
            yaml_complain(errors, yaml_mark(item),
                          "devices: found '%.60s' twice; one for each drive is expected", text);
            return false;
        }
        copy_path(c->media[c->media_count++], text);
    }
    return true;
}

/* Where a section stands; where it is left out, the whole. */
static struct yaml_mark place(const struct yaml_value *root, const char *section)
{
    const struct yaml_value *at = yaml_find(root, section);
    return yaml_mark(at && !PLANTED(config_section_placeless) ? at : root);
}

/* Rules between keys of storage; its devices are not yet read. */
static void check_storage(const struct raw *raw, const struct yaml_value *root,
                          struct yaml_errors *errors)
{
    const size_t media = raw->media ? yaml_count(raw->media) : 0;
    const struct server_config *c = &raw->config;
    const struct yaml_mark here = place(root, "storage");
    assert(c->lanes >= 1);
    if (c->eviction_stop_percent >= c->eviction_start_percent)
        yaml_complain(errors, here,
                      "eviction: found stop_percent %d; less than start_percent %d is expected",
                      (int)c->eviction_stop_percent, (int)c->eviction_start_percent);
    if (c->storage_mode == CONFIG_STORAGE_FILE && media == 0 && !raw->path)
        yaml_complain(errors, here, "storage: mode file needs path, the folder of the store");
    if (c->storage_mode != CONFIG_STORAGE_MEMORY && c->storage_max_size == 0)
        yaml_complain(errors, here, "storage: modes file and direct need max_size");
    if (c->storage_mode == CONFIG_STORAGE_DIRECT && media == 0)
        yaml_complain(errors, here, "storage: mode direct needs devices");
    if (c->storage_block_size % 4096)
        yaml_complain(errors, here,
                      "block_size: found %" PRIu64 " bytes; a multiple of 4 KiB is expected",
                      c->storage_block_size);
    if (c->memory_max_size / (uint64_t)c->lanes < 4096)
        yaml_complain(errors, here,
                      "storage: found %d lanes; memory.max_size gives each less than 4 KiB",
                      (int)c->lanes);
}

/* Rules between keys. */
static bool check_together(const struct raw *raw, const struct yaml_value *root,
                           struct yaml_errors *errors)
{
    size_t before = errors->count;
    if (!raw->auth_key && !raw->auth_key_file)
        yaml_complain(errors, place(root, "network"),
                      "network: auth_key or auth_key_file is missing");
    if (raw->auth_key && raw->auth_key_file)
        yaml_complain(errors, yaml_mark(raw->auth_key),
                      "network: found auth_key and auth_key_file; one of them is allowed");
    if (!raw->tls_cert != !raw->tls_key)
        yaml_complain(errors, place(root, "admin"),
                      "admin: found one of tls_cert and tls_key; both or neither");
    if (raw->device && raw->devices)
        yaml_complain(errors, yaml_mark(raw->device),
                      "rdma: found device and devices; one of them is allowed");
    check_storage(raw, root, errors);
    return errors->count == before;
}

enum when { ALWAYS, WITHOUT_DC, WITHOUT_MEDIA, WITH_DEVICES };

static const struct {
    struct server_config_ignored said;
    enum when when;
} in_vain[] = {
    {{"network", "num_connections", "a client has its own num_connections"}, ALWAYS},
    {{"rdma", "num_dcis", "rdma.transport is rc, which has no DC initiators"}, WITHOUT_DC},
    {{"rdma", "start_wait", "a client has its own start_wait"}, ALWAYS},
    {{"storage", "path", "storage.mode is memory"}, WITHOUT_MEDIA},
    {{"storage", "path", "storage.devices names the folders"}, WITH_DEVICES},
    {{"storage", "devices", "storage.mode is memory"}, WITHOUT_MEDIA},
    {{"storage", "max_size", "storage.mode is memory; memory.max_size counts"}, WITHOUT_MEDIA},
    {{"storage", "block_size", "storage.mode is memory"}, WITHOUT_MEDIA},
    {{"storage", "durability", "storage.mode is memory, which survives nothing"}, WITHOUT_MEDIA},
};

static bool is_so(enum when when, const struct server_config *c)
{
    const bool memory = c->storage_mode == CONFIG_STORAGE_MEMORY;
    switch (when) {
    case WITHOUT_DC:
        return c->rdma.transport == CONFIG_RDMA_RC;
    case WITHOUT_MEDIA:
        return memory;
    case WITH_DEVICES:
        return !memory && c->media_count > 0;
    default:
        return true;
    }
}

static uint32_t find_ignored(const struct yaml_value *root, const struct server_config *c)
{
    uint32_t found = 0;
    for (size_t i = 0; i < sizeof in_vain / sizeof in_vain[0]; i++) {
        const struct yaml_value *section = yaml_find(root, in_vain[i].said.section);
        if (section && yaml_find(section, in_vain[i].said.key) && is_so(in_vain[i].when, c))
            found |= 1u << i;
    }
    return found;
}

const struct server_config_ignored *server_config_ignored(const struct server_config *config,
                                                          size_t i)
{
    assert(config);
    for (size_t k = 0; k < sizeof in_vain / sizeof in_vain[0]; k++) {
        if ((config->ignored >> k & 1) && i-- == 0)
            return &in_vain[k].said;
    }
    return NULL;
}

/* MK-A3: the HTTP end point is on the next port. */
static bool leaves_admin_port(const struct raw *raw, struct yaml_errors *errors)
{
    const char *address = raw->config.address;
    if (raw->admin_address || strcmp(strrchr(address, ':'), ":65535") != 0 ||
        PLANTED(config_last_port_taken))
        return true;
    yaml_complain(errors, yaml_mark(raw->address),
                  "address: found '%.60s', after which there is no port for the HTTP end point; "
                  "set admin.address",
                  address);
    return false;
}

static bool finish(struct raw *raw, const struct yaml_value *root, struct yaml_errors *errors)
{
    struct server_config *c = &raw->config;
    bool ok = check_together(raw, root, errors);
    if (raw->address)
        ok = config_read_address(raw->address, "address", c->address, errors) &&
             leaves_admin_port(raw, errors) && ok;
    if (raw->admin_address)
        ok = config_read_address(raw->admin_address, "address", c->admin_address, errors) && ok;
    if (raw->auth_key)
        c->auth_key_set = config_read_key(raw->auth_key, c->auth_key, errors);
    ok = ok && (!raw->auth_key || c->auth_key_set);
    if (raw->device)
        ok = config_read_device(raw->device, &c->rdma, errors) && ok;
    if (raw->devices)
        ok = config_read_devices(raw->devices, &c->rdma, errors) && ok;
    if (raw->mtu)
        ok = config_read_mtu(raw->mtu, &c->rdma.mtu, errors) && ok;
    if (raw->media)
        ok = read_media(raw->media, c, errors) && ok;
    copy_path(c->auth_key_file, raw->auth_key_file);
    copy_path(c->tls_cert, raw->tls_cert);
    copy_path(c->tls_key, raw->tls_key);
    copy_path(c->storage_path, raw->path);
    const struct yaml_value *rdma = yaml_find(root, "rdma");
    ok = (!rdma || config_check_pkey(rdma, &c->rdma, errors)) && ok;
    c->ignored = find_ignored(root, c);
    c->rdma.pkey_index_set = rdma && yaml_find(rdma, "pkey_index");
    c->rdma.service_level_set = rdma && yaml_find(rdma, "service_level");
    return ok;
}

bool server_config_read_value(const struct yaml_value *root, struct server_config *out,
                              struct yaml_errors *errors)
{
    assert(root && out && errors);
    struct raw raw = {.address = NULL};
    defaults(&raw);
    bool ok = yaml_read_fields(root, sections, &raw, errors);
    ok = ok && finish(&raw, root, errors);
    if (ok)
        *out = raw.config;
    return ok;
}

bool server_config_read(const char *text, size_t length, struct server_config *out,
                        struct yaml_errors *errors)
{
    assert(out && errors);
    struct yaml_tree *tree = yaml_parse(text, length, errors);
    bool ok = tree && server_config_read_value(yaml_root(tree), out, errors);
    yaml_tree_free(tree);
    return ok;
}
