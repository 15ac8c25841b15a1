/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the contract's values, and the small tables between its codes. */
#include <assert.h>
#include <string.h>

#include "src/fabric/planted.h"
#include "src/fabric/seam.h"

static const char *const op_names[FABRIC_OP_COUNT] = {
#define X(upper, lower, parameters, arguments, fault) [FABRIC_OP_##upper] = #lower,
#include "src/fabric/ops.def"
#undef X
};

const char *fabric_op_name(enum fabric_op op)
{
    assert(op < FABRIC_OP_COUNT);
    return op_names[op];
}

bool fabric_op_by_name(const char *name, enum fabric_op *out)
{
    assert(name && out);
    for (unsigned int i = 0; i < FABRIC_OP_COUNT; i++) {
        if (strcmp(op_names[i], name) != 0)
            continue;
        *out = (enum fabric_op)i;
        return true;
    }
    return false;
}

enum fabric_error fabric_op_fault(enum fabric_op op)
{
    static const enum fabric_error faults[FABRIC_OP_COUNT] = {
#define X(upper, lower, parameters, arguments, fault) [FABRIC_OP_##upper] = fault,
#include "src/fabric/ops.def"
#undef X
    };
    assert(op < FABRIC_OP_COUNT);
    return faults[op];
}

uint32_t fabric_mtu_bytes(enum fabric_mtu mtu)
{
    int code = (int)mtu;
    if (code < FABRIC_MTU_256 || code > FABRIC_MTU_4096)
        return 0;
    return 128u << code;
}

enum fabric_mtu fabric_mtu_code(uint32_t bytes)
{
    for (int code = FABRIC_MTU_256; code <= FABRIC_MTU_4096; code++) {
        if (bytes == 128u << code)
            return (enum fabric_mtu)code;
    }
    return (enum fabric_mtu)0;
}

enum fabric_error fabric_wc_error(enum fabric_wc_status status)
{
    static const enum fabric_error errors[FABRIC_WC_STATUS_COUNT] = {
        [FABRIC_WC_SUCCESS] = FABRIC_OK,
        [FABRIC_WC_LOC_LEN_ERR] = ERR_LOCAL_LENGTH,
        [FABRIC_WC_LOC_QP_OP_ERR] = ERR_LOCAL_OPERATION,
        [FABRIC_WC_LOC_PROT_ERR] = ERR_LOCAL_PROTECTION,
        [FABRIC_WC_WR_FLUSH_ERR] = ERR_FLUSHED,
        [FABRIC_WC_MW_BIND_ERR] = ERR_LOCAL_OPERATION,
        [FABRIC_WC_BAD_RESP_ERR] = ERR_REMOTE_OPERATION,
        [FABRIC_WC_LOC_ACCESS_ERR] = ERR_LOCAL_PROTECTION,
        [FABRIC_WC_REM_INV_REQ_ERR] = ERR_REMOTE_INVALID,
        [FABRIC_WC_REM_ACCESS_ERR] = ERR_REMOTE_ACCESS,
        [FABRIC_WC_REM_OP_ERR] = ERR_REMOTE_OPERATION,
        [FABRIC_WC_RETRY_EXC_ERR] = ERR_RETRY_EXCEEDED,
        [FABRIC_WC_RNR_RETRY_EXC_ERR] = ERR_RNR_EXCEEDED,
        [FABRIC_WC_REM_ABORT_ERR] = ERR_PEER_GONE,
        [FABRIC_WC_FATAL_ERR] = ERR_DEVICE_REMOVED,
        [FABRIC_WC_RESP_TIMEOUT_ERR] = ERR_RETRY_EXCEEDED,
        [FABRIC_WC_GENERAL_ERR] = ERR_LOCAL_OPERATION,
    };
    assert((unsigned int)status < FABRIC_WC_STATUS_COUNT);
    if (PLANTED(fabric_wc_error_confused) && status == FABRIC_WC_RNR_RETRY_EXC_ERR)
        return ERR_RETRY_EXCEEDED;
    return errors[status];
}

const char *fabric_wc_status_name(enum fabric_wc_status status)
{
    static const char *const names[FABRIC_WC_STATUS_COUNT] = {
#define X(name) #name,
        FABRIC_WC_STATUSES(X)
#undef X
    };
    assert((unsigned int)status < FABRIC_WC_STATUS_COUNT);
    return names[status];
}

const char *fabric_async_name(enum fabric_async_type type)
{
    static const char *const names[FABRIC_ASYNC_COUNT] = {
#define X(name) #name,
        FABRIC_ASYNC_TYPES(X)
#undef X
    };
    assert((unsigned int)type < FABRIC_ASYNC_COUNT);
    return names[type];
}

const char *fabric_cap_name(enum fabric_cap_bit bit)
{
    static const char *const names[FABRIC_CAP_COUNT] = {
#define X(upper, lower, text) #lower,
        FABRIC_CAPABILITIES(X)
#undef X
    };
    assert((unsigned int)bit < FABRIC_CAP_COUNT);
    return names[bit];
}

const char *fabric_event_name(enum fabric_event_type type)
{
    static const char *const names[] = {
        "completion", "async",     "window_opened", "window_revoked", "resolved",
        "accepted",   "connected", "readable",      "writable",       "closed",
        "timer",      "io_done",   "woken",         "http_request",
    };
    assert(type <= FABRIC_EVENT_HTTP_REQUEST);
    return names[type];
}

const char *fabric_qp_state_name(enum fabric_qp_state state)
{
    static const char *const names[] = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};
    assert(state <= FABRIC_QPS_ERR);
    return names[state];
}

/* Also for numbers that are no state: a peer may have sent it. */
const char *fabric_port_state_name(enum fabric_port_state state)
{
    static const char *const names[] = {"NOP", "DOWN", "INIT", "ARMED", "ACTIVE"};
    return (unsigned int)state <= FABRIC_PORT_ACTIVE ? names[state] : "unknown";
}
