/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One walk describes the tree; it enters only what the wanted path passes through, and says at the
 * end whether it met a file, a folder or a link there. Contents are as the kernel's
 * Documentation/ABI/stable/sysfs-class-infiniband and testing/sysfs-class-net describe them.
 */
#include "fabric_sim/world/sysfs.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/fabric/ipoib.h"
#include "src/fabric/planted.h"

#define ETHERNET_TYPE 1 /* ARPHRD_ETHER */
#define CONTENT_MAX 256
#define PCI_ROOT "pci0000:00"
#define UVERBS_ABI 6u /* IB_USER_VERBS_ABI_VERSION of include/uapi/rdma/ib_user_verbs.h */
#define UVERBS_MAJOR 231u
#define UVERBS_MINOR 192u

enum wanted { CONTENT, NAMES, LINK };

struct walk {
    const struct sysfs_view *view;
    const char *rest; /* of the wanted path, below the present folder; "" is the folder itself */
    enum wanted wanted;
    bool found, refused;
    char content[CONTENT_MAX];
    size_t length;
    char *names; /* each with its NUL */
    size_t names_length, names_capacity, name_count;
};

static void add_name(struct walk *walk, const char *name)
{
    size_t length = strlen(name) + 1;
    if (walk->names_length + length > walk->names_capacity) {
        walk->names_capacity = walk->names_capacity * 2 + 1024;
        walk->names = realloc(walk->names, walk->names_capacity);
        assert(walk->names);
    }
    memcpy(walk->names + walk->names_length, name, length);
    walk->names_length += length;
    walk->name_count++;
}

/* Whether the wanted path goes through (or ends at) `name`; then the caller describes what is
 * below it and calls leave with what this stored in *outer. */
static bool enter(struct walk *walk, const char *name, const char **outer)
{
    size_t length = strlen(name);
    if (walk->rest[0] == '\0') {
        if (walk->wanted == NAMES)
            add_name(walk, name);
        return false;
    }
    if (strncmp(walk->rest, name, length) != 0)
        return false;
    bool ends = walk->rest[length] == '/' || walk->rest[length] == '\0';
    if (!ends && !PLANTED(world_sysfs_prefix_matches))
        return false;
    *outer = walk->rest;
    walk->rest += length + (walk->rest[length] == '/');
    if (walk->rest[0] == '\0' && walk->wanted == NAMES)
        walk->found = true;
    return true;
}

static void leave(struct walk *walk, const char *outer)
{
    assert(outer <= walk->rest); /* back towards the top */
    walk->rest = outer;
}

static bool is_here(struct walk *walk, const char *name, enum wanted kind)
{
    if (walk->rest[0] == '\0' && walk->wanted == NAMES)
        add_name(walk, name);
    return walk->wanted == kind && walk->rest[0] != '\0' && strcmp(walk->rest, name) == 0;
}

__attribute__((format(printf, 3, 4))) static void file(struct walk *walk, const char *name,
                                                       const char *format, ...)
{
    va_list values;
    if (!is_here(walk, name, CONTENT))
        return;
    va_start(values, format);
    int length = vsnprintf(walk->content, sizeof(walk->content), format, values);
    va_end(values);
    assert(length >= 0 && (size_t)length < sizeof(walk->content));
    walk->length = (size_t)length;
    walk->found = true;
}

/* A file that is there and answers EINVAL. */
static void refusing_file(struct walk *walk, const char *name)
{
    if (is_here(walk, name, CONTENT))
        walk->refused = true;
}

/* A link that one can also walk through. */
static bool enter_link(struct walk *walk, const char *name, const char *target, const char **outer)
{
    if ((walk->wanted == LINK || PLANTED(world_sysfs_link_is_file)) &&
        strcmp(walk->rest, name) == 0) {
        walk->length = strlen(target);
        memcpy(walk->content, target, walk->length + 1);
        walk->found = true;
        return false;
    }
    return enter(walk, name, outer);
}

/* ------------------------------------------------------------------ ports */

static void gid_text(const uint8_t *raw, char *out)
{
    for (int i = 0; i < 16; i += 2, out += 5)
        snprintf(out, 6, "%02x%02x%s", raw[i], raw[i + 1], i < 14 ? ":" : "");
}

static bool gid_is_empty(const struct port_gid *gid)
{
    static const uint8_t zero[16];
    return memcmp(gid->gid.raw, zero, sizeof(zero)) == 0;
}

/* Of a table of `count` entries those that the walk may be about: all for a listing, else one. */
static void narrow(const struct walk *walk, uint16_t count, uint16_t *first, uint16_t *end)
{
    unsigned long index = strtoul(walk->rest, NULL, 10);
    *first = 0;
    *end = count;
    if (walk->rest[0] == '\0')
        return;
    *first = index < count ? (uint16_t)index : count;
    *end = index < count ? (uint16_t)(index + 1) : count;
    assert(*first <= *end);
}

static void describe_gids(struct walk *walk, const struct port_info *info)
{
    const char *outer;
    uint16_t first, end;
    if (!enter(walk, "gids", &outer))
        return;
    narrow(walk, info->gid_count, &first, &end);
    for (uint16_t i = first; i < end; i++) {
        char name[8], text[48];
        snprintf(name, sizeof(name), "%u", i);
        gid_text(info->gids[i].gid.raw, text);
        file(walk, name, "%s\n", text);
    }
    leave(walk, outer);
}

/* Holes and, for interfaces, InfiniBand entries answer EINVAL. */
static void describe_gid_attrs(struct walk *walk, const struct port_info *info)
{
    static const char *const types[] = {"IB/RoCE v1", "IB/RoCE v1", "RoCE v2"};
    const char *outer, *inner;
    uint16_t first, end;
    if (!enter(walk, "gid_attrs", &outer))
        return;
    for (int ndevs = 0; ndevs < 2; ndevs++) {
        if (!enter(walk, ndevs ? "ndevs" : "types", &inner))
            continue;
        narrow(walk, info->gid_count, &first, &end);
        for (uint16_t i = first; i < end; i++) {
            const struct port_gid *gid = &info->gids[i];
            char name[8];
            snprintf(name, sizeof(name), "%u", i);
            assert(gid->type < sizeof(types) / sizeof(*types));
            bool nothing = gid_is_empty(gid) || (ndevs && !gid->netdev[0]);
            if (nothing && !PLANTED(world_sysfs_holes_answer))
                refusing_file(walk, name);
            else
                file(walk, name, "%s\n", ndevs ? gid->netdev : types[gid->type]);
        }
        leave(walk, inner);
    }
    leave(walk, outer);
}

static void describe_pkeys(struct walk *walk, const struct port_info *info)
{
    const char *outer;
    uint16_t first, end;
    if (!enter(walk, "pkeys", &outer))
        return;
    narrow(walk, info->pkey_count, &first, &end);
    for (uint16_t i = first; i < end; i++) {
        char name[8];
        snprintf(name, sizeof(name), "%u", i);
        file(walk, name, "0x%04x\n", info->pkeys[i]);
    }
    leave(walk, outer);
}

static void describe_counters(struct walk *walk, const struct port_info *info)
{
    const struct fabric_port_counters *c = &info->counters;
    const char *outer;
    if (!enter(walk, "counters", &outer))
        return;
    file(walk, "port_xmit_data", "%" PRIu64 "\n",
         c->xmit_data / (PLANTED(world_sysfs_counts_bytes) ? 1 : 4)); /* in words of 4 bytes */
    file(walk, "port_rcv_data", "%" PRIu64 "\n", c->rcv_data / 4);
    file(walk, "port_xmit_packets", "%" PRIu64 "\n", c->xmit_packets);
    file(walk, "port_rcv_packets", "%" PRIu64 "\n", c->rcv_packets);
    file(walk, "port_xmit_discards", "%" PRIu64 "\n", c->xmit_discards);
    file(walk, "port_xmit_wait", "%" PRIu64 "\n", c->xmit_wait);
    file(walk, "port_rcv_errors", "%" PRIu64 "\n", c->rcv_errors);
    file(walk, "port_rcv_switch_relay_errors", "%" PRIu64 "\n", c->rcv_switch_relay_errors);
    file(walk, "port_rcv_constraint_errors", "%" PRIu64 "\n", c->rcv_constraint_errors);
    file(walk, "port_xmit_constraint_errors", "%" PRIu64 "\n", c->xmit_constraint_errors);
    file(walk, "symbol_error", "%" PRIu64 "\n", c->symbol_errors);
    file(walk, "link_downed", "%" PRIu64 "\n", c->link_downed);
    file(walk, "VL15_dropped", "%" PRIu64 "\n", c->vl15_dropped);
    leave(walk, outer);
}

static const char *rate_text(uint32_t mbps)
{
    static const struct {
        uint32_t mbps;
        const char *text;
    } rates[] = {
        {10000, "10 Gb/sec (4X SDR)"},   {20000, "20 Gb/sec (4X DDR)"},
        {40000, "40 Gb/sec (4X QDR)"},   {56000, "56 Gb/sec (4X FDR)"},
        {100000, "100 Gb/sec (4X EDR)"}, {200000, "200 Gb/sec (4X HDR)"},
        {400000, "400 Gb/sec (4X NDR)"}, {800000, "800 Gb/sec (4X XDR)"},
    };
    for (size_t i = 0; i < sizeof(rates) / sizeof(*rates); i++) {
        if (rates[i].mbps >= mbps)
            return rates[i].text;
    }
    return rates[7].text;
}

static void describe_port(struct walk *walk, const struct sysfs_port *port)
{
    static const char *const states[] = {"NOP", "DOWN", "INIT", "ARMED", "ACTIVE"};
    const struct port_info *info = port->info;
    bool ib = info->link_layer == FABRIC_LINK_LAYER_INFINIBAND;
    const char *outer;
    char name[8];
    snprintf(name, sizeof(name), "%u", info->port_num);
    assert(info->state <= FABRIC_PORT_ACTIVE);
    assert(info->pkey_count <= PORT_PKEYS && info->gid_count <= PORT_GIDS);
    if (!enter(walk, name, &outer))
        return;
    file(walk, "state", "%u: %s\n", info->state, states[info->state]);
    file(walk, "phys_state", "%s\n",
         info->disabled                   ? "3: Disabled"
         : info->state > FABRIC_PORT_DOWN ? "5: LinkUp"
                                          : "2: Polling");
    file(walk, "rate", "%s\n", rate_text(info->rate_mbps));
    file(walk, "lid", "0x%x\n", info->lid);
    file(walk, "lid_mask_count", "%u\n", info->lmc);
    file(walk, "sm_lid", "0x%x\n", info->sm_lid);
    file(walk, "sm_sl", "%u\n", info->sm_sl);
    file(walk, "cap_mask", "0x%08x\n", ib ? 0x02514868u | (info->is_sm ? 2u : 0u) : 0x04010000u);
    file(walk, "link_layer", "%s\n", ib ? "InfiniBand" : "Ethernet");
    describe_pkeys(walk, info);
    describe_gids(walk, info);
    describe_gid_attrs(walk, info);
    describe_counters(walk, info);
    leave(walk, outer);
}

/* ------------------------------------------------------------------ devices */

static void guid_file(struct walk *walk, const char *name, uint64_t guid)
{
    file(walk, name, "%04x:%04x:%04x:%04x\n", (unsigned)(guid >> 48),
         (unsigned)(guid >> 32 & 0xffff), (unsigned)(guid >> 16 & 0xffff),
         (unsigned)(guid & 0xffff));
}

/* Interfaces of InfiniBand ports come with the IPoIB module. */
static bool has_interface(const struct sysfs_view *view, const struct sysfs_port *port)
{
    bool ib = port->info->link_layer == FABRIC_LINK_LAYER_INFINIBAND;
    return port->netdev[0] && (!ib || view->ipoib_module || PLANTED(world_sysfs_module_ignored));
}

static void describe_device(struct walk *walk, const struct sysfs_device *device, bool in_class);
static void describe_interface(struct walk *walk, const struct sysfs_device *device,
                               const struct sysfs_port *port, bool in_class);

/* What `device` of the device and of its interfaces points to: its PCI function. */
static void describe_function(struct walk *walk, const struct sysfs_device *device)
{
    const char *outer;
    file(walk, "vendor", "0x%04x\n", device->vendor_id == 0x02c9 ? 0x15b3 : device->vendor_id);
    file(walk, "device", "0x%04x\n", device->device_id);
    if (enter(walk, "infiniband", &outer)) {
        describe_device(walk, device, false);
        leave(walk, outer);
    }
    if (enter(walk, "net", &outer)) {
        for (uint8_t i = 0; i < device->port_count; i++) {
            if (has_interface(walk->view, &device->ports[i]))
                describe_interface(walk, device, &device->ports[i], false);
        }
        leave(walk, outer);
    }
}

/* An entry of a class is a link to the folder below the PCI function. */
static bool enter_entry(struct walk *walk, const struct sysfs_device *device, const char *kind,
                        const char *name, bool in_class, const char **outer)
{
    char target[CONTENT_MAX];
    if (!in_class || PLANTED(world_sysfs_class_is_folder))
        return enter(walk, name, outer);
    snprintf(target, sizeof(target), "../../devices/" PCI_ROOT "/0000:%02x:00.0/%s/%.64s",
             device->bus & 0xff, kind, name);
    return enter_link(walk, name, target, outer);
}

static void describe_link_to_function(struct walk *walk, const struct sysfs_device *device)
{
    char target[64];
    const char *outer;
    snprintf(target, sizeof(target), "../../../0000:%02x:00.0", device->bus & 0xff);
    if (enter_link(walk, "device", target, &outer)) {
        describe_function(walk, device);
        leave(walk, outer);
    }
}

static void describe_device(struct walk *walk, const struct sysfs_device *device, bool in_class)
{
    const char *outer, *inner;
    if (!enter_entry(walk, device, "infiniband", device->name, in_class, &outer))
        return;
    guid_file(walk, "node_guid", device->node_guid);
    guid_file(walk, "sys_image_guid", device->sys_image_guid);
    file(walk, "node_type", "1: CA\n");
    file(walk, "node_desc", "%.30s %.30s\n", walk->view->node, device->name);
    file(walk, "fw_ver", "%s\n", device->fw_ver);
    file(walk, "hw_rev", "%x\n", device->hw_ver);
    file(walk, "hca_type", "MT%u\n", device->device_id);
    describe_link_to_function(walk, device);
    if (enter(walk, "ports", &inner)) {
        for (uint8_t i = 0; i < device->port_count; i++)
            describe_port(walk, &device->ports[i]);
        leave(walk, inner);
    }
    leave(walk, outer);
}

/* ------------------------------------------------------------------ interfaces */

/* IPoIB: 20 bytes, flags and queue pair number before the GID (RFC 4391, chapter 9.1.1). */
static void address_text(const struct sysfs_port *port, char *out)
{
    const struct port_info *info = port->info;
    uint8_t bytes[20];
    size_t count = 20 - (PLANTED(world_sysfs_address_truncated) ? 12 : 0);
    if (info->link_layer == FABRIC_LINK_LAYER_INFINIBAND) {
        bytes[0] = port->ipoib_enhanced ? 0 : 0x80;
        for (int i = 0; i < 3; i++)
            bytes[1 + i] = (uint8_t)(port->ipoib_qpn >> (16 - 8 * i));
        memcpy(bytes + 4, info->gids[0].gid.raw, 16);
    } else {
        count = 6;
        for (int i = 0; i < 6; i++) /* without the middle of the EUI-64 */
            bytes[i] = (uint8_t)(info->guid >> (i < 3 ? 56 - 8 * i : 40 - 8 * i));
        bytes[0] &= 0xfe;
    }
    for (size_t i = 0; i < count; i++, out += 3)
        snprintf(out, 4, "%02x%s", bytes[i], i + 1 < count ? ":" : "");
}

static void describe_interface(struct walk *walk, const struct sysfs_device *device,
                               const struct sysfs_port *port, bool in_class)
{
    bool ib = port->info->link_layer == FABRIC_LINK_LAYER_INFINIBAND;
    bool up = port->info->state == FABRIC_PORT_ACTIVE &&
              (!port->ipoib_waits || PLANTED(world_sysfs_carrier_early));
    char address[64];
    const char *outer;
    if (!enter_entry(walk, device, "net", port->netdev, in_class, &outer))
        return;
    address_text(port, address);
    file(walk, "type", "%d\n", ib ? IPOIB_TYPE : ETHERNET_TYPE);
    file(walk, "mtu", "%u\n", port->netdev_mtu);
    file(walk, "address", "%s\n", address);
    file(walk, "operstate", "%s\n", up ? "up" : "down");
    file(walk, "carrier", "%d\n", up);
    file(walk, "dev_id", "0x%x\n", ib ? 0 : port->info->port_num - 1);
    file(walk, "dev_port", "%d\n", port->info->port_num - 1);
    if (ib && port->ipoib_enhanced)
        refusing_file(walk, "mode");
    else if (ib)
        file(walk, "mode", "%s\n", port->ipoib_connected ? "connected" : "datagram");
    if (ib)
        file(walk, "pkey", "0x%04x\n", port->info->pkeys[0] | 0x8000);
    describe_link_to_function(walk, device);
    leave(walk, outer);
}

static void describe_interfaces(struct walk *walk)
{
    const struct sysfs_view *view = walk->view;
    for (size_t i = 0; i < view->device_count; i++) {
        for (uint8_t j = 0; j < view->devices[i].port_count; j++) {
            const struct sysfs_port *port = &view->devices[i].ports[j];
            if (has_interface(view, port))
                describe_interface(walk, &view->devices[i], port, true);
        }
    }
}

static void describe_functions(struct walk *walk)
{
    const struct sysfs_view *view = walk->view;
    const char *outer, *inner;
    if (!enter(walk, PCI_ROOT, &outer))
        return;
    for (size_t i = 0; i < view->device_count; i++) {
        char name[32];
        snprintf(name, sizeof(name), "0000:%02x:00.0", view->devices[i].bus & 0xff);
        if (!enter(walk, name, &inner))
            continue;
        describe_function(walk, &view->devices[i]);
        leave(walk, inner);
    }
    leave(walk, outer);
}

/* The device files of programs: what libibverbs looks for devices by. */
static void describe_uverbs(struct walk *walk)
{
    const char *outer, *inner;
    if (!enter(walk, "infiniband_verbs", &outer))
        return;
    file(walk, "abi_version", "%u\n", UVERBS_ABI);
    for (size_t i = 0; i < walk->view->device_count; i++) {
        const struct sysfs_device *device = &walk->view->devices[i];
        char name[16];
        snprintf(name, sizeof(name), "uverbs%u", device->bus & 0xff);
        if (!enter(walk, name, &inner))
            continue;
        file(walk, "ibdev", "%s\n", device->name);
        file(walk, "dev", "%u:%u\n", UVERBS_MAJOR, UVERBS_MINOR + (device->bus & 0xff));
        file(walk, "abi_version", "1\n");
        leave(walk, inner);
    }
    leave(walk, outer);
}

static void describe(struct walk *walk)
{
    const struct sysfs_view *view = walk->view;
    const char *outer, *inner;
    if (enter(walk, "class", &outer)) {
        if (view->device_count && enter(walk, "infiniband", &inner)) {
            for (size_t i = 0; i < view->device_count; i++)
                describe_device(walk, &view->devices[i], true);
            leave(walk, inner);
        }
        if (view->device_count)
            describe_uverbs(walk);
        if (enter(walk, "net", &inner)) {
            describe_interfaces(walk);
            leave(walk, inner);
        }
        leave(walk, outer);
    }
    if (view->device_count && enter(walk, "devices", &outer)) {
        describe_functions(walk);
        leave(walk, outer);
    }
    if (enter(walk, "module", &outer)) {
        if (view->ipoib_module && enter(walk, "ib_ipoib", &inner)) {
            file(walk, "initstate", "live\n"); /* loaded, not built in */
            leave(walk, inner);
        }
        leave(walk, outer);
    }
}

/* ------------------------------------------------------------------ answers */

static bool walk_to(struct walk *walk, const struct sysfs_view *view, const char *path,
                    enum wanted wanted, char *rest)
{
    size_t length = strlen(path);
    assert(view && view->node && (view->devices || view->device_count == 0));
    *walk = (struct walk){.view = view, .wanted = wanted, .rest = rest};
    if (strncmp(path, "/sys", 4) != 0 || (path[4] && path[4] != '/') || length >= FABRIC_PATH_MAX)
        return false;
    memcpy(rest, path + (path[4] ? 5 : 4), length - (path[4] ? 5 : 4) + 1);
    for (length = strlen(rest); length && rest[length - 1] == '/'; length--)
        rest[length - 1] = '\0';
    walk->found = rest[0] == '\0' && wanted == NAMES;
    describe(walk);
    return walk->found;
}

enum fabric_error sysfs_read(const struct sysfs_view *view, const char *path, void *buf,
                             size_t capacity, size_t *length)
{
    struct walk walk;
    char rest[FABRIC_PATH_MAX];
    if (!walk_to(&walk, view, path, CONTENT, rest))
        return walk.refused ? ERR_INVALID_ARGUMENT : ERR_NOT_FOUND;
    if (walk.length > capacity && !PLANTED(world_sysfs_overflows))
        return ERR_TOO_LARGE;
    memcpy(buf, walk.content, walk.length);
    *length = walk.length;
    return FABRIC_OK;
}

enum fabric_error sysfs_link(const struct sysfs_view *view, const char *path, char *buf,
                             size_t capacity)
{
    struct walk walk;
    char rest[FABRIC_PATH_MAX];
    if (!walk_to(&walk, view, path, LINK, rest))
        return ERR_NOT_FOUND;
    if (walk.length + 1 > capacity)
        return ERR_TOO_LARGE;
    memcpy(buf, walk.content, walk.length + 1);
    return FABRIC_OK;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void put_sorted(const struct walk *walk, char *buf)
{
    const char **sorted = calloc(walk->name_count + 1, sizeof(*sorted));
    const char *name = walk->names;
    assert(sorted);
    for (size_t i = 0; i < walk->name_count; i++, name += strlen(name) + 1)
        sorted[i] = name;
    if (!PLANTED(world_sysfs_unsorted))
        qsort(sorted, walk->name_count, sizeof(*sorted), by_text);
    for (size_t i = 0; i < walk->name_count; i++) {
        size_t length = strlen(sorted[i]) + 1;
        memcpy(buf, sorted[i], length);
        buf += length;
    }
    free(sorted);
}

enum fabric_error sysfs_list(const struct sysfs_view *view, const char *path, void *buf,
                             size_t capacity, size_t *length)
{
    struct walk walk;
    char rest[FABRIC_PATH_MAX];
    enum fabric_error error = FABRIC_OK;
    if (!walk_to(&walk, view, path, NAMES, rest))
        error = ERR_NOT_FOUND;
    else if (walk.names_length > capacity)
        error = ERR_TOO_LARGE;
    if (!error) {
        put_sorted(&walk, buf);
        *length = walk.names_length;
    }
    free(walk.names);
    return error;
}
