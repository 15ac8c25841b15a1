/* SPDX-License-Identifier: Apache-2.0 */
#include "src/config/options.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "src/config/key_file.h"
#include "src/fabric/pkey.h"
#include "src/fabric/planted.h"

#define HOST_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:%[]"

void config_rdma_defaults(struct config_rdma *rdma)
{
    assert(rdma);
    *rdma = (struct config_rdma){.traffic_class = -1, .gid_index = -1};
    rdma->start_wait = 5ull * 1000000000ull;
}

static bool split_port(const char *text, struct config_device *out)
{
    const char *colon = strchr(text, ':');
    size_t length = colon ? (size_t)(colon - text) : strlen(text);
    if (length == 0 || length >= CONFIG_NAME_MAX)
        return false;
    memcpy(out->name, text, length);
    out->name[length] = 0;
    out->port = 0;
    if (!colon)
        return true;
    if (colon[1] < '1' || colon[1] > '9' || strlen(colon + 1) > 2)
        return false;
    out->port = (uint8_t)strtoul(colon + 1, NULL, 10);
    return true;
}

/* Two rails of one port share its bandwidth and hide its failure from each other; a device without
 * a port may be any of its ports. */
static bool names_twice(const struct yaml_value *value, const struct config_device *device,
                        const struct config_rdma *rdma, struct yaml_errors *errors)
{
    assert(value && device->name[0]);
    for (uint32_t i = 0; i < rdma->device_count; i++) {
        const struct config_device *other = &rdma->devices[i];
        bool same_port = other->port == device->port || !other->port || !device->port;
        if (strcmp(other->name, device->name) != 0 || !same_port || PLANTED(config_device_twice))
            continue;
        yaml_complain(errors, yaml_mark(value),
                      "devices: found a port of '%s' twice; each port is named once, as in "
                      "mlx5_0:1, mlx5_0:2",
                      device->name);
        return true;
    }
    return false;
}

bool config_read_device(const struct yaml_value *value, struct config_rdma *rdma,
                        struct yaml_errors *errors)
{
    const char *text;
    struct config_device device;
    assert(rdma && errors);
    if (!yaml_read_string(value, "device", 1, CONFIG_NAME_MAX - 1, &text, errors))
        return false;
    if (!split_port(text, &device)) {
        yaml_complain(errors, yaml_mark(value),
                      "device: found '%.60s'; a name such as mlx5_0, or mlx5_0:2, is expected",
                      text);
        return false;
    }
    if (names_twice(value, &device, rdma, errors))
        return false;
    if (rdma->device_count == CONFIG_MAX_RAILS) {
        yaml_complain(errors, yaml_mark(value), "devices: found more than %d; that many are used",
                      CONFIG_MAX_RAILS);
        return false;
    }
    rdma->devices[rdma->device_count++] = device;
    return true;
}

bool config_read_devices(const struct yaml_value *list, struct config_rdma *rdma,
                         struct yaml_errors *errors)
{
    bool clean = true;
    assert(list && rdma && errors);
    if (yaml_kind(list) != YAML_KIND_SEQUENCE) {
        yaml_complain(errors, yaml_mark(list), "devices: found %s; a list is expected",
                      yaml_kind_name(yaml_kind(list)));
        return false;
    }
    for (size_t i = 0; i < yaml_count(list) && clean; i++)
        clean = config_read_device(yaml_item(list, i), rdma, errors);
    return clean;
}

bool config_check_pkey(const struct yaml_value *section, const struct config_rdma *rdma,
                       struct yaml_errors *errors)
{
    assert(section && rdma && errors);
    const struct yaml_value *pkey = yaml_find(section, "pkey");
    if (!pkey)
        return true;
    if (fabric_pkey_empty((uint16_t)rdma->pkey) && !PLANTED(config_pkey_empty)) {
        yaml_complain(errors, yaml_mark(pkey),
                      "pkey: found 0x%04x, which names no partition; low 15 bits of 0x0001 to "
                      "0x7fff are expected, with 0x8000 for full membership",
                      (unsigned)rdma->pkey);
        return false;
    }
    if (yaml_find(section, "pkey_index") && !PLANTED(config_pkey_both)) {
        yaml_complain(errors, yaml_mark(pkey), "found pkey and pkey_index; one of them is allowed");
        return false;
    }
    return true;
}

bool config_read_key(const struct yaml_value *value, uint8_t key[CONFIG_KEY_BYTES],
                     struct yaml_errors *errors)
{
    assert(value && key && errors);
    bool scalar = yaml_kind(value) == YAML_KIND_SCALAR;
    const char *text = scalar ? yaml_text(value) : "";
    if (strlen(text) == 2 * CONFIG_KEY_BYTES && config_parse_key(text, key))
        return true;
    yaml_complain(errors, yaml_mark(value),
                  "auth_key: found something else; 64 hexadecimal digits are expected");
    return false;
}

bool config_read_mtu(const struct yaml_value *value, int64_t *out, struct yaml_errors *errors)
{
    static const char *const allowed[] = {"256", "512", "1024", "2048", "4096", NULL};
    assert(value && out && errors);
    bool scalar = yaml_kind(value) == YAML_KIND_SCALAR && !yaml_is_quoted(value);
    for (size_t i = 0; scalar && allowed[i]; i++) {
        if (strcmp(yaml_text(value), allowed[i]) == 0) {
            *out = 256 << i;
            return true;
        }
    }
    if (PLANTED(config_mtu_any) && scalar) {
        *out = strtol(yaml_text(value), NULL, 10);
        return true;
    }
    yaml_complain_as(errors, ERR_MTU_INVALID, yaml_mark(value),
                     "mtu: found '%.60s' (mtu_invalid); one of 256, 512, 1024, 2048, 4096 is "
                     "expected",
                     scalar ? yaml_text(value) : yaml_kind_name(yaml_kind(value)));
    return false;
}

bool config_read_address(const struct yaml_value *value, const char *what, char *out,
                         struct yaml_errors *errors)
{
    const char *text;
    assert(out && errors);
    if (!yaml_read_string(value, what, 1, CONFIG_NAME_MAX - 1, &text, errors))
        return false;
    const char *colon = strrchr(text, ':');
    size_t digits = colon ? strspn(colon + 1, "0123456789") : 0;
    const bool odd = text[strspn(text, HOST_CHARACTERS)] && !PLANTED(config_host_any_bytes);
    bool bare_ipv6 = colon && text[0] != '[' && strchr(text, ':') != colon;
    if (!colon || colon == text || bare_ipv6 || odd || digits == 0 || digits > 5 ||
        colon[1 + digits] || strtoul(colon + 1, NULL, 10) > 65535) {
        yaml_complain(errors, yaml_mark(value),
                      "%s: found '%.60s'; HOST:PORT or [IPv6]:PORT is expected", what, text);
        return false;
    }
    memcpy(out, text, strlen(text) + 1);
    return true;
}
