/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "src/cli/setup.h"
#include "src/config/server_config.h"
#include "src/net/show.h"

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)
#define LEAST_MEMORY (64 * MIB) /* of max_size, where the machine does not tell what it has */
#define RAILS CONFIG_MAX_RAILS

struct page {
    char *text;
    size_t length;
};

static void add(struct page *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* What finds no room is cut; a machine with so much does not exist. */
static void add(struct page *p, const char *format, ...)
{
    va_list arguments;
    assert(p && p->length < SETUP_TEXT);
    va_start(arguments, format);
    int length = vsnprintf(p->text + p->length, SETUP_TEXT - p->length, format, arguments);
    va_end(arguments);
    if (length > 0)
        p->length += (size_t)length;
    if (p->length >= SETUP_TEXT)
        p->length = SETUP_TEXT - 1;
}

/* Whole GiB where there are enough of them, else MiB. */
static void add_size(struct page *p, uint64_t bytes)
{
    if (bytes >= 16 * GIB)
        add(p, "%" PRIu64 " GiB", bytes / GIB);
    else
        add(p, "%" PRIu64 " MiB", bytes / MIB);
}

static bool is_free(const struct setup_drive *d)
{
    return !d->used[0];
}

static uint32_t free_drives(const struct setup_machine *m, uint64_t *least)
{
    uint32_t count = 0;
    *least = UINT64_MAX;
    for (uint32_t i = 0; i < m->drive_count; i++) {
        if (!is_free(&m->drives[i]))
            continue;
        count++;
        *least = m->drives[i].bytes < *least ? m->drives[i].bytes : *least;
    }
    return count;
}

/* Half of what is available: the rest is the system's, and the page cache's with mode file. */
static uint64_t memory_for(const struct setup_machine *m)
{
    const uint64_t half = m->available / 2 / MIB * MIB;
    return half > LEAST_MEMORY ? half : LEAST_MEMORY;
}

/* ------------------------------------------------------------------ the configuration */

static void add_machine(struct page *p, const struct setup_machine *m)
{
    add(p, "# What this machine has:\n");
    add(p, "#   processors %s, NUMA nodes %s\n", m->processors[0] ? m->processors : "not known",
        m->numa_nodes[0] ? m->numa_nodes : "not known");
    add(p, "#   memory ");
    add_size(p, m->memory);
    add(p, ", available ");
    add_size(p, m->available);
    add(p, "; huge pages %" PRIu64 " of %" PRIu64 " KiB (MemKV asks for none)\n", m->huge_pages,
        m->huge_size / 1024);
    if (m->memlock_known && m->memlock == UINT64_MAX)
        add(p, "#   locked memory: no limit\n");
    else if (m->memlock_known)
        add(p,
            "#   locked memory: %" PRIu64 " MiB; RDMA locks all of memory.max_size: set "
            "LimitMEMLOCK=infinity in the unit, or ulimit -l unlimited\n",
            m->memlock / MIB);
    for (uint32_t i = 0; i < m->drive_count; i++) {
        const struct setup_drive *d = &m->drives[i];
        add(p, "#   drive /dev/%s, ", d->name);
        add_size(p, d->bytes);
        add(p, "%s%.60s%s: %s", d->model[0] ? ", " : "", d->model,
            d->rotational ? ", rotational" : "", is_free(d) ? "free" : d->used);
        if (d->numa_node >= 0)
            add(p, ", NUMA node %" PRId64, d->numa_node);
        add(p, "\n");
    }
    for (uint32_t i = 0; i < m->mount_count; i++)
        add(p, "#   file system %.100s, %s%s\n", m->mounts[i].at, m->mounts[i].type,
            m->mounts[i].read_only ? ", read-only" : "");
}

/* A port that serves now, or will when its subnet manager has come. */
static bool is_rail(const struct net_port *port)
{
    return !port->error || port->error == ERR_WAITING_FOR_SM || port->error == ERR_NO_LID;
}

static void add_port(struct page *p, const struct net_device *d, const struct net_port *port)
{
    add(p, "  # %s:%u: %s, %s", d->name, port->port_num, net_link_layer_text(port->link_layer),
        net_state_text(port->state));
    if (port->rate[0])
        add(p, ", %s Gb/s", port->rate);
    if (port->active_mtu)
        add(p, ", active MTU %u", fabric_mtu_bytes(port->active_mtu));
    add(p, "%s%.150s\n", port->error ? "; " : "", port->error ? port->detail : "");
}

static void add_rdma(struct page *p, const struct setup_machine *m)
{
    uint32_t rails = 0;
    assert(m->net.device_count <= NET_MAX_DEVICES);
    add(p, "\nrdma:\n");
    for (uint32_t i = 0; i < m->net.device_count; i++) {
        for (uint8_t k = 0; k < m->net.devices[i].shown; k++)
            add_port(p, &m->net.devices[i], &m->net.devices[i].ports[k]);
    }
    for (uint32_t i = 0; i < m->net.device_count; i++) {
        const struct net_device *d = &m->net.devices[i];
        for (uint8_t k = 0; k < d->shown && rails < RAILS; k++) {
            if (is_rail(&d->ports[k]))
                add(p, "%s\"%s:%u\"", rails++ ? ", " : "  devices: [", d->name,
                    d->ports[k].port_num);
        }
    }
    if (rails)
        add(p, "]\n");
    else
        add(p,
            "  # no port of this machine can serve: clients use TCP (memkv net show says why)\n");
    add(p, "  transport: auto # DC where both ends have it, else RC\n");
    add(p, "  # mtu: 4096 # left out: at most the port's active MTU\n");
}

static void add_devices(struct page *p, const struct setup_machine *m, const char *before)
{
    uint32_t count = 0;
    add(p, "%sdevices: [", before);
    for (uint32_t i = 0; i < m->drive_count && count < CONFIG_MAX_MEDIA; i++) {
        if (is_free(&m->drives[i]))
            add(p, "%s/dev/%s", count++ ? ", " : "", m->drives[i].name);
    }
    add(p, "]\n");
}

static void add_storage(struct page *p, const struct setup_machine *m,
                        const struct setup_plan *plan)
{
    uint64_t least;
    const uint32_t count = free_drives(m, &least);
    const bool direct = strcmp(plan->mode, "direct") == 0;
    assert(!direct || count > 0);
    add(p, "\nstorage:\n  mode: %s # memory | file | direct\n", plan->mode);
    if (strcmp(plan->mode, "file") == 0) {
        add(p, "  path: %s # one folder; devices: [...] names several, one on each drive\n",
            plan->path);
        add(p, "  max_size: 16 GiB # of the files; there must be so much room\n");
    } else if (direct) {
        add(p, "  # memkv setup --format DEVICE --force lays stores out on them; blank ones the "
               "server "
               "itself\n");
        add_devices(p, m, "  ");
        add(p, "  max_size: ");
        add_size(p, least * (count < CONFIG_MAX_MEDIA ? count : CONFIG_MAX_MEDIA));
        add(p, "\n");
    } else if (count > 0) {
        add_devices(p, m, "  # free drives, for mode direct: ");
    }
    if (strcmp(plan->mode, "memory") != 0)
        add(p, "  durability: ack # an acknowledged PUT survives a power cut\n");
    add(p, "  lanes: %" PRIu64 "\n", plan->lanes);
    add(p, "  eviction: {enabled: true, start_percent: 70, stop_percent: 60}\n");
}

bool setup_configuration(const struct setup_machine *m, const struct setup_plan *plan, char *out,
                         char *problem)
{
    struct page p = {.text = out};
    uint64_t least;
    assert(m && plan && plan->lanes >= 1);
    const uint32_t count = free_drives(m, &least);
    if (strcmp(plan->mode, "direct") == 0 && (count == 0 || count % plan->lanes)) {
        snprintf(problem, CLI_PROBLEM,
                 "--mode direct: found %u drives that nobody uses; a multiple of %" PRIu64
                 " is expected, one at least for each lane",
                 count, plan->lanes);
        return false;
    }
    add(&p, "# A configuration of memkv start, made by memkv setup.\n");
    add_machine(&p, m);
    add(&p,
        "\nnetwork:\n  address: 0.0.0.0:9900\n"
        "  # 64 hexadecimal digits, the same on every server and client: openssl rand -hex 32\n"
        "  auth_key_file: %s\n",
        plan->key_file);
    add(&p, "\nmemory:\n  block_size: 2 MiB # the largest single RDMA operation\n  max_size: ");
    add_size(&p, memory_for(m));
    add(&p, " # half of what is available\n");
    add_rdma(&p, m);
    add_storage(&p, m, plan);
    return true;
}

/* ------------------------------------------------------------------ JSON */

static json_t *json_drives(const struct setup_machine *m)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < m->drive_count; i++) {
        const struct setup_drive *d = &m->drives[i];
        json_t *one = json_pack("{s:s++, s:o, s:I, s:b, s:b, s:b, s:o}", "path", "/dev/", d->name,
                                "", "model", net_string(d->model), "bytes", (json_int_t)d->bytes,
                                "rotational", d->rotational, "removable", d->removable, "free",
                                is_free(d), "used", d->used[0] ? net_string(d->used) : json_null());
        json_object_set_new(one, "numa_node",
                            d->numa_node < 0 ? json_null() : json_integer(d->numa_node));
        json_array_append_new(list, one);
    }
    return list;
}

static json_t *json_mounts(const struct setup_machine *m)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < m->mount_count; i++)
        json_array_append_new(
            list, json_pack("{s:o, s:o, s:o, s:b}", "path", net_string(m->mounts[i].at), "source",
                            net_string(m->mounts[i].source), "type", net_string(m->mounts[i].type),
                            "read_only", m->mounts[i].read_only));
    return list;
}

static json_t *json_ports(const struct setup_machine *m)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < m->net.device_count; i++) {
        for (uint8_t k = 0; k < m->net.devices[i].shown; k++) {
            const struct net_port *port = &m->net.devices[i].ports[k];
            json_array_append_new(
                list, json_pack("{s:o, s:i, s:s, s:s, s:i, s:b, s:s}", "device",
                                net_string(m->net.devices[i].name), "port", port->port_num,
                                "link_layer", net_link_layer_text(port->link_layer), "state",
                                net_state_text(port->state), "active_mtu",
                                port->active_mtu ? (int)fabric_mtu_bytes(port->active_mtu) : 0,
                                "serves", is_rail(port), "reason", error_name(port->error)));
        }
    }
    return list;
}

json_t *setup_json(const struct setup_machine *m, const char *configuration)
{
    assert(m && configuration);
    json_t *memlock = !m->memlock_known          ? json_null()
                      : m->memlock == UINT64_MAX ? json_string("unlimited")
                                                 : json_integer((json_int_t)m->memlock);
    return json_pack(
        "{s:b, s:s, s:o, s:o, s:I, s:I, s:{s:I, s:I, s:I}, s:o, s:o, s:o, s:o, s:s}", "ok", 1, "op",
        "setup", "processors", net_string(m->processors), "numa_nodes", net_string(m->numa_nodes),
        "memory_bytes", (json_int_t)m->memory, "available_bytes", (json_int_t)m->available,
        "huge_pages", "total", (json_int_t)m->huge_pages, "free", (json_int_t)m->huge_free, "size",
        (json_int_t)m->huge_size, "memlock_bytes", memlock, "drives", json_drives(m),
        "file_systems", json_mounts(m), "ports", json_ports(m), "configuration", configuration);
}
