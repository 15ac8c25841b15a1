/* SPDX-License-Identifier: Apache-2.0 */
/* The model as one JSON object; what is unknown is null. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "src/fabric/pkey.h"
#include "src/net/ipoib.h"
#include "src/net/show.h"

static json_t *hex(uint64_t value, int digits)
{
    return json_sprintf("0x%0*" PRIx64, digits, value);
}

static json_t *text(const char *value)
{
    return value[0] ? json_string(value) : json_null();
}

static json_t *known(bool is, uint64_t value)
{
    return is ? json_integer((json_int_t)value) : json_null();
}

static json_t *pkey_table(const struct net_port *port)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < port->pkey_count; i++) {
        json_t *entry = json_object();
        net_set(entry, "index", json_integer(port->pkeys[i].index));
        net_set(entry, "pkey", hex(port->pkeys[i].pkey, 4));
        net_set(entry, "membership", json_string(fabric_pkey_membership(port->pkeys[i].pkey)));
        json_array_append_new(list, entry);
    }
    return list;
}

static json_t *gid_table(const struct net_port *port)
{
    char digits[FABRIC_GID_TEXT];
    json_t *list = json_array();
    assert(port->gid_count <= NET_MAX_GIDS && port->gids);
    for (uint32_t i = 0; i < port->gid_count; i++) {
        const struct net_gid *gid = &port->gids[i];
        json_t *entry = json_object();
        fabric_gid_format(&gid->entry.gid, digits);
        net_set(entry, "index", json_integer(gid->entry.index));
        net_set(entry, "gid", json_string(digits));
        net_set(entry, "type", json_string(fabric_gid_type_name(gid->entry.type)));
        net_set(entry, "netdev", text(gid->entry.netdev));
        net_set(entry, "verdict", json_string(net_gid_verdict_text(gid->verdict)));
        net_set(entry, "reason", json_string(gid->reason));
        json_array_append_new(list, entry);
    }
    return list;
}

static json_t *ipoib_list(const struct net_port *port)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < port->ipoib_count; i++)
        json_array_append_new(list, net_ipoib_object(&port->ipoib[i]));
    return list;
}

static json_t *dcb_object(const struct fabric_dcb *dcb)
{
    json_t *pfc = json_array(), *object = json_object();
    for (unsigned int i = 0; i < 8; i++) {
        if (dcb->pfc_enabled >> i & 1)
            json_array_append_new(pfc, json_integer(i));
    }
    net_set(object, "trust", json_string(dcb->trusts_dscp ? "dscp" : "vlan priority"));
    net_set(object, "pfc", pfc);
    return object;
}

static json_t *note_list(const struct net_port *port)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < port->note_count; i++) {
        json_t *entry = json_object();
        net_set(entry, "kind", json_string(port->notes[i].kind));
        net_set(entry, "text", json_string(port->notes[i].text));
        json_array_append_new(list, entry);
    }
    return list;
}

/* What MemKV would use. */
static void choices(const struct net_port *port, json_t *object)
{
    bool ib = port->link_layer == FABRIC_LINK_LAYER_INFINIBAND;
    net_set(object, "pkey_index", json_integer(ib ? port->pkey_index : 0));
    net_set(object, "pkey", ib && !port->pkey_error ? hex(port->pkey, 4) : json_null());
    net_set(object, "membership",
            ib && !port->pkey_error ? json_string(fabric_pkey_membership(port->pkey))
                                    : json_null());
    net_set(object, "service_level", json_integer(port->service_level));
    net_set(object, "traffic_class", ib ? json_null() : json_integer(port->traffic_class));
    net_set(object, "path_mtu", known(port->mtu != 0, port->mtu));
    net_set(object, "gid_index",
            known(port->chosen_gid >= 0,
                  port->chosen_gid >= 0 ? port->gids[port->chosen_gid].entry.index : 0));
    net_set(object, "ready", json_boolean(port->error == FABRIC_OK));
    net_set(object, "error",
            port->error ? net_error_object(port->error, port->detail, NULL) : json_null());
}

/* The fields of ibstat. */
static void attributes(const struct net_port *port, json_t *object)
{
    net_set(object, "state", json_string(net_state_text(port->state)));
    net_set(object, "physical_state", text(port->phys_text));
    net_set(object, "rate", text(port->rate));
    net_set(object, "rate_detail", text(port->rate_detail));
    net_set(object, "base_lid", json_integer(port->lid));
    net_set(object, "lmc", json_integer(port->lmc));
    net_set(object, "sm_lid", json_integer(port->sm_lid));
    net_set(object, "sm_sl", json_integer(port->sm_sl));
    net_set(object, "capability_mask", hex(port->capability_mask, 8));
    net_set(object, "port_guid", hex(port->port_guid, 16));
    net_set(object, "active_mtu", known(port->active_mtu != 0, fabric_mtu_bytes(port->active_mtu)));
    net_set(object, "grh_required", port->asked ? json_boolean(port->grh_required) : json_null());
}

static json_t *port_object(const struct net_port *port)
{
    json_t *object = json_object();
    net_set(object, "port", json_integer(port->port_num));
    net_set(object, "link_layer", json_string(net_link_layer_text(port->link_layer)));
    choices(port, object);
    attributes(port, object);
    net_set(object, "pkey_violations", known(port->violations_known, port->violations));
    net_set(object, "pkey_violations_growth", known(port->growth_known, port->growth));
    net_set(object, "port_rcv_constraint_errors",
            known(port->constraint_errors_known, port->constraint_errors));
    net_set(object, "pkey_table_length", json_integer(port->pkey_tbl_len));
    net_set(object, "pkeys", pkey_table(port));
    net_set(object, "gid_table_length", json_integer(port->gid_tbl_len));
    net_set(object, "gids", gid_table(port));
    net_set(object, "netdev", text(port->netdev));
    net_set(object, "dcb",
            port->dcb.known && port->dcb.present ? dcb_object(&port->dcb) : json_null());
    net_set(object, "ipoib", ipoib_list(port));
    net_set(object, "notes", note_list(port));
    return object;
}

static json_t *device_object(const struct net_device *device)
{
    assert(device->shown <= device->port_count);
    json_t *object = json_object(), *transports = json_array(), *ports = json_array();
    if (device->dc)
        json_array_append_new(transports, json_string("dc"));
    if (device->rc)
        json_array_append_new(transports, json_string("rc"));
    for (uint8_t i = 0; i < device->shown; i++)
        json_array_append_new(ports, port_object(&device->ports[i]));
    net_set(object, "device", json_string(device->name));
    net_set(object, "driver", text(device->driver));
    net_set(object, "pci_function", text(device->function));
    net_set(object, "transports", transports);
    net_set(object, "ca_type", text(device->hca_type[0] ? device->hca_type : device->board_id));
    net_set(object, "number_of_ports", json_integer(device->port_count));
    net_set(object, "firmware_version", text(device->fw_ver));
    net_set(object, "hardware_version", text(device->hw_rev));
    net_set(object, "node_guid", hex(device->node_guid, 16));
    net_set(object, "system_image_guid", hex(device->sys_image_guid, 16));
    net_set(object, "ports", ports);
    return object;
}

static json_t *fault_list(const struct net_model *model)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < model->fault_count && i < NET_MAX_FAULTS; i++) {
        json_t *entry = json_object();
        net_set(entry, "path", json_string(model->faults[i].path));
        net_set(entry, "error", json_string(error_name(model->faults[i].error)));
        json_array_append_new(list, entry);
    }
    return list;
}

static json_t *place_list(const struct net_model *model)
{
    assert(model->place_count <= NET_MAX_PLACES);
    json_t *list = json_array();
    for (uint32_t i = 0; i < model->place_count; i++) {
        json_t *entry = json_object();
        net_set(entry, "what", json_string(model->places[i].what));
        net_set(entry, "found", json_string(model->places[i].found));
        json_array_append_new(list, entry);
    }
    return list;
}

json_t *net_show_json(const struct net_model *model)
{
    assert(model);
    json_t *object = json_object(), *devices = json_array();
    for (uint32_t i = 0; i < model->device_count; i++)
        json_array_append_new(devices, device_object(&model->devices[i]));
    net_set(object, "ok", json_boolean(!model->error && model->fault_count == 0));
    net_set(object, "devices", devices);
    net_set(object, "ipoib_module",
            model->device_count ? json_string(ipoib_module_name(model->module)) : json_null());
    net_set(object, "system_file_errors", fault_list(model));
    net_set(object, "system_file_error_count", json_integer(model->fault_count));
    net_set(object, "looked_for", place_list(model));
    net_set(object, "error",
            model->error ? net_error_object(model->error, model->detail, model->fix) : json_null());
    return object;
}
