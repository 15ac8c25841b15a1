/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Management datagrams of the subnet-management classes, byte for byte as on a wire (vol. 1,
 * chapters 13.4 and 14.2): 256 bytes, network order. Attributes are decoded into plain structures
 * in host order and encoded back; reserved bits are written as zero and not kept.
 */
#ifndef FABRIC_SIM_WORLD_MAD_H
#define FABRIC_SIM_WORLD_MAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAD_SIZE 256
#define MAD_SMP_DATA 64    /* offset and also size of the attribute in a subnet-management MAD */
#define MAD_MAX_HOPS 63    /* of a directed route */
#define MAD_WIRE_BYTES 290 /* LRH 8, BTH 12, DETH 8, the datagram, ICRC 4, VCRC 2 */
#define LID_PERMISSIVE 0xFFFF
#define LID_UNICAST_LAST 0xBFFF
#define LID_MULTICAST_FIRST 0xC000

/* A datagram: one allocation of mad_new, given back by mad_free (or by net_free with its packet).
 */
struct mad {
    uint8_t bytes[MAD_SIZE];
};

struct mad *mad_new(void); /* all zero; aborts when memory is out */
void mad_free(struct mad *mad);

enum mad_class {
    MAD_CLASS_SUBN_LID = 0x01,
    MAD_CLASS_SUBN_DIRECTED = 0x81,
};

enum mad_method { /* table 110 */
                  MAD_GET = 0x01,
                  MAD_SET = 0x02,
                  MAD_TRAP = 0x05,
                  MAD_TRAP_REPRESS = 0x07,
                  MAD_GET_RESP = 0x81,
};

enum mad_status { /* table 111; bit 15 is the direction of a directed route */
                  MAD_STATUS_OK = 0x0000,
                  MAD_STATUS_BUSY = 0x0001,
                  MAD_STATUS_BAD_VERSION = 0x0004,
                  MAD_STATUS_BAD_METHOD = 0x0008,
                  MAD_STATUS_BAD_ATTRIBUTE = 0x000C,
                  MAD_STATUS_BAD_FIELD = 0x001C,
};

enum mad_attribute { /* table 112 and 138 */
                     MAD_NOTICE = 0x0002,
                     MAD_NODE_DESCRIPTION = 0x0010,
                     MAD_NODE_INFO = 0x0011,
                     MAD_SWITCH_INFO = 0x0012,
                     MAD_GUID_INFO = 0x0014,
                     MAD_PORT_INFO = 0x0015,
                     MAD_PKEY_TABLE = 0x0016,
                     MAD_SL_TO_VL = 0x0017,
                     MAD_VL_ARBITRATION = 0x0018,
                     MAD_LINEAR_FORWARDING = 0x0019,
                     MAD_MULTICAST_FORWARDING = 0x001B,
                     MAD_SM_INFO = 0x0020,
};

/* ---- header fields (tables 109, 136, 137) */
uint8_t mad_class(const struct mad *mad);
bool mad_version_known(const struct mad *mad); /* base and class version are ours: 1 and 1 */
uint8_t mad_method(const struct mad *mad);
uint16_t mad_status(const struct mad *mad); /* without the direction bit */
uint64_t mad_tid(const struct mad *mad);
uint16_t mad_attribute(const struct mad *mad);
uint32_t mad_modifier(const struct mad *mad);
uint64_t mad_mkey(const struct mad *mad);
bool mad_is_response(const struct mad *mad); /* the R bit: bit 7 of the method */
void mad_set_method(struct mad *mad, uint8_t method);
void mad_set_status(struct mad *mad, uint16_t status); /* keeps the direction bit */
void mad_set_mkey(struct mad *mad, uint64_t mkey);
uint8_t *mad_data(struct mad *mad); /* MAD_SMP_DATA bytes */
const uint8_t *mad_data_const(const struct mad *mad);

/* Writes a header with both directed-route LIDs permissive; everything else is left. */
void mad_begin(struct mad *mad, uint8_t mad_class, uint8_t method, uint64_t tid, uint16_t attribute,
               uint32_t modifier);

/* ---- directed routes (chapter 14.2.2) */
uint8_t mad_hop_pointer(const struct mad *mad);
uint8_t mad_hop_count(const struct mad *mad);
bool mad_returning(const struct mad *mad); /* the D bit */
/* path[0] is the first port to leave by; at most MAD_MAX_HOPS hops. */
void mad_set_route(struct mad *mad, const uint8_t *path, uint8_t hops);
/* The notice of trap 256 about this request, which came from `slid`. */
struct mad_notice;
void mad_describe_bad_mkey(const struct mad *mad, uint16_t slid, struct mad_notice *notice);

enum mad_hop {
    MAD_HOP_FORWARD, /* leave by *out_port */
    MAD_HOP_AGENT,   /* to this node's agent */
    MAD_HOP_MANAGER, /* to the one who asked */
    MAD_HOP_DISCARD,
};
/* What a node does with a directed-route datagram that its own agent or manager wants sent, hop
 * pointer and direction updated (C14-9, C14-13). */
enum mad_hop mad_hop_originate(struct mad *mad, uint8_t *out_port);
/* The same for one that came in by `in_port` of a node with `ports` ports (0 is a port only of a
 * switch). Only a switch passes datagrams on. */
enum mad_hop mad_hop_receive(struct mad *mad, uint8_t in_port, uint8_t ports, bool is_switch,
                             uint8_t *out_port);
/* Turns a request into its answer in place: method, direction, status. Data is left. */
void mad_make_response(struct mad *mad, uint16_t status);

/* ---- attributes */
enum mad_node_type { MAD_NODE_CA = 1, MAD_NODE_SWITCH = 2, MAD_NODE_ROUTER = 3 };

struct mad_node_info { /* table 141 */
    uint8_t node_type, num_ports, local_port_num;
    uint64_t system_image_guid, node_guid, port_guid;
    uint16_t partition_cap, device_id;
    uint32_t revision, vendor_id;
};

enum mad_port_capability { /* CapabilityMask of table 146 */
                           MAD_CAP_IS_SM = 1 << 1,
                           MAD_CAP_NOTICE = 1 << 2,
                           MAD_CAP_TRAP = 1 << 3,
                           MAD_CAP_SL_MAPPING = 1 << 6,
                           MAD_CAP_EXTENDED_SPEEDS = 1 << 14,
                           MAD_CAP_CLIENT_REREGISTER = 1 << 25,
};

enum mad_phys_state { MAD_PHYS_POLLING = 2, MAD_PHYS_DISABLED = 3, MAD_PHYS_LINK_UP = 5 };

struct mad_port_info { /* table 146; names as in the specification */
    uint64_t m_key, gid_prefix;
    uint16_t lid, master_sm_lid;
    uint32_t capability_mask;
    uint16_t diag_code, m_key_lease_period;
    uint8_t local_port_num;
    uint8_t link_width_enabled, link_width_supported, link_width_active;
    uint8_t link_speed_supported, port_state;
    uint8_t port_phys_state, link_down_default_state;
    uint8_t m_key_protect_bits, lmc;
    uint8_t link_speed_active, link_speed_enabled;
    uint8_t neighbor_mtu, master_sm_sl;
    uint8_t vl_cap, init_type;
    uint8_t vl_high_limit, vl_arb_high_cap, vl_arb_low_cap;
    uint8_t init_type_reply, mtu_cap;
    uint8_t vl_stall_count, hoq_life;
    uint8_t oper_vls;
    bool partition_enforce_in, partition_enforce_out, filter_raw_in, filter_raw_out;
    uint16_t m_key_violations, p_key_violations, q_key_violations;
    uint8_t guid_cap;
    bool client_reregister;
    uint8_t subnet_timeout, resp_time_value;
    uint8_t local_phy_errors, overrun_errors;
    uint16_t max_credit_hint;
    uint32_t link_round_trip_latency; /* 24 bits */
    uint16_t capability_mask2;
    uint8_t link_speed_ext_active, link_speed_ext_supported, link_speed_ext_enabled;
};

struct mad_switch_info { /* table 143 */
    uint16_t linear_fdb_cap, random_fdb_cap, multicast_fdb_cap, linear_fdb_top;
    uint8_t default_port, default_mcast_primary, default_mcast_not_primary;
    uint8_t life_time_value; /* 5 bits */
    bool port_state_change;
    uint8_t optimized_sl_to_vl; /* 2 bits */
    uint16_t lids_per_port, partition_enforcement_cap;
    bool inbound_enforcement, outbound_enforcement, filter_raw_inbound, filter_raw_outbound;
    bool enhanced_port0;
    uint16_t multicast_fdb_top;
};

struct mad_sm_info { /* table 155 */
    uint64_t guid, sm_key;
    uint32_t act_count;
    uint8_t priority; /* 0..15 */
    uint8_t state;    /* enum sm_state */
};

enum mad_sm_control { /* AttributeModifier of Set(SMInfo), table 156 */
                      MAD_SM_HANDOVER = 1,
                      MAD_SM_ACKNOWLEDGE = 2,
                      MAD_SM_DISABLE = 3,
                      MAD_SM_STANDBY = 4,
                      MAD_SM_DISCOVER = 5,
};

enum mad_trap { /* tables 131 and 139 */
                MAD_TRAP_LINK_STATE = 128,
                MAD_TRAP_CAPABILITY = 144,
                MAD_TRAP_BAD_MKEY = 256,
                MAD_TRAP_BAD_PKEY = 257,
                MAD_TRAP_BAD_QKEY = 258,
                MAD_TRAP_SWITCH_BAD_PKEY = 259,
};

enum mad_notice_type { MAD_NOTICE_URGENT = 1, MAD_NOTICE_SECURITY = 2, MAD_NOTICE_INFO = 4 };

#define MAD_NOTICE_HOPS 30 /* of a return path, that a notice has room for */

/* A generic Notice (table 121) with the details that its trap number has; others are zero. */
struct mad_notice {
    uint8_t type;           /* enum mad_notice_type */
    uint32_t producer_type; /* enum mad_node_type */
    uint16_t trap_number;
    uint16_t issuer_lid;
    uint16_t count; /* 15 bits */
    bool toggle;
    uint16_t lid1;     /* 128, 144: the port; 256 to 259: source */
    uint16_t lid2;     /* 257 to 259: destination */
    uint32_t key;      /* 257: P_Key; 258: Q_Key; 259: P_Key (16 bits) */
    uint32_t qp1, qp2; /* 257 to 259: source and destination, 24 bits */
    uint8_t sl;        /* 257 to 259 */
    uint8_t gid1[16], gid2[16];
    uint16_t switch_lid;      /* 259 */
    uint8_t port_num;         /* 259 */
    uint32_t capability_mask; /* 144 */
    uint8_t method;           /* 256: of the datagram, and so on */
    uint16_t attribute;
    uint32_t modifier;
    uint64_t m_key;
    uint16_t dr_slid;
    bool is_directed, path_truncated;
    uint8_t path_hops;                    /* 0 to MAD_NOTICE_HOPS */
    uint8_t return_path[MAD_NOTICE_HOPS]; /* its last hops */
};

#define MAD_PKEYS_PER_BLOCK 32
#define MAD_GUIDS_PER_BLOCK 8
#define MAD_LFT_PER_BLOCK 64
#define MAD_MFT_PER_BLOCK 32
#define MAD_VL_ARB_PER_BLOCK 32
#define MAD_SL_MAP_ALL_PORTS 0x30000u /* modifier: every pair of ports of a switch at once */

struct mad_vl_arb {
    uint8_t vl, weight;
};

/* `data` is the MAD_SMP_DATA bytes of mad_data. */
void mad_node_info_encode(uint8_t *data, const struct mad_node_info *info);
void mad_node_info_decode(const uint8_t *data, struct mad_node_info *info);
void mad_port_info_encode(uint8_t *data, const struct mad_port_info *info);
void mad_port_info_decode(const uint8_t *data, struct mad_port_info *info);
void mad_switch_info_encode(uint8_t *data, const struct mad_switch_info *info);
void mad_switch_info_decode(const uint8_t *data, struct mad_switch_info *info);
void mad_sm_info_encode(uint8_t *data, const struct mad_sm_info *info);
void mad_sm_info_decode(const uint8_t *data, struct mad_sm_info *info);
void mad_notice_encode(uint8_t *data, const struct mad_notice *notice);
void mad_notice_decode(const uint8_t *data, struct mad_notice *notice);
void mad_pkeys_encode(uint8_t *data, const uint16_t *pkeys); /* MAD_PKEYS_PER_BLOCK */
void mad_pkeys_decode(const uint8_t *data, uint16_t *pkeys);
void mad_guids_encode(uint8_t *data, const uint64_t *guids); /* MAD_GUIDS_PER_BLOCK */
void mad_guids_decode(const uint8_t *data, uint64_t *guids);
void mad_sl_to_vl_encode(uint8_t *data, const uint8_t *vls); /* 16 entries of 4 bits */
void mad_sl_to_vl_decode(const uint8_t *data, uint8_t *vls);
void mad_vl_arb_encode(uint8_t *data, const struct mad_vl_arb *entries);
void mad_vl_arb_decode(const uint8_t *data, struct mad_vl_arb *entries);
void mad_mft_encode(uint8_t *data, const uint16_t *masks); /* MAD_MFT_PER_BLOCK port masks */
void mad_mft_decode(const uint8_t *data, uint16_t *masks);

#endif
