/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "src/fabric/planted.h"
#include "src/fabric/sysfile.h"
#include "src/net/ipoib.h"

static uint32_t most_of(const struct net_ipoib_plan *plan)
{
    return plan->connected ? IPOIB_CONNECTED_MTU : IPOIB_DATAGRAM_MTU_4K;
}

static bool fits(const struct net_ipoib_plan *plan)
{
    bool high = plan->mtu > most_of(plan) && !PLANTED(net_ipoib_mtu_unbounded);
    return plan->mtu >= IPOIB_MTU_LEAST && !high;
}

enum fabric_error net_ipoib_plan(const struct ipoib_interface *interface,
                                 const struct net_ipoib_options *options,
                                 struct net_ipoib_plan *out, char *detail)
{
    assert(interface && options && out && detail);
    struct net_ipoib_plan plan = {.connected = options->connected || interface->connected,
                                  .mtu = interface->mtu};
    plan.write_mode = plan.connected && !interface->connected;
    if (plan.write_mode)
        plan.mtu = IPOIB_CONNECTED_MTU;
    if (plan.write_mode && interface->enhanced && !PLANTED(net_ipoib_enhanced_tried)) {
        snprintf(detail, NET_IPOIB_DETAIL,
                 "found enhanced IPoIB on %s (bit 0x80 of the first byte of its hardware address, "
                 "%02x, is clear): it has no connected mode. Datagram mode with MTU %d is the "
                 "most, where the broadcast group allows 4096; mlx5 offers connected mode with "
                 "the module option ib_ipoib ipoib_enhanced=0 of the vendor's driver",
                 interface->name, interface->address[0], IPOIB_DATAGRAM_MTU_4K);
        return ERR_NOT_SUPPORTED;
    }
    plan.want_mtu = options->mtu != 0;
    if (plan.want_mtu)
        plan.mtu = options->mtu;
    if (plan.want_mtu && !fits(&plan)) {
        snprintf(detail, NET_IPOIB_DETAIL, "found MTU %u; %s mode allows %d to %u", options->mtu,
                 ipoib_mode_name(plan.connected), IPOIB_MTU_LEAST, most_of(&plan));
        size_t used = strlen(detail);
        if (!plan.connected && !interface->enhanced)
            snprintf(detail + used, NET_IPOIB_DETAIL - used, ", --connected allows %d",
                     IPOIB_CONNECTED_MTU);
        return ERR_INVALID_ARGUMENT;
    }
    *out = plan;
    return FABRIC_OK;
}

/* The kernel compares the mode with its newline. */
static enum fabric_error write_file(struct fabric *f, const struct ipoib_interface *interface,
                                    const char *file, const char *value, char *detail)
{
    char path[FABRIC_PATH_MAX], text[32];
    assert(strlen(value) < sizeof(text) - 1 && sysfile_name_ok(interface->name));
    snprintf(path, sizeof(path), "/sys/class/net/%s/%s", interface->name, file);
    snprintf(text, sizeof(text), PLANTED(net_ipoib_no_newline) ? "%s" : "%s\n", value);
    enum fabric_error error = fabric_sysfile_write(f, path, text, strlen(text));
    if (error)
        snprintf(detail, NET_IPOIB_DETAIL, "%s does not take %s%s", path, value,
                 error == ERR_ACCESS_DENIED ? ": it needs root (CAP_NET_ADMIN)" : "");
    return error;
}

static enum fabric_error read_back(struct fabric *f, const struct ipoib_interface *before,
                                   struct ipoib_interface *after, char *detail)
{
    char path[FABRIC_PATH_MAX];
    enum fabric_error error = ipoib_read(f, before->name, after, path);
    if (error)
        snprintf(detail, NET_IPOIB_DETAIL, "%s cannot be read back", path);
    return error;
}

static enum fabric_error apply_mode(struct fabric *f, const struct ipoib_interface *before,
                                    struct ipoib_interface *after, char *detail)
{
    enum fabric_error error = write_file(f, before, "mode", "connected", detail);
    if (!error)
        error = read_back(f, before, after, detail);
    if (!error && !after->connected && !PLANTED(net_ipoib_not_read_back)) {
        snprintf(detail, NET_IPOIB_DETAIL, "%s stayed in datagram mode", before->name);
        error = ERR_INVALID_ARGUMENT;
    }
    return error;
}

static enum fabric_error apply_mtu(struct fabric *f, const struct net_ipoib_plan *plan,
                                   const struct ipoib_interface *before,
                                   struct ipoib_interface *after, char *detail)
{
    char value[16];
    snprintf(value, sizeof(value), "%u", plan->mtu);
    enum fabric_error error = write_file(f, before, "mtu", value, detail);
    if (!error)
        error = read_back(f, before, after, detail);
    if (!error && after->mtu != plan->mtu && !PLANTED(net_ipoib_not_read_back)) {
        snprintf(detail, NET_IPOIB_DETAIL, "MTU %u was written to %s, and %u is read back",
                 plan->mtu, before->name, after->mtu);
        error = ERR_INVALID_ARGUMENT;
    }
    return error;
}

enum fabric_error net_ipoib_apply(struct fabric *f, const struct net_ipoib_plan *plan,
                                  const struct ipoib_interface *before,
                                  struct ipoib_interface *after, bool *mtu_written, char *detail)
{
    assert(f && plan && before && after && mtu_written && detail);
    enum fabric_error error = FABRIC_OK;
    *after = *before;
    *mtu_written = false;
    bool late = PLANTED(net_ipoib_mtu_before_mode);
    if (plan->write_mode && !late)
        error = apply_mode(f, before, after, detail);
    bool differs = plan->want_mtu && after->mtu != plan->mtu;
    if (!error && (differs || PLANTED(net_ipoib_mtu_always_written))) {
        error = apply_mtu(f, plan, before, after, detail);
        *mtu_written = !error;
    }
    if (!error && plan->write_mode && late)
        error = apply_mode(f, before, after, detail);
    return error;
}

/* What both rules match: the port by its GUID; queue pair numbers come and go. */
static int match(const struct ipoib_interface *interface, char *out)
{
    const uint8_t *guid = interface->address + IPOIB_ADDRESS_BYTES - 8;
    return snprintf(out, NET_IPOIB_RULE,
                    "ACTION==\"add\", SUBSYSTEM==\"net\", ATTR{type}==\"%d\", "
                    "ATTR{address}==\"?*:%02x:%02x:%02x:%02x:%02x:%02x:%02x:%02x\", ",
                    IPOIB_TYPE, guid[0], guid[1], guid[2], guid[3], guid[4], guid[5], guid[6],
                    guid[7]);
}

void net_ipoib_attribute_rule(const struct ipoib_interface *interface,
                              const struct net_ipoib_plan *plan, char *out)
{
    assert(interface && plan && out);
    int used = match(interface, out);
    if (interface->enhanced)
        used += snprintf(out + used, NET_IPOIB_RULE - (size_t)used, "ATTR{mtu}=\"%u\"", plan->mtu);
    else
        used += snprintf(out + used, NET_IPOIB_RULE - (size_t)used,
                         "ATTR{mode}=\"%s\", ATTR{mtu}=\"%u\"", ipoib_mode_name(plan->connected),
                         plan->mtu);
    assert(used > 0 && used < NET_IPOIB_RULE);
}

/* The kernel allows nearly every character in the name of an interface; a shell does not. */
static const char plain_characters[] =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";

static bool plain(const char *name)
{
    return name[strspn(name, plain_characters)] == '\0';
}

void net_ipoib_rule_file(const struct ipoib_interface *interface, char *out)
{
    assert(interface && out);
    int used = snprintf(out, NET_UDEV_PATH, "%s", NET_UDEV_PREFIX);
    for (const char *c = interface->name; *c; c++)
        out[used++] = strchr(plain_characters, *c) ? *c : '_';
    snprintf(out + used, (size_t)(NET_UDEV_PATH - used), ".rules");
}

bool net_ipoib_command_rule(const struct ipoib_interface *interface,
                            const struct net_ipoib_plan *plan, char *out)
{
    assert(interface && plan && out);
    const char *name = PLANTED(net_ipoib_kernel_name) ? "ib0" : interface->name;
    if (!plain(name) && !PLANTED(net_ipoib_unfit_name))
        return false;
    int used = match(interface, out);
    used += snprintf(out + used, NET_IPOIB_RULE - (size_t)used, "RUN+=\"/bin/sh -c '");
    if (!interface->enhanced)
        used +=
            snprintf(out + used, NET_IPOIB_RULE - (size_t)used,
                     "echo %s > /sys/class/net/%s/mode; ", ipoib_mode_name(plan->connected), name);
    used += snprintf(out + used, NET_IPOIB_RULE - (size_t)used,
                     "echo %u > /sys/class/net/%s/mtu'\"", plan->mtu, name);
    assert(used > 0 && used < NET_IPOIB_RULE);
    return true;
}
