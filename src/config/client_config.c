/* SPDX-License-Identifier: Apache-2.0 */
#include "src/config/client_config.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "src/fabric/planted.h"

struct raw {
    struct client_config config;
    const struct yaml_value *servers, *devices, *auth_key, *mtu;
    const char *auth_key_file;
};

#define AT(member) offsetof(struct raw, member)

static const char *const transports[] = {"auto", "rdma", "tcp", NULL};
static const char *const verifies[] = {"none", "full", NULL};

static const struct yaml_field fields[] = {
    {.name = "servers", .type = YAML_TYPE_SEQUENCE, .offset = AT(servers), .required = true},
    {.name = "rdma_devices", .type = YAML_TYPE_SEQUENCE, .offset = AT(devices)},
    {.name = "transport",
     .type = YAML_TYPE_ENUM,
     .offset = AT(config.transport),
     .names = transports},
    {.name = "auth_key", .type = YAML_TYPE_SCALAR, .offset = AT(auth_key)},
    {.name = "auth_key_file",
     .type = YAML_TYPE_STRING,
     .offset = AT(auth_key_file),
     .min = 1,
     .max = 255},
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
    {.name = "num_connections",
     .type = YAML_TYPE_INTEGER,
     .offset = AT(config.num_connections),
     .min = 1,
     .max = 64},
    {.name = "mtu", .type = YAML_TYPE_ANY, .offset = AT(mtu)},
    {.name = "gid_index",
     .type = YAML_TYPE_INTEGER,
     .offset = AT(config.rdma.gid_index),
     .min = 0,
     .max = 255},
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
    {.name = "start_wait", .type = YAML_TYPE_DURATION, .offset = AT(config.rdma.start_wait)},
    {.name = "busy_poll", .type = YAML_TYPE_BOOLEAN, .offset = AT(config.rdma.busy_poll)},
    {.name = "verify", .type = YAML_TYPE_ENUM, .offset = AT(config.verify), .names = verifies},
    {.name = "timeout",
     .type = YAML_TYPE_DURATION,
     .offset = AT(config.timeout),
     .min = 1000000,
     .max = 3600ll * 1000000000ll},
    {.name = NULL},
};

static void defaults(struct client_config *c)
{
    config_rdma_defaults(&c->rdma);
    c->transport = CONFIG_TRANSPORT_AUTO;
    c->num_connections = 4;
    c->verify = CONFIG_VERIFY_FULL;
    c->timeout = 10ull * 1000000000ull;
}

static bool read_servers(const struct yaml_value *list, struct client_config *c,
                         struct yaml_errors *errors)
{
    if (yaml_count(list) == 0 || yaml_count(list) > CONFIG_MAX_SERVERS) {
        yaml_complain(errors, yaml_mark(list), "servers: found %zu; 1 to %d are allowed",
                      yaml_count(list), CONFIG_MAX_SERVERS);
        return false;
    }
    for (size_t i = 0; i < yaml_count(list); i++) {
        char *to = c->servers[c->server_count];
        if (!config_read_address(yaml_item(list, i), "servers", to, errors))
            return false;
        if (strtoul(strrchr(to, ':') + 1, NULL, 10) == 0 && !PLANTED(config_server_port_zero)) {
            yaml_complain(errors, yaml_mark(yaml_item(list, i)),
                          "servers: found '%s'; a port from 1 to 65535 is expected", to);
            return false;
        }
        for (uint32_t k = 0; k < c->server_count; k++) {
            if (strcmp(c->servers[k], to) == 0) {
                yaml_complain(errors, yaml_mark(yaml_item(list, i)),
                              "servers: found '%s' twice; each is named once", to);
                return false;
            }
        }
        c->server_count++;
    }
    return true;
}

static bool finish(struct raw *raw, const struct yaml_value *root, struct yaml_errors *errors)
{
    struct client_config *c = &raw->config;
    bool ok = read_servers(raw->servers, c, errors);
    if (!raw->auth_key == !raw->auth_key_file) {
        yaml_complain(
            errors, yaml_mark(root), "%s",
            raw->auth_key
                ? "found auth_key and auth_key_file; one of them is allowed"
                : "auth_key or auth_key_file is missing (MEMKV_AUTH_KEY_FILE, MEMKV_AUTH_KEY)");
        ok = false;
    }
    if (raw->auth_key)
        c->auth_key_set = config_read_key(raw->auth_key, c->auth_key, errors);
    ok = ok && (!raw->auth_key || c->auth_key_set);
    if (raw->devices)
        ok = config_read_devices(raw->devices, &c->rdma, errors) && ok;
    if (raw->mtu)
        ok = config_read_mtu(raw->mtu, &c->rdma.mtu, errors) && ok;
    if (raw->auth_key_file)
        memcpy(c->auth_key_file, raw->auth_key_file, strlen(raw->auth_key_file) + 1);
    ok = config_check_pkey(root, &c->rdma, errors) && ok;
    c->rdma.pkey_index_set = yaml_find(root, "pkey_index") != NULL;
    c->rdma.service_level_set = yaml_find(root, "service_level") != NULL;
    return ok;
}

bool client_config_read_value(const struct yaml_value *root, struct client_config *out,
                              struct yaml_errors *errors)
{
    assert(root && out && errors);
    struct raw raw = {.servers = NULL};
    defaults(&raw.config);
    bool ok = yaml_read_fields(root, fields, &raw, errors);
    ok = ok && finish(&raw, root, errors);
    if (ok)
        *out = raw.config;
    return ok;
}

bool client_config_read(const char *text, size_t length, struct client_config *out,
                        struct yaml_errors *errors)
{
    assert(out && errors);
    struct yaml_tree *tree = yaml_parse(text, length, errors);
    bool ok = tree && client_config_read_value(yaml_root(tree), out, errors);
    yaml_tree_free(tree);
    return ok;
}
