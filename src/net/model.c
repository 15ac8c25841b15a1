/* SPDX-License-Identifier: Apache-2.0 */
#include "src/net/model.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/config/nearest.h"
#include "src/fabric/planted.h"

#define CLASS "/sys/class/infiniband"

static const char other_name[] = "Use one of the devices and ports that memkv net show lists.";
static const char no_device[] =
    "Load the driver of the adapter, and hand /dev/infiniband into a container: the places that "
    "were "
    "looked at say what is missing. Without a device memkv serves over TCP alone.";

/* Pointers to the names in a list, at most NET_MAX_DEVICES; a name that cannot be shown is a
 * fault. */
static size_t names_of(struct net_model *model, const char *list, size_t length,
                       const char *names[NET_MAX_DEVICES])
{
    size_t count = 0;
    for (size_t at = 0; at < length; at += strlen(list + at) + 1) {
        if (!sysfile_name_ok(list + at))
            net_fault(model, ERR_SYSFILE_INVALID, CLASS);
        else if (count == NET_MAX_DEVICES)
            net_fault(model, ERR_TOO_LARGE, CLASS);
        else
            names[count++] = list + at;
    }
    return count;
}

static void judge_device(struct net_model *model, struct net_device *device)
{
    for (uint8_t i = 0; i < device->shown; i++) {
        struct net_port *port = &device->ports[i];
        net_judge_gids(model->config, port);
        if (port->link_layer == FABRIC_LINK_LAYER_ETHERNET)
            net_read_ethernet(model, port);
        net_judge(model, device, port);
        net_judge_settings(model, device, port);
    }
}

static void no_port(struct net_model *model, uint8_t port)
{
    const struct net_device *device = &model->devices[0];
    assert(port && !model->error);
    model->error = ERR_NOT_FOUND;
    model->fix = other_name;
    snprintf(model->detail, sizeof(model->detail), "found no port %u: %s has %u", port,
             device->name, device->port_count);
}

static void read_all(struct net_model *model, const char *const *names, size_t count,
                     const char *device, uint8_t port)
{
    model->devices = calloc(count ? count : 1, sizeof(*model->devices));
    assert(model->devices);
    for (size_t i = 0; i < count; i++) {
        if (!device || strcmp(names[i], device) == 0)
            net_read_device(model, names[i], port, &model->devices[model->device_count++]);
    }
    bool interfaces = false;
    for (uint32_t i = 0; i < model->device_count; i++) {
        for (uint8_t j = 0; j < model->devices[i].shown; j++)
            interfaces = interfaces || model->devices[i].ports[j].ipoib_count > 0;
    }
    model->module = ipoib_module(model->fabric, interfaces);
    for (uint32_t i = 0; i < model->device_count; i++)
        judge_device(model, &model->devices[i]);
    if (device && port && model->device_count && model->devices[0].shown == 0)
        no_port(model, port);
}

static void not_that_one(struct net_model *model, const char *device, const char *const *names,
                         size_t count)
{
    const char *near = PLANTED(net_nearest_first) ? names[0] : nearest_name(device, names, count);
    int used = snprintf(model->detail, sizeof(model->detail), "found no device %s;",
                        sysfile_name_ok(device) ? device : "of this name");
    model->error = ERR_NOT_FOUND;
    model->fix = other_name;
    if (near)
        used += snprintf(model->detail + used, sizeof(model->detail) - (size_t)used,
                         " did you mean %s?", near);
    used += snprintf(model->detail + used, sizeof(model->detail) - (size_t)used, " there %s",
                     count > 1 ? "are" : "is");
    for (size_t i = 0; i < count && (size_t)used < sizeof(model->detail); i++)
        used += snprintf(model->detail + used, sizeof(model->detail) - (size_t)used, "%s %s",
                         i ? "," : "", names[i]);
}

void net_model_read(struct fabric *f, const struct config_rdma *config, const char *device,
                    uint8_t port, struct net_model *out)
{
    static const struct config_rdma defaults = {.traffic_class = -1, .gid_index = -1};
    char list[SYSFILE_NAMES];
    const char *names[NET_MAX_DEVICES];
    size_t length = 0;
    assert(f && out);
    memset(out, 0, sizeof(*out));
    out->fabric = f;
    out->config = config ? config : &defaults;
    enum fabric_error error = sysfile_names(f, CLASS, list, &length);
    size_t count = error ? 0 : names_of(out, list, length, names);
    if (count == 0) {
        bool none = !error || error == ERR_NOT_FOUND || error == ERR_NOT_SUPPORTED;
        out->error = none ? ERR_NOT_FOUND : error == ERR_TOO_LARGE ? ERR_SYSFILE_INVALID : error;
        out->fix = none ? no_device : NULL;
        snprintf(out->detail, sizeof(out->detail), "found no RDMA device on this node");
        net_look_around(out);
        return;
    }
    read_all(out, names, count, device, port);
    if (out->device_count == 0 && device)
        not_that_one(out, device, names, count);
}

void net_model_free(struct net_model *model)
{
    assert(model);
    for (uint32_t i = 0; i < model->device_count; i++) {
        for (uint8_t j = 0; j < model->devices[i].shown; j++)
            free(model->devices[i].ports[j].gids);
        free(model->devices[i].ports);
    }
    free(model->devices);
    memset(model, 0, sizeof(*model));
}

static void watch_port(struct net_model *model, fabric_device handle, struct net_port *port)
{
    struct fabric_port_attr attr;
    if (fabric_port_query(model->fabric, handle, port->port_num, &attr) != FABRIC_OK)
        return;
    assert(port->violations_known);
    port->growth = attr.bad_pkey_cntr - port->violations; /* it may wrap */
    port->growth_known = true;
    port->violations = attr.bad_pkey_cntr;
}

void net_model_watch(struct net_model *model)
{
    fabric_device handle;
    assert(model && model->fabric);
    for (uint32_t i = 0; i < model->device_count; i++) {
        struct net_device *device = &model->devices[i];
        if (fabric_device_open(model->fabric, device->name, &handle) != FABRIC_OK)
            continue;
        for (uint8_t j = 0; j < device->shown; j++) {
            if (device->ports[j].violations_known)
                watch_port(model, handle, &device->ports[j]);
        }
        fabric_device_close(model->fabric, handle);
    }
}
