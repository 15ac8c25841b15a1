/* SPDX-License-Identifier: Apache-2.0 */
/* The interface of a port: IPoIB mode and MTU, DCB settings (IEEE 802.1Q, clauses 36 to 38). */
#include <assert.h>
#include <string.h>

#include "src/fabric/ipoib.h"
#include "src/scenario/topology_reader.h"

#define PRIORITIES 8

struct raw_dcb {
    const struct yaml_value *pfc, *dscp, *ets;
    int trust;
};

struct raw_dscp {
    int64_t dscp, priority;
};

static const char *const trusts[] = {"pcp", "dscp", NULL};
static const struct yaml_field dcb_fields[] = {
    {"pfc", YAML_TYPE_SEQUENCE, offsetof(struct raw_dcb, pfc), 0, 0, NULL, NULL, false},
    {"trust", YAML_TYPE_ENUM, offsetof(struct raw_dcb, trust), 0, 0, trusts, NULL, false},
    {"dscp", YAML_TYPE_SEQUENCE, offsetof(struct raw_dcb, dscp), 0, 0, NULL, NULL, false},
    {"ets", YAML_TYPE_SEQUENCE, offsetof(struct raw_dcb, ets), 0, 0, NULL, NULL, false},
    {0},
};
static const struct yaml_field dscp_fields[] = {
    {"dscp", YAML_TYPE_INTEGER, offsetof(struct raw_dscp, dscp), 0, 63, NULL, NULL, true},
    {"priority", YAML_TYPE_INTEGER, offsetof(struct raw_dscp, priority), 0, 7, NULL, NULL, true},
    {0},
};

static bool read_pfc(struct topology_reader *reader, const struct yaml_value *value,
                     struct fabric_dcb *out)
{
    int64_t priority;
    assert(out->pfc_enabled == 0);
    for (size_t i = 0; value && i < yaml_count(value); i++) {
        if (!yaml_read_integer(yaml_item(value, i), "pfc", 0, PRIORITIES - 1, &priority,
                               reader->errors))
            return false;
        out->pfc_enabled |= (uint8_t)(1u << priority);
    }
    return true;
}

static bool read_ets(struct topology_reader *reader, const struct yaml_value *value,
                     struct fabric_dcb *out)
{
    int64_t tc;
    if (value && yaml_count(value) != PRIORITIES) {
        yaml_complain(
            reader->errors, yaml_mark(value),
            "ets: found %zu entries; the traffic class of each of 8 priorities is expected",
            yaml_count(value));
        return false;
    }
    for (size_t i = 0; value && i < PRIORITIES; i++) {
        if (!yaml_read_integer(yaml_item(value, i), "ets", 0, PRIORITIES - 1, &tc, reader->errors))
            return false;
        out->ets_tc[i] = (uint8_t)tc;
    }
    return true;
}

/* What the list does not name has the priority of its upper three bits, as drivers begin. */
static bool read_dscp(struct topology_reader *reader, const struct yaml_value *value,
                      struct fabric_dcb *out)
{
    assert(sizeof(out->dscp_prio) == 64);
    for (size_t i = 0; i < sizeof(out->dscp_prio); i++)
        out->dscp_prio[i] = (uint8_t)(i >> 3);
    for (size_t i = 0; value && i < yaml_count(value); i++) {
        struct raw_dscp raw = {0};
        if (!yaml_read_fields(yaml_item(value, i), dscp_fields, &raw, reader->errors))
            return false;
        out->dscp_prio[raw.dscp] = (uint8_t)raw.priority;
    }
    return true;
}

bool topology_read_dcb(struct topology_reader *reader, const struct yaml_value *value,
                       struct fabric_dcb *out)
{
    struct raw_dcb raw = {0};
    assert(reader && out && !out->present);
    if (!value)
        return true;
    if (!yaml_read_fields(value, dcb_fields, &raw, reader->errors))
        return false;
    out->known = out->present = true;
    out->trusts_dscp = raw.trust == 1;
    return read_pfc(reader, raw.pfc, out) && read_dscp(reader, raw.dscp, out) &&
           read_ets(reader, raw.ets, out);
}

static const struct topology_subnet *subnet_of(const struct topology *t,
                                               const struct topology_port *port)
{
    for (size_t i = 0; port->network && i < t->subnet_count; i++) {
        if (strcmp(t->subnets[i].name, port->network) == 0)
            return &t->subnets[i];
    }
    return NULL;
}

bool topology_check_interface(struct topology_reader *reader, struct yaml_mark mark,
                              const struct topology_port *port)
{
    const struct topology_subnet *subnet = subnet_of(reader->topology, port);
    uint32_t most = IPOIB_CONNECTED_MTU;
    assert(port);
    if (subnet ? port->dcb.present : port->network && port->ipoib != TOPOLOGY_IPOIB_DATAGRAM) {
        yaml_complain(reader->errors, mark, "%s; network '%s' is %s",
                      subnet ? "dcb is of Ethernet ports" : "ipoib is of InfiniBand ports",
                      port->network, subnet ? "InfiniBand" : "Ethernet");
        return false;
    }
    if (subnet && port->ipoib != TOPOLOGY_IPOIB_CONNECTED)
        most = fabric_mtu_bytes(subnet->group_mtu) - IPOIB_HEADER;
    if (subnet && port->netdev_mtu > most) {
        yaml_complain(reader->errors, mark,
                      "netdev_mtu: found %u; an IPoIB interface in this mode has %u at most",
                      (unsigned)port->netdev_mtu, (unsigned)most);
        return false;
    }
    return true;
}
