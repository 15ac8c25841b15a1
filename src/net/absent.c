/* SPDX-License-Identifier: Apache-2.0 */
/* A node without a device: what was looked for, and what stands there instead. */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "src/fabric/planted.h"
#include "src/net/model.h"

#define MELLANOX 0x15b3u
#define CLASS_INFINIBAND 0x0207u /* PCI: network controller, InfiniBand */
#define MAX_FUNCTIONS 512u       /* of the PCI bus that are looked at */

static void place(struct net_model *model, const char *what, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void place(struct net_model *model, const char *what, const char *format, ...)
{
    if (model->place_count == NET_MAX_PLACES)
        return;
    assert(what[0] == '/');
    struct net_place *p = &model->places[model->place_count++];
    snprintf(p->what, sizeof(p->what), "%s", what);
    va_list values;
    va_start(values, format);
    vsnprintf(p->found, sizeof(p->found), format, values);
    va_end(values);
}

static void look_at_class(struct net_model *model)
{
    char names[SYSFILE_NAMES];
    size_t length;
    const char *path = "/sys/class/infiniband";
    enum fabric_error error = sysfile_names(model->fabric, path, names, &length);
    if (error == ERR_NOT_FOUND)
        place(model, path, "is not there: the kernel has no RDMA core (modprobe ib_core)");
    else if (error)
        place(model, path, "cannot be listed: %s", error_name(error));
    else
        place(model, path, "is empty: no driver made a device");
}

static void look_at_modules(struct net_model *model)
{
    static const char *const modules[] = {"ib_uverbs", "mlx5_ib", "rdma_rxe"};
    static const char *const purposes[] = {"programs reach devices through it",
                                           "NVIDIA ConnectX-4 and later, Connect-IB",
                                           "RoCE in software on any Ethernet interface"};
    char path[64];
    for (size_t i = 0; i < sizeof(modules) / sizeof(*modules); i++) {
        snprintf(path, sizeof(path), "/sys/module/%s", modules[i]);
        if (sysfile_folder(model->fabric, path) && !PLANTED(net_modules_never_there))
            place(model, path, "is loaded (%s)", purposes[i]);
        else
            place(model, path, "is not loaded (%s): modprobe %s", purposes[i], modules[i]);
    }
}

/* What an RDMA driver would serve: InfiniBand controllers, and adapters of the maker of most. */
static bool is_adapter(struct net_model *model, const char *function)
{
    char path[FABRIC_PATH_MAX];
    uint64_t class = 0, vendor = 0;
    snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/class", function);
    if (sysfile_number(model->fabric, path, 0xffffff, &class) != FABRIC_OK)
        return false;
    snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/vendor", function);
    if (sysfile_number(model->fabric, path, 0xffff, &vendor) != FABRIC_OK)
        return false;
    return class >> 8 == CLASS_INFINIBAND || (vendor == MELLANOX && class >> 16 == 0x02);
}

static void look_at_functions(struct net_model *model)
{
    char names[SYSFILE_NAMES], path[FABRIC_PATH_MAX], driver[FABRIC_NAME_MAX];
    size_t length, seen = 0, adapters = 0;
    enum fabric_error error = sysfile_names(model->fabric, "/sys/bus/pci/devices", names, &length);
    if (error) {
        place(model, "/sys/bus/pci/devices", "cannot be listed: %s", error_name(error));
        return;
    }
    for (size_t at = 0; at < length && seen < MAX_FUNCTIONS; at += strlen(names + at) + 1, seen++) {
        if (!sysfile_name_ok(names + at) || !is_adapter(model, names + at))
            continue;
        adapters++;
        snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/driver", names + at);
        bool bound = sysfile_link_name(model->fabric, path, driver) == FABRIC_OK;
        snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s", names + at);
        place(model, path, "is an RDMA adapter; its driver is %s", bound ? driver : "missing");
    }
    if (adapters == 0)
        place(model, "/sys/bus/pci/devices", "holds no RDMA adapter among %zu functions", seen);
}

/* A read of a device node tells by its error whether it may be opened; the node has no content. */
static void look_at_nodes(struct net_model *model)
{
    char names[SYSFILE_NAMES], path[FABRIC_PATH_MAX], byte;
    size_t length, got, nodes = 0;
    const char *folder = "/dev/infiniband";
    enum fabric_error error = sysfile_names(model->fabric, folder, names, &length);
    if (error == ERR_NOT_FOUND)
        place(model, folder, "is not there: a container needs --device /dev/infiniband");
    else if (error)
        place(model, folder, "cannot be listed: %s", error_name(error));
    if (error)
        return;
    for (size_t at = 0; at < length; at += strlen(names + at) + 1) {
        if (strncmp(names + at, "uverbs", 6) != 0 || !sysfile_name_ok(names + at))
            continue;
        nodes++;
        snprintf(path, sizeof(path), "%s/%.63s", folder, names + at);
        error = fabric_sysfile_read(model->fabric, path, &byte, sizeof(byte), &got);
        if (error == ERR_ACCESS_DENIED)
            place(model, path, "may not be opened by this user: access_denied");
    }
    place(model, folder, "holds %zu device nodes (uverbs)", nodes);
}

void net_look_around(struct net_model *model)
{
    assert(model && model->device_count == 0);
    look_at_class(model);
    look_at_modules(model);
    look_at_functions(model);
    look_at_nodes(model);
}
