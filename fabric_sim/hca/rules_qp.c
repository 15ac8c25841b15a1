/* SPDX-License-Identifier: Apache-2.0 */
#include "fabric_sim/hca/rules.h"

#include <assert.h>
#include <string.h>

#include "src/fabric/pkey.h"
#include "src/fabric/planted.h"

enum column {
    COLUMN_RC,
    COLUMN_UC,
    COLUMN_UD,
    COLUMN_DCI,
    COLUMN_DCT,
    COLUMN_XRC_INI,
    COLUMN_XRC_TGT,
    COLUMN_COUNT
};

struct transition {
    uint8_t from, to;
    struct {
        bool valid;
        uint32_t required, optional;
    } by_type[COLUMN_COUNT];
};

#define RC_INIT (HCA_QP_PKEY_INDEX | HCA_QP_PORT | HCA_QP_ACCESS_FLAGS)
#define UD_INIT (HCA_QP_PKEY_INDEX | HCA_QP_PORT | HCA_QP_QKEY)
#define DCI_INIT (HCA_QP_PKEY_INDEX | HCA_QP_PORT)
#define RC_RTR                                                                                     \
    (HCA_QP_AV | HCA_QP_PATH_MTU | HCA_QP_DEST_QPN | HCA_QP_RQ_PSN | HCA_QP_MAX_DEST_RD_ATOMIC |   \
     HCA_QP_MIN_RNR_TIMER)
#define RC_RTS                                                                                     \
    (HCA_QP_TIMEOUT | HCA_QP_RETRY_CNT | HCA_QP_RNR_RETRY | HCA_QP_SQ_PSN | HCA_QP_MAX_QP_RD_ATOMIC)
#define RC_LIVE (HCA_QP_CUR_STATE | HCA_QP_ACCESS_FLAGS | HCA_QP_MIN_RNR_TIMER)
#define RC_SQD                                                                                     \
    (HCA_QP_AV | HCA_QP_TIMEOUT | HCA_QP_RETRY_CNT | HCA_QP_RNR_RETRY | HCA_QP_MAX_QP_RD_ATOMIC |  \
     HCA_QP_MAX_DEST_RD_ATOMIC | HCA_QP_ACCESS_FLAGS | HCA_QP_PKEY_INDEX | HCA_QP_MIN_RNR_TIMER)
#define UC_RTR (HCA_QP_AV | HCA_QP_PATH_MTU | HCA_QP_DEST_QPN | HCA_QP_RQ_PSN)
#define UC_LIVE (HCA_QP_CUR_STATE | HCA_QP_ACCESS_FLAGS)
#define XRC_INI_SQD                                                                                \
    (HCA_QP_AV | HCA_QP_TIMEOUT | HCA_QP_RETRY_CNT | HCA_QP_RNR_RETRY | HCA_QP_MAX_QP_RD_ATOMIC |  \
     HCA_QP_ACCESS_FLAGS | HCA_QP_PKEY_INDEX)
#define XRC_TGT_SQD                                                                                \
    (HCA_QP_AV | HCA_QP_TIMEOUT | HCA_QP_MAX_DEST_RD_ATOMIC | HCA_QP_ACCESS_FLAGS |                \
     HCA_QP_PKEY_INDEX | HCA_QP_MIN_RNR_TIMER)
#define UD_LIVE (HCA_QP_CUR_STATE | HCA_QP_QKEY)

/* RC, UC and UD from the tables of chapter 10.3.1, XRC from those of annex A14; DC as its one
 * vendor checks it. */
static const struct transition transitions[] = {
    {FABRIC_QPS_RESET,
     FABRIC_QPS_INIT,
     {{true, RC_INIT, 0},
      {true, RC_INIT, 0},
      {true, UD_INIT, 0},
      {true, DCI_INIT, 0},
      {true, RC_INIT, 0},
      {true, RC_INIT, 0},
      {true, RC_INIT, 0}}},
    {FABRIC_QPS_INIT,
     FABRIC_QPS_INIT,
     {{true, 0, RC_INIT},
      {true, 0, RC_INIT},
      {true, 0, UD_INIT},
      {true, 0, DCI_INIT},
      {false, 0, 0},
      {true, 0, RC_INIT},
      {true, 0, RC_INIT}}},
    {FABRIC_QPS_INIT,
     FABRIC_QPS_RTR,
     {{true, RC_RTR, HCA_QP_ACCESS_FLAGS | HCA_QP_PKEY_INDEX},
      {true, UC_RTR, HCA_QP_ACCESS_FLAGS | HCA_QP_PKEY_INDEX},
      {true, 0, HCA_QP_PKEY_INDEX | HCA_QP_QKEY},
      {true, HCA_QP_PATH_MTU, HCA_QP_PKEY_INDEX | HCA_QP_AV},
      {true, HCA_QP_AV | HCA_QP_PATH_MTU | HCA_QP_MIN_RNR_TIMER, 0},
      {true, UC_RTR, HCA_QP_ACCESS_FLAGS | HCA_QP_PKEY_INDEX},
      {true, RC_RTR, HCA_QP_ACCESS_FLAGS | HCA_QP_PKEY_INDEX}}},
    {FABRIC_QPS_RTR,
     FABRIC_QPS_RTS,
     {{true, RC_RTS, RC_LIVE},
      {true, HCA_QP_SQ_PSN, UC_LIVE},
      {true, HCA_QP_SQ_PSN, UD_LIVE},
      {true, RC_RTS, HCA_QP_CUR_STATE | HCA_QP_MIN_RNR_TIMER},
      {false, 0, 0},
      {true, RC_RTS, UC_LIVE},
      {true, HCA_QP_TIMEOUT | HCA_QP_SQ_PSN, RC_LIVE}}},
    {FABRIC_QPS_RTS,
     FABRIC_QPS_RTS,
     {{true, 0, RC_LIVE},
      {true, 0, UC_LIVE},
      {true, 0, UD_LIVE},
      {true, 0, HCA_QP_MIN_RNR_TIMER},
      {false, 0, 0},
      {true, 0, UC_LIVE},
      {true, 0, RC_LIVE}}},
    {FABRIC_QPS_RTS,
     FABRIC_QPS_SQD,
     {{true, 0, HCA_QP_EN_SQD_ASYNC_NOTIFY},
      {true, 0, HCA_QP_EN_SQD_ASYNC_NOTIFY},
      {true, 0, HCA_QP_EN_SQD_ASYNC_NOTIFY},
      {false, 0, 0},
      {false, 0, 0},
      {true, 0, HCA_QP_EN_SQD_ASYNC_NOTIFY},
      {true, 0, HCA_QP_EN_SQD_ASYNC_NOTIFY}}},
    {FABRIC_QPS_SQD,
     FABRIC_QPS_RTS,
     {{true, 0, RC_LIVE},
      {true, 0, UC_LIVE},
      {true, 0, UD_LIVE},
      {false, 0, 0},
      {false, 0, 0},
      {true, 0, UC_LIVE},
      {true, 0, RC_LIVE}}},
    {FABRIC_QPS_SQD,
     FABRIC_QPS_SQD,
     {{true, 0, RC_SQD},
      {true, 0, HCA_QP_AV | HCA_QP_ACCESS_FLAGS | HCA_QP_PKEY_INDEX},
      {true, 0, HCA_QP_PKEY_INDEX | HCA_QP_QKEY},
      {false, 0, 0},
      {false, 0, 0},
      {true, 0, XRC_INI_SQD},
      {true, 0, XRC_TGT_SQD}}},
    {FABRIC_QPS_SQE,
     FABRIC_QPS_RTS,
     {{false, 0, 0},
      {true, 0, UC_LIVE},
      {true, 0, UD_LIVE},
      {false, 0, 0},
      {false, 0, 0},
      {false, 0, 0},
      {false, 0, 0}}},
};

static enum column column_of(enum hca_qp_type type)
{
    switch (type) {
    case HCA_QP_RC:
        return COLUMN_RC;
    case HCA_QP_UC:
        return COLUMN_UC;
    case HCA_QP_UD:
        return COLUMN_UD;
    case HCA_QP_DCI:
        return COLUMN_DCI;
    case HCA_QP_DCT:
        return COLUMN_DCT;
    case HCA_QP_XRC_INI:
        return COLUMN_XRC_INI;
    case HCA_QP_XRC_TGT:
        return COLUMN_XRC_TGT;
    }
    return COLUMN_COUNT;
}

bool rules_qp_transition(enum hca_qp_type type, enum fabric_qp_state from, enum fabric_qp_state to,
                         uint32_t *required, uint32_t *optional)
{
    assert(required && optional);
    *required = *optional = 0;
    enum column column = column_of(type);
    if (column == COLUMN_COUNT)
        return false;
    if (PLANTED(hca_transition_any))
        return true;
    if (type == HCA_QP_DCT && (to == FABRIC_QPS_RESET || to == FABRIC_QPS_ERR))
        return false; /* a target that is no longer wanted is destroyed */
    if (to == FABRIC_QPS_RESET)
        return true;
    if (to == FABRIC_QPS_ERR)
        return from != FABRIC_QPS_RESET;
    for (size_t i = 0; i < sizeof(transitions) / sizeof(transitions[0]); i++) {
        const struct transition *t = &transitions[i];
        if (t->from != from || t->to != to)
            continue;
        *required = t->by_type[column].required;
        *optional = t->by_type[column].optional;
        if (PLANTED(hca_dct_rts) && type == HCA_QP_DCT)
            return true;
        return t->by_type[column].valid;
    }
    return false;
}

uint32_t hca_qp_required_mask(enum hca_qp_type type, enum fabric_qp_state from,
                              enum fabric_qp_state to)
{
    uint32_t required, optional;
    bool valid = rules_qp_transition(type, from, to, &required, &optional);
    assert(valid || required == 0);
    return HCA_QP_STATE | required;
}

static bool gid_is_empty(const union fabric_gid *gid)
{
    static const union fabric_gid none;
    return memcmp(gid, &none, sizeof(none)) == 0;
}

enum fabric_error rules_av(const struct fabric_av *av, const struct port_info *port)
{
    assert(av && port);
    if (av->sl > 15 || av->src_path_bits > 127 || av->port_num != port->port_num)
        return ERR_INVALID_ARGUMENT;
    /* Chapter 10.2.2.2: a port may demand a GRH of every address vector; RoCE always does. */
    bool demands = port->grh_required || port->link_layer == FABRIC_LINK_LAYER_ETHERNET;
    if (demands && !av->is_global && !PLANTED(hca_rtr_without_grh))
        return ERR_GRH_UNAVAILABLE;
    if (PLANTED(hca_dlid_0_refused) && !av->is_global && av->dlid == 0)
        return ERR_INVALID_ARGUMENT;
    if (!av->is_global)
        return FABRIC_OK;
    if (av->grh.sgid_index >= port->gid_count || av->grh.flow_label > 0xfffff)
        return ERR_INVALID_ARGUMENT;
    if (gid_is_empty(&port->gids[av->grh.sgid_index].gid))
        return ERR_INVALID_ARGUMENT;
    return FABRIC_OK;
}

static enum fabric_error check_pkey_index(const struct port_info *port, uint16_t index)
{
    if (index >= port->pkey_count)
        return ERR_PKEY_INDEX_RANGE;
    return fabric_pkey_empty(port->pkeys[index]) ? ERR_PKEY_EMPTY : FABRIC_OK;
}

static enum fabric_error check_path(enum hca_qp_type type, const struct hca_qp_attr *attr,
                                    uint32_t mask, const struct rules_limits *limits,
                                    const struct port_info *port)
{
    if (mask & HCA_QP_AV) {
        /* A DC target has no single peer and a DC initiator names its peer in each request. */
        enum fabric_error error = rules_av(&attr->av, port);
        if (error)
            return error;
    }
    if (!(mask & HCA_QP_PATH_MTU))
        return FABRIC_OK;
    if (attr->path_mtu < FABRIC_MTU_256 || attr->path_mtu > FABRIC_MTU_4096)
        return ERR_INVALID_ARGUMENT;
    assert(type != HCA_QP_UD);
    if (limits->rtr_mtu_checked && attr->path_mtu > port->active_mtu &&
        !PLANTED(hca_rtr_mtu_unchecked))
        return ERR_MTU_ABOVE_ACTIVE;
    if (PLANTED(hca_rtr_mtu_always_checked) && attr->path_mtu > port->active_mtu)
        return ERR_MTU_ABOVE_ACTIVE;
    return FABRIC_OK;
}

static bool values_in_range(const struct hca_qp_attr *attr, uint32_t mask,
                            const struct rules_limits *limits)
{
    const uint32_t all_access = HCA_ACCESS_LOCAL_WRITE | HCA_ACCESS_REMOTE_WRITE |
                                HCA_ACCESS_REMOTE_READ | HCA_ACCESS_REMOTE_ATOMIC |
                                HCA_ACCESS_MW_BIND;
    if ((mask & HCA_QP_ACCESS_FLAGS) && (attr->access & ~all_access))
        return false;
    if ((mask & HCA_QP_DEST_QPN) && attr->dest_qp_num > RULES_PSN_MASK)
        return false;
    if ((mask & HCA_QP_RQ_PSN) && attr->rq_psn > RULES_PSN_MASK)
        return false;
    if ((mask & HCA_QP_SQ_PSN) && attr->sq_psn > RULES_PSN_MASK)
        return false;
    if ((mask & HCA_QP_MAX_DEST_RD_ATOMIC) && attr->max_dest_rd_atomic > limits->max_rd_atomic)
        return false;
    if ((mask & HCA_QP_MAX_QP_RD_ATOMIC) && attr->max_rd_atomic > limits->max_init_rd_atomic)
        return false;
    if ((mask & HCA_QP_MIN_RNR_TIMER) && attr->min_rnr_timer > 31)
        return false;
    if ((mask & HCA_QP_TIMEOUT) && attr->timeout > 31)
        return false;
    if ((mask & HCA_QP_RETRY_CNT) && attr->retry_cnt > 7)
        return false;
    return !(mask & HCA_QP_RNR_RETRY) || attr->rnr_retry <= 7;
}

enum fabric_error rules_qp_modify(enum hca_qp_type type, enum fabric_qp_state from,
                                  const struct hca_qp_attr *attr, uint32_t mask,
                                  const struct rules_limits *limits, const struct port_info *port)
{
    assert(attr && limits);
    enum fabric_qp_state to = (mask & HCA_QP_STATE) ? attr->state : from;
    uint32_t required, optional;
    if (!rules_qp_transition(type, from, to, &required, &optional))
        return ERR_INVALID_ARGUMENT;
    uint32_t given = mask & ~(uint32_t)HCA_QP_STATE;
    bool missing = (required & ~given) != 0;
    if ((missing && !PLANTED(hca_required_attributes)) || (given & ~(required | optional)))
        return ERR_INVALID_ARGUMENT;
    if ((mask & HCA_QP_CUR_STATE) && attr->cur_state != from)
        return ERR_INVALID_ARGUMENT;
    if (to == FABRIC_QPS_RESET || to == FABRIC_QPS_ERR)
        return FABRIC_OK;
    if (!port || !values_in_range(attr, mask, limits))
        return ERR_INVALID_ARGUMENT;
    if (mask & HCA_QP_PKEY_INDEX) {
        enum fabric_error error = check_pkey_index(port, attr->pkey_index);
        if (error)
            return error;
    }
    return check_path(type, attr, mask, limits, port);
}

bool rules_send_opcode(enum hca_qp_type type, enum hca_wr_opcode opcode)
{
    assert(opcode <= HCA_WR_LOCAL_INV);
    if (type == HCA_QP_UD)
        return opcode == HCA_WR_SEND || opcode == HCA_WR_SEND_WITH_IMM;
    if (type == HCA_QP_UC)
        return !rules_is_read_or_atomic(opcode) && opcode != HCA_WR_SEND_WITH_INV;
    if (type == HCA_QP_DCI || type == HCA_QP_XRC_INI)
        return !rules_is_local(opcode) && opcode != HCA_WR_SEND_WITH_INV;
    return type == HCA_QP_RC;
}

bool rules_is_local(enum hca_wr_opcode opcode)
{
    return opcode == HCA_WR_BIND_MW || opcode == HCA_WR_LOCAL_INV;
}

bool rules_may_post_send(enum hca_qp_type type, enum fabric_qp_state state)
{
    if (type == HCA_QP_DCT || type == HCA_QP_XRC_TGT)
        return false;
    return state >= FABRIC_QPS_RTS;
}

bool rules_may_post_recv(enum hca_qp_type type, enum fabric_qp_state state, bool has_srq)
{
    bool receives = type != HCA_QP_DCI && type != HCA_QP_XRC_INI && type != HCA_QP_XRC_TGT;
    return receives && !has_srq && state != FABRIC_QPS_RESET;
}

bool rules_is_read_or_atomic(enum hca_wr_opcode opcode)
{
    return opcode == HCA_WR_RDMA_READ || opcode == HCA_WR_ATOMIC_CMP_AND_SWP ||
           opcode == HCA_WR_ATOMIC_FETCH_AND_ADD;
}

uint32_t rules_responder_depth(enum hca_qp_type type, fabric_caps caps, uint8_t max_dest_rd_atomic,
                               uint8_t device_max)
{
    bool holds = (type == HCA_QP_RC || type == HCA_QP_XRC_TGT) && (caps & FABRIC_CAP_RD_ATOMIC);
    return holds ? max_dest_rd_atomic : device_max;
}

enum fabric_qp_state rules_error_state(enum hca_qp_type type)
{
    return type == HCA_QP_UD || type == HCA_QP_UC ? FABRIC_QPS_SQE : FABRIC_QPS_ERR;
}
