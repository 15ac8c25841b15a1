/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/two_nodes.h"

#include "fabric_sim/testbed.h"

struct testbed *two_nodes_make(const char *first, const char *second, uint64_t seed, char *detail)
{
    struct topology_port port = {.port_num = 1, .network = "ib", .mtu = FABRIC_MTU_4096};
    struct topology_device device = {
        .name = "mlx5_0", .profile = "mlx5", .ports = &port, .port_count = 1};
    struct topology_node nodes[] = {
        {.name = first, .address = "10.0.0.1", .devices = &device, .device_count = 1},
        {.name = second, .address = "10.0.0.2", .devices = &device, .device_count = 1}};
    struct topology_subnet subnet = {
        .name = "ib", .prefix = UINT64_C(0xfe80) << 48, .first_lid = 1};
    const struct topology topology = {
        .subnets = &subnet, .subnet_count = 1, .nodes = nodes, .node_count = 2};
    const struct testbed_options options = {.seed = seed, .caps = FABRIC_CAPS_ALL};
    return sim_testbed.create(&topology, &options, detail);
}
