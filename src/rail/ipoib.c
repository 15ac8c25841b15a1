/* SPDX-License-Identifier: Apache-2.0 */
#include "src/rail/ipoib.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "src/fabric/planted.h"
#include "src/fabric/sysfile.h"

#define CONNECTED_FLAG 0x80u /* of the first byte: the interface takes connections (RFC 4755) */
#define TCP_HEADERS 40u      /* IPv4 and TCP without options */
#define BLOCK (2u << 20)

struct reading {
    struct fabric *fabric;
    const char *netdev;
    char *path; /* the file that was read last */
};

static const char *file(struct reading *r, const char *name)
{
    int length = snprintf(r->path, FABRIC_PATH_MAX, "/sys/class/net/%s/%s", r->netdev, name);
    assert(length > 0 && length < FABRIC_PATH_MAX);
    return r->path;
}

/* A file that older kernels do not have; absent is 0. */
static enum fabric_error optional(struct reading *r, const char *name, uint64_t most, uint64_t *out)
{
    *out = 0;
    enum fabric_error error = sysfile_number(r->fabric, file(r, name), most, out);
    return error == ERR_NOT_FOUND ? FABRIC_OK : error;
}

static enum fabric_error read_address(struct reading *r, struct ipoib_interface *i)
{
    char line[SYSFILE_LINE];
    size_t count = PLANTED(rail_ipoib_address_truncated) ? 6 : IPOIB_ADDRESS_BYTES;
    enum fabric_error error = sysfile_line(r->fabric, file(r, "address"), line);
    if (error)
        return error;
    if (PLANTED(rail_ipoib_address_truncated))
        line[3 * count - 1] = '\0';
    if (!sysfile_parse_bytes(line, i->address, count))
        return ERR_SYSFILE_INVALID;
    i->enhanced = (i->address[0] & CONNECTED_FLAG) == 0 && !PLANTED(rail_ipoib_enhanced_unseen);
    return FABRIC_OK;
}

/* Without connected mode the file may be missing or answer EINVAL; it is datagram then. */
static enum fabric_error read_mode(struct reading *r, struct ipoib_interface *i)
{
    char line[SYSFILE_LINE];
    enum fabric_error error = sysfile_line(r->fabric, file(r, "mode"), line);
    if (i->enhanced && (error == ERR_NOT_FOUND || error == ERR_INVALID_ARGUMENT))
        return FABRIC_OK;
    if (error)
        return error;
    i->connected = strcmp(line, "connected") == 0;
    return i->connected || strcmp(line, "datagram") == 0 ? FABRIC_OK : ERR_SYSFILE_INVALID;
}

/* dev_port tells the port; kernels before 3.15 tell it in dev_id. */
static enum fabric_error read_port(struct reading *r, struct ipoib_interface *i)
{
    uint64_t dev_port, dev_id;
    enum fabric_error error = optional(r, "dev_port", UINT8_MAX - 1, &dev_port);
    if (!error && dev_port == 0) {
        error = optional(r, "dev_id", UINT16_MAX, &dev_id);
        dev_port = error || dev_id >= UINT8_MAX ? 0 : dev_id;
    }
    i->port_num = (uint8_t)(PLANTED(rail_ipoib_port_ignored) ? 1 : dev_port + 1);
    return error;
}

static enum fabric_error read_rest(struct reading *r, struct ipoib_interface *i)
{
    uint64_t mtu, pkey;
    char line[SYSFILE_LINE];
    enum fabric_error error = sysfile_number(r->fabric, file(r, "mtu"), UINT32_MAX, &mtu);
    if (error)
        return error;
    i->mtu = (uint32_t)mtu;
    error = optional(r, "pkey", UINT16_MAX, &pkey);
    if (error)
        return error;
    i->pkey = (uint16_t)pkey;
    i->up =
        sysfile_line(r->fabric, file(r, "operstate"), line) == FABRIC_OK && strcmp(line, "up") == 0;
    return FABRIC_OK;
}

enum fabric_error ipoib_read(struct fabric *f, const char *netdev, struct ipoib_interface *out,
                             char *path)
{
    assert(f && netdev && out && path);
    struct reading r = {f, netdev, path};
    struct ipoib_interface i = {.name = ""};
    uint64_t type;
    if (!sysfile_name_ok(netdev)) {
        snprintf(path, FABRIC_PATH_MAX, "/sys/class/net");
        return ERR_NOT_FOUND;
    }
    memcpy(i.name, netdev, strlen(netdev) + 1);
    enum fabric_error error = sysfile_number(f, file(&r, "type"), UINT16_MAX, &type);
    if (!error && type != IPOIB_TYPE && !PLANTED(rail_ipoib_any_type))
        error = ERR_NOT_SUPPORTED;
    if (!error)
        error = read_address(&r, &i);
    if (!error)
        error = read_mode(&r, &i);
    if (!error)
        error = read_port(&r, &i);
    if (!error)
        error = read_rest(&r, &i);
    if (!error)
        *out = i;
    return error;
}

enum ipoib_module ipoib_module(struct fabric *f, bool has_interface)
{
    char line[SYSFILE_LINE];
    assert(f);
    if (sysfile_line(f, "/sys/module/ib_ipoib/initstate", line) == FABRIC_OK)
        return IPOIB_MODULE_LOADED;
    bool there = has_interface || sysfile_folder(f, "/sys/module/ib_ipoib");
    return there && !PLANTED(rail_ipoib_built_in_missing) ? IPOIB_MODULE_BUILT_IN
                                                          : IPOIB_MODULE_MISSING;
}

const char *ipoib_module_name(enum ipoib_module module)
{
    static const char *const names[] = {"missing", "loaded", "built in"};
    assert(module <= IPOIB_MODULE_BUILT_IN);
    return names[module];
}

const char *ipoib_mode_name(bool connected)
{
    return connected ? "connected" : "datagram";
}

uint32_t ipoib_packets(uint32_t mtu)
{
    if (mtu <= TCP_HEADERS)
        return 0;
    return (BLOCK + mtu - TCP_HEADERS - 1) / (mtu - TCP_HEADERS);
}

bool ipoib_advice(const struct ipoib_interface *i, char *out)
{
    assert(i && out);
    uint32_t wanted = i->enhanced ? IPOIB_DATAGRAM_MTU_4K : IPOIB_CONNECTED_MTU;
    int length;
    if (i->mtu > IPOIB_DATAGRAM_MTU && !PLANTED(rail_ipoib_advice_always))
        return false;
    if (i->enhanced)
        length = snprintf(out, IPOIB_ADVICE,
                          "IPoIB interface %s has MTU %u and no connected mode (enhanced IPoIB): a "
                          "block of 2 MiB takes %u packets, with MTU %u %u; that needs a broadcast "
                          "group with MTU 4096 in the subnet manager",
                          i->name, i->mtu, ipoib_packets(i->mtu), wanted, ipoib_packets(wanted));
    else
        length = snprintf(out, IPOIB_ADVICE,
                          "IPoIB interface %s is in %s mode with MTU %u: a block of 2 MiB takes %u "
                          "packets, in connected mode with MTU %u %u, so fewer interrupts and more "
                          "bytes per second; memkv net ipoib --interface %s --connected --mtu %u",
                          i->name, ipoib_mode_name(i->connected), i->mtu, ipoib_packets(i->mtu),
                          wanted, ipoib_packets(wanted), i->name, wanted);
    assert(length > 0 && length < IPOIB_ADVICE);
    return true;
}
