/* SPDX-License-Identifier: Apache-2.0 */
/* What is said about each field of the language; fault words, operations and capabilities have
 * their own tables. */
#include "src/scenario/help.h"

const struct help_field help_fields[] = {
    {"name", "what the scenario is called, 3 to 100 characters"},
    {"proves", "list of requirement IDs that it proves, such as [MK-C1, HA-2.2, CASE-S10]"},
    {"about", "a sentence that an operator understands"},
    {"tags", "list of words for run --tag"},
    {"requires", "list of capabilities; a fabric that lacks one skips the scenario. The fault\n"
                 "words that it uses add theirs"},
    {"matrix",
     "NAME: [LABEL, ...], or NAME: {LABEL: {KEY: VALUE}}; every combination is one case,\n"
     "in which ${NAME} is the label and ${NAME.KEY} a value of it"},
    {"except",
     "list of combinations of the matrix that are no case: [{role: client, side: [a, b]}]"},
    {"only", "of a step, an expectation or a program: the cells of the matrix in which it exists,\n"
             "{NAME: LABEL, NAME: [LABEL, LABEL]}"},
    {"topology", "subnets, ethernets, switches, links, nodes; what is left out is implied:\n"
                 "{nodes: [a, b]} is two nodes with a device mlx5_0 on one subnet \"ib\""},
    {"programs", "NODE: {program: server|client, config: {...}}; started at the beginning in this\n"
                 "order, except those that a step starts"},
    {"steps", "list; each waits for its trigger (at, after, when; none: the step before), does\n"
              "one thing (start, stop, ask, nothing, an operation, a fault word), and may\n"
              "expect an answer"},
    {"at", "a trigger: not before this time of the world (at: 2 s)"},
    {"after", "a trigger: so long after the step before was done (after: 100 ms)"},
    {"when", "a trigger: as soon as {node: N, log|report|exit: ...} happens or has happened since\n"
             "the last action; within: 5 s says how long that may take (10 s)"},
    {"within", "beside when: how long to wait; inside expect: the answer comes within that time"},
    {"no_sooner", "inside expect: the answer does not come sooner than that"},
    {"background", "true: the next step does not wait for the answer of this one"},
    {"expect", "of a step: {outcome: CLASS, error: NAME, within: 10 ms, no_sooner: 1 s, and any\n"
               "field of the answer: value}. At the end of the file: a list of conditions that\n"
               "must have been met"},
    {"outcome", "rdma, tcp_by_choice, fell_back, refused:NAME, failed:NAME, unreachable,\n"
                "corrupted, hung"},
    {"error", "an error name such as no_lid, or ok"},
    {"log", "a text, or a list of texts that stand in one log line; level: warn narrows it"},
    {"report", "fields of a report and their values: {event: rail, state: ready}; paths such as\n"
               "rails.0.state, and comparisons such as '>= 2', are allowed"},
    {"exit", "the program ended, or could not start, with this error"},
    {"order", "list of conditions that were met one after the other"},
    {"never", "true: the condition must not be met, within after and by"},
    {"count", "the condition is met exactly so many times"},
    {"by", "the condition is met no later than this time of the world"},
    {"start", "starts the program of a node: start: NODE, or {node: NODE, config: {...}}"},
    {"stop", "ends the program of a node in order: stop: NODE"},
    {"ask", "a fact about a node that needs no program: {node: N, query: \"mlx5_0/1 lid\"};\n"
            "expect: {answer: ...}"},
    {"nothing", "nothing may be logged or reported for so long: nothing: 2 s, or\n"
                "{for: 2 s, node: N}"},
    {"query",
     "of ask: DEVICE/PORT and one of lid, sm_lid, lmc, state, link_layer, mtu, prefix, bad_pkey,\n"
     "pkey INDEX, gid INDEX; or address"},
    {"level", "of a log line: debug, info, warn, error"},
    {"subnets",
     "of topology: InfiniBand subnets, NAME: {prefix, lmc, first_lid, partitions, sms, sl_to_vl}"},
    {"prefix", "of a subnet: its subnet prefix (0xfe80000000000000)"},
    {"lmc", "of a subnet: every port gets 2^lmc LIDs (0)"},
    {"first_lid", "of a subnet: the LID that the subnet manager gives first (1)"},
    {"partitions",
     "of a subnet: [{pkey: 0x0123, index: 1, full: [a], limited: [b, c/mlx5_0/2]}]; ALL is\n"
     "every port"},
    {"full", "of a partition: its full members, NODE, NODE/DEVICE or NODE/DEVICE/PORT"},
    {"limited", "of a partition: its limited members, NODE, NODE/DEVICE or NODE/DEVICE/PORT"},
    {"sms", "of a subnet: its subnet managers, NAME: {priority, start, response_delay}"},
    {"priority", "of a subnet manager: the highest one is master (0 to 15)"},
    {"start", "of a subnet manager: when it starts, a time of the world, or never (0 s)"},
    {"response_delay", "of a subnet manager: so much later its management datagrams are answered"},
    {"sl_to_vl", "of a subnet: 16 virtual lanes, one a service level"},
    {"ethernets", "of topology: networks for RoCE, a list of names"},
    {"switches", "of topology: NAME: {network, ports, mtu}"},
    {"links",
     "of topology: cables between switches, [{between: [s1, s2], ports: [1, 2], mtu: 2048}]"},
    {"between", "of a link: its two switches"},
    {"nodes", "of topology: NAME, or NAME: {address, disk, devices, and what a port has}"},
    {"address", "of a node: on the network of control streams"},
    {"disk", "of a node: the size of its storage"},
    {"devices", "of a node: NAME, or NAME: {profile, ports, sys_image_guid, and what a port has}"},
    {"profile", "of a device: how its kind behaves: mlx5, strict, lax, one-read, no-reads"},
    {"sys_image_guid", "of a device: equal for the functions of one adapter"},
    {"ports",
     "of a device: [{network, switch, mtu, link_mtu, gids, rate_mbps, latency, grh_required,\n"
     "netdev, netdev_mtu}]; of a switch, how many it has; of a link, one at either end"},
    {"network", "of a port: the subnet or Ethernet that it is plugged into; none: nothing"},
    {"switch", "of a port: where its cable ends"},
    {"link_mtu", "of a port: what its cable lets through without telling anybody"},
    {"gids", "of a port: [{index: 3, gid: \"::ffff:10.1.0.1\", type: ib|roce_v1|roce_v2}]"},
    {"rate_mbps", "of a port or a link: Mb/s"},
    {"latency", "of a port or a link: of its cable"},
    {"netdev", "of a port: the name of its network interface"},
    {"netdev_mtu", "of a port: the MTU of its network interface"},
    {"program", "what runs on a node: server or client"},
    {"config", "of a program, or of start: its configuration file, handed on as it stands"},
    {"node", "the node that something is done to, or that a condition looks at"},
    {"device", "of a fault word: the node's device; without it, the first"},
    {"port", "of a fault word: the port's number; without it, the first"},
    {"mtu", "of a port, a switch, a link or a fault word: 256, 512, 1024, 2048 or 4096 bytes"},
    {"key", "of an operation: the block's key, 1 to 255 bytes"},
    {"size", "of an operation: bytes, such as 64 KiB"},
    {"seed", "of put and get: what the contents are made of; get then compares them"},
    {"file", "of an operation: a file of this machine, relative to the scenario"},
    {"path", "of an operation: a file that is on the node already"},
    {"block_size", "of an operation on a file: bytes a block (64 KiB)"},
    {"timeout", "of an operation: its deadline instead of the client's"},
    {"sm", "of a fault word: the subnet manager"},
    {"lid", "of lid_set: the new LID, 1 to 0xbfff, a multiple of 2^LMC"},
    {"pkey", "of a partition: 15 bits; of a fault word: the value of an entry, or the partition"},
    {"index", "of a P_Key or GID table: the entry, from 0"},
    {"on", "of a fault word: false takes it back (true)"},
    {"peer", "of a fault word: the other node; without it, every node"},
    {"duration", "of a fault word: how much later"},
    {"jitter", "of delay: up to so much more, drawn for each packet"},
    {"ppm", "of a fault word: parts per million of the packets"},
    {"count", "of a fault word: so many events (1)"},
    {"event",
     "of a fault word: PORT_ACTIVE, PORT_ERR, LID_CHANGE, PKEY_CHANGE, GID_CHANGE, SM_CHANGE,\n"
     "CLIENT_REREGISTER, DEVICE_FATAL, or all"},
    {"events", "of event_order: the types in the order in which they come, with commas"},
    {"operation", "of verb_fails: the call of the contract, such as qp_create or mr_register"},
    {"nth", "of a fault word: from the n-th call or completion on (1)"},
    {"repeat", "of a fault word: so many in a row; 0: all that follow (1)"},
    {"gid", "of a GID table: an IPv6 address, also with an IPv4 one at its end"},
    {"type", "of a GID: ib, roce_v1, roce_v2"},
    {"to", "of gid_move: the new index"},
    {"sl", "of sl_map: the service level"},
    {"vl", "of sl_map: its virtual lane"},
    {"bytes_per_second", "of tcp_slow: what a control stream carries"},
    {"for", "of nothing: how long"},
};
const size_t help_field_count = sizeof help_fields / sizeof help_fields[0];
