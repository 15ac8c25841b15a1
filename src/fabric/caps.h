/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a fabric can do and what it promises (HA-1.5).
 */
#ifndef SRC_FABRIC_CAPS_H
#define SRC_FABRIC_CAPS_H

#include <stdint.h>

/* Each capability is named once; scenario files use the same spelling in lower case. What a fabric
 * lacks is a clear bit here and a refused call or an absent behaviour there, never a crash. */
#define FABRIC_CAPABILITIES(X)                                                                     \
    X(LID, lid, "ports are addressed by LIDs")                                                     \
    X(SM, sm, "a subnet manager can be stopped, started and handed over")                          \
    X(PKEY, pkey, "partition tables can hold other keys than the default")                         \
    X(SUBNET, subnet, "several InfiniBand subnets with different prefixes")                        \
    X(GRH_REQUIRED, grh_required, "ports may demand a global routing header")                      \
    X(GID, gid, "GID tables can be changed")                                                       \
    X(VLAN, vlan, "VLAN interfaces and priorities")                                                \
    X(MTU_CHANGE, mtu_change, "a port's active MTU can be changed")                                \
    X(PORT_STATE, port_state, "ports can be taken down and up")                                    \
    X(LOSS, loss, "packets can be lost on purpose")                                                \
    X(DELAY, delay, "packets can be delayed on purpose")                                           \
    X(REORDER, reorder, "packets can be reordered on purpose")                                     \
    X(EVENTS_HOLD, events_hold, "asynchronous events can be held, lost, doubled, reordered")       \
    X(DC, dc, "dynamically connected transport")                                                   \
    X(RC, rc, "reliable connected transport")                                                      \
    X(TCP, tcp, "control byte streams")                                                            \
    X(DEVICE_REMOVE, device_remove, "devices can vanish and return")                               \
    X(PROCESS_KILL, process_kill, "a node's program can be killed and restarted")                  \
    X(POWER_LOSS, power_loss, "a node can lose power; unflushed writes may be lost")               \
    X(DISK_FAULT, disk_fault, "disk errors, full disks, slow disks")                               \
    X(VIRTUAL_TIME, virtual_time, "time passes only in the simulator")                             \
    X(SL, sl, "service levels select virtual lanes")                                               \
    X(SLID_CHECK, slid_check, "receivers compare the source LID with their address vector")        \
    X(SM_CHANGE_EVENT, sm_change_event, "SM_CHANGE is raised")                                     \
    X(GID_CACHE_STALE, gid_cache_stale, "GID 0 may stay stale after a prefix change")              \
    X(RTR_MTU_CHECKED, rtr_mtu_checked, "RTR refuses a path MTU above the active MTU")             \
    X(ACK_TIMEOUT_FLOOR, ack_timeout_floor, "the device raises small ACK time-outs to a floor")    \
    X(RD_ATOMIC, rd_atomic, "RDMA READ responder resources can be limited per queue pair")         \
    X(WRITE_ORDER, write_order, "bytes of one RDMA WRITE land in ascending order")                 \
    X(PEER_DEATH_NOTICED, peer_death_noticed, "an idle queue pair notices that its peer died")     \
    X(EVENTS_RELIABLE, events_reliable, "no asynchronous event is ever lost")                      \
    X(STORAGE_ORDER, storage_order, "writes reach the medium in order between flushes")            \
    X(VERB_FAULT, verb_fault, "calls and completions can be made to fail")                         \
    X(HTTP, http, "an HTTP end point for operators")

enum fabric_cap_bit {
#define FABRIC_CAP_BIT(upper, lower, text) FABRIC_CAP_BIT_##upper,
    FABRIC_CAPABILITIES(FABRIC_CAP_BIT)
#undef FABRIC_CAP_BIT
        FABRIC_CAP_COUNT
};

typedef uint64_t fabric_caps; /* a set of these */

#define FABRIC_CAP_ONE(upper) (UINT64_C(1) << FABRIC_CAP_BIT_##upper)
#define FABRIC_CAP_LID FABRIC_CAP_ONE(LID)
#define FABRIC_CAP_SM FABRIC_CAP_ONE(SM)
#define FABRIC_CAP_PKEY FABRIC_CAP_ONE(PKEY)
#define FABRIC_CAP_SUBNET FABRIC_CAP_ONE(SUBNET)
#define FABRIC_CAP_GRH_REQUIRED FABRIC_CAP_ONE(GRH_REQUIRED)
#define FABRIC_CAP_GID FABRIC_CAP_ONE(GID)
#define FABRIC_CAP_VLAN FABRIC_CAP_ONE(VLAN)
#define FABRIC_CAP_MTU_CHANGE FABRIC_CAP_ONE(MTU_CHANGE)
#define FABRIC_CAP_PORT_STATE FABRIC_CAP_ONE(PORT_STATE)
#define FABRIC_CAP_LOSS FABRIC_CAP_ONE(LOSS)
#define FABRIC_CAP_DELAY FABRIC_CAP_ONE(DELAY)
#define FABRIC_CAP_REORDER FABRIC_CAP_ONE(REORDER)
#define FABRIC_CAP_EVENTS_HOLD FABRIC_CAP_ONE(EVENTS_HOLD)
#define FABRIC_CAP_DC FABRIC_CAP_ONE(DC)
#define FABRIC_CAP_RC FABRIC_CAP_ONE(RC)
#define FABRIC_CAP_TCP FABRIC_CAP_ONE(TCP)
#define FABRIC_CAP_DEVICE_REMOVE FABRIC_CAP_ONE(DEVICE_REMOVE)
#define FABRIC_CAP_PROCESS_KILL FABRIC_CAP_ONE(PROCESS_KILL)
#define FABRIC_CAP_POWER_LOSS FABRIC_CAP_ONE(POWER_LOSS)
#define FABRIC_CAP_DISK_FAULT FABRIC_CAP_ONE(DISK_FAULT)
#define FABRIC_CAP_VIRTUAL_TIME FABRIC_CAP_ONE(VIRTUAL_TIME)
#define FABRIC_CAP_SL FABRIC_CAP_ONE(SL)
#define FABRIC_CAP_SLID_CHECK FABRIC_CAP_ONE(SLID_CHECK)
#define FABRIC_CAP_SM_CHANGE_EVENT FABRIC_CAP_ONE(SM_CHANGE_EVENT)
#define FABRIC_CAP_GID_CACHE_STALE FABRIC_CAP_ONE(GID_CACHE_STALE)
#define FABRIC_CAP_RTR_MTU_CHECKED FABRIC_CAP_ONE(RTR_MTU_CHECKED)
#define FABRIC_CAP_ACK_TIMEOUT_FLOOR FABRIC_CAP_ONE(ACK_TIMEOUT_FLOOR)
#define FABRIC_CAP_RD_ATOMIC FABRIC_CAP_ONE(RD_ATOMIC)
#define FABRIC_CAP_WRITE_ORDER FABRIC_CAP_ONE(WRITE_ORDER)
#define FABRIC_CAP_PEER_DEATH_NOTICED FABRIC_CAP_ONE(PEER_DEATH_NOTICED)
#define FABRIC_CAP_EVENTS_RELIABLE FABRIC_CAP_ONE(EVENTS_RELIABLE)
#define FABRIC_CAP_STORAGE_ORDER FABRIC_CAP_ONE(STORAGE_ORDER)
#define FABRIC_CAP_VERB_FAULT FABRIC_CAP_ONE(VERB_FAULT)
#define FABRIC_CAP_HTTP FABRIC_CAP_ONE(HTTP)
#define FABRIC_CAPS_ALL UINT64_MAX

#endif
