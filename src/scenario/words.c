/* SPDX-License-Identifier: Apache-2.0 */
#include "src/scenario/words.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Where a fault applies. */
#define NODE                                                                                       \
    {                                                                                              \
        "node", WORD_NODE, true, 0, 0                                                              \
    }
#define DEVICE                                                                                     \
    NODE,                                                                                          \
    {                                                                                              \
        "device", WORD_DEVICE, false, 0, 0                                                         \
    }
#define PORT                                                                                       \
    DEVICE,                                                                                        \
    {                                                                                              \
        "port", WORD_PORT, false, 1, 255                                                           \
    }
#define SM                                                                                         \
    {                                                                                              \
        "sm", WORD_SM, true, 0, 0                                                                  \
    }
#define NETWORK                                                                                    \
    {                                                                                              \
        "network", WORD_NETWORK, true, 0, 0                                                        \
    }
/* What it needs to know beside that. */
#define ON                                                                                         \
    {                                                                                              \
        "on", WORD_ON, false, 0, 0                                                                 \
    }
#define INDEX                                                                                      \
    {                                                                                              \
        "index", WORD_INDEX, true, 0, 0xffff                                                       \
    }
#define PKEY                                                                                       \
    {                                                                                              \
        "pkey", WORD_VALUE, true, 0, 0xffff                                                        \
    }
#define MTU                                                                                        \
    {                                                                                              \
        "mtu", WORD_VALUE, true, 256, 4096                                                         \
    }
#define PPM                                                                                        \
    {                                                                                              \
        "ppm", WORD_VALUE, true, 0, 1000000                                                        \
    }
#define COUNT                                                                                      \
    {                                                                                              \
        "count", WORD_VALUE, false, 1, 1000000                                                     \
    }
#define EVENT                                                                                      \
    {                                                                                              \
        "event", WORD_TEXT, true, 0, 0                                                             \
    }
#define DURATION                                                                                   \
    {                                                                                              \
        "duration", WORD_DURATION, true, 0, 0                                                      \
    }
#define PEER                                                                                       \
    {                                                                                              \
        "peer", WORD_PEER, false, 0, 0                                                             \
    }

#define WORD(upper, lower, needs, text, ...)                                                       \
    [TESTBED_##upper] = {TESTBED_##upper, #lower, FABRIC_CAP_##needs, {__VA_ARGS__}, text}

const struct fault_word fault_words[TESTBED_WORD_COUNT] = {
    WORD(PORT_DOWN, port_down, PORT_STATE, "the port is taken down at its node", PORT),
    WORD(PORT_UP, port_up, PORT_STATE, "the port is taken up again", PORT),
    WORD(CABLE_PULL, cable_pull, PORT_STATE, "the cable of the port is pulled", PORT),
    WORD(CABLE_PLUG, cable_plug, PORT_STATE, "the cable is plugged in again", PORT),
    WORD(SM_START, sm_start, SM, "a subnet manager starts", SM),
    WORD(SM_STOP, sm_stop, SM, "a subnet manager stops", SM),
    WORD(SM_RESTART, sm_restart, SM, "a subnet manager stops and starts", SM),
    WORD(SM_HANDOVER, sm_handover, SM, "this subnet manager becomes master", SM),
    WORD(SM_SLOW, sm_slow, SM, "a subnet manager answers that much later", SM, DURATION),
    WORD(SM_REFUSE, sm_refuse, SM, "a subnet manager has no resources", SM, ON),
    WORD(LID_SET, lid_set, LID, "the subnet manager gives the port this LID", PORT,
         {"lid", WORD_VALUE, true, 0, 0xffff}),
    WORD(LID_SWAP, lid_swap, LID, "two ports exchange their LIDs", PORT,
         {"peer", WORD_PEER, true, 0, 0}),
    WORD(LMC_SET, lmc_set, LID, "the ports of a subnet get 2^lmc LIDs", NETWORK,
         {"lmc", WORD_VALUE, true, 0, 7}),
    WORD(PKEY_SET, pkey_set, PKEY, "an entry of the P_Key table gets a value", PORT, INDEX, PKEY),
    WORD(PKEY_REMOVE, pkey_remove, PKEY, "a partition leaves the P_Key table", PORT, PKEY),
    WORD(PKEY_MOVE, pkey_move, PKEY, "a P_Key moves to another index", PORT, PKEY, INDEX),
    WORD(PKEY_LIMITED, pkey_limited, PKEY, "membership becomes limited, or full (on: false)", PORT,
         PKEY, ON),
    WORD(GID_ADD, gid_add, GID, "an entry appears in the GID table", PORT, INDEX,
         {"gid", WORD_GID, true, 0, 0}, {"type", WORD_GID_TYPE, false, 0, 0}),
    WORD(GID_REMOVE, gid_remove, GID, "an entry of the GID table becomes empty", PORT, INDEX),
    WORD(GID_MOVE, gid_move, GID, "a GID moves to another index", PORT, INDEX,
         {"to", WORD_VALUE, true, 0, 0xffff}),
    WORD(MTU_SET, mtu_set, MTU_CHANGE, "the active MTU of the port changes", PORT, MTU),
    WORD(LINK_MTU, link_mtu, MTU_CHANGE, "the cable carries no larger packets", PORT, MTU),
    WORD(GRH_REQUIRED, grh_required, GRH_REQUIRED, "the port demands a global routing header", PORT,
         ON),
    WORD(PREFIX_SET, prefix_set, SUBNET, "the subnet gets another prefix", NETWORK,
         {"prefix", WORD_VALUE, true, 0, 0}),
    WORD(SL_MAP, sl_map, SL, "a service level is mapped to a virtual lane", NETWORK,
         {"sl", WORD_INDEX, true, 0, 15}, {"vl", WORD_VALUE, true, 0, 15}),
    WORD(LOSS, loss, LOSS, "packets of the cable are lost", PORT, PPM),
    WORD(CUT, cut, LOSS, "nothing leaves the port, silently", PORT, ON),
    WORD(DELAY, delay, DELAY, "packets arrive later", PORT, DURATION,
         {"jitter", WORD_JITTER, false, 0, 0}),
    WORD(REORDER, reorder, REORDER, "packets overtake each other", PORT, PPM),
    WORD(DUPLICATE, duplicate, REORDER, "packets arrive twice", PORT, PPM),
    WORD(EVENT_HOLD, event_hold, EVENTS_HOLD, "asynchronous events are held back", DEVICE, EVENT,
         ON),
    WORD(EVENT_LOSE, event_lose, EVENTS_HOLD, "asynchronous events are lost", DEVICE, EVENT, COUNT),
    WORD(EVENT_DUPLICATE, event_duplicate, EVENTS_HOLD, "asynchronous events come twice", DEVICE,
         EVENT, COUNT),
    WORD(EVENT_ORDER, event_order, EVENTS_HOLD, "held events come in this order", DEVICE,
         {"events", WORD_TEXT, true, 0, 0}),
    WORD(VERB_FAILS, verb_fails, VERB_FAULT, "calls of an operation fail", NODE,
         {"operation", WORD_TEXT, true, 0, 0}, {"nth", WORD_INDEX, false, 1, 1000000},
         {"repeat", WORD_VALUE, false, 0, 1000000}, {"error", WORD_ERROR, true, 0, 0}),
    WORD(COMPLETION_FAILS, completion_fails, VERB_FAULT, "completions get a status", NODE,
         {"status", WORD_TEXT, true, 0, 0}, {"nth", WORD_INDEX, false, 1, 1000000},
         {"repeat", WORD_VALUE, false, 0, 1000000}),
    WORD(DEVICE_REMOVE, device_remove, DEVICE_REMOVE, "the device vanishes", DEVICE),
    WORD(DEVICE_RETURN, device_return, DEVICE_REMOVE, "the device returns", DEVICE),
    WORD(DC_KEY_CHANGE, dc_key_change, DC,
         "the DC targets get another access key, which nobody is told", DEVICE),
    WORD(PROCESS_KILL, process_kill, PROCESS_KILL, "the node's program is killed", NODE),
    WORD(PROCESS_FREEZE, process_freeze, PROCESS_KILL, "the program stops, or goes on (on: false)",
         NODE, ON),
    WORD(PROCESS_RESTART, process_restart, PROCESS_KILL, "the program is killed and started", NODE),
    WORD(POWER_LOSS, power_loss, POWER_LOSS, "the node loses power", NODE),
    WORD(POWER_RETURN, power_return, POWER_LOSS, "the node has power again", NODE),
    WORD(DISK_ERROR, disk_error, DISK_FAULT, "the disk answers with errors", NODE, ON),
    WORD(DISK_FULL, disk_full, DISK_FAULT, "the disk is full", NODE, ON),
    WORD(DISK_SLOW, disk_slow, DISK_FAULT, "the disk answers later", NODE, DURATION),
    WORD(TCP_BLOCK, tcp_block, TCP, "control streams carry nothing, silently", NODE, PEER, ON),
    WORD(TCP_SLOW, tcp_slow, TCP, "control streams are slow", NODE, PEER,
         {"bytes_per_second", WORD_VALUE, true, 1, 0}, {"duration", WORD_DURATION, false, 0, 0}),
    WORD(TCP_CUT, tcp_cut, TCP, "control streams are reset", NODE, PEER),
};

const struct operation_word operation_words[OPERATION_WORD_COUNT] = {
    {"put", OPERATION_KEY | OPERATION_SIZE, OPERATION_SEED | OPERATION_NAMESPACE,
     "stores generated contents"},
    {"get", OPERATION_KEY | OPERATION_SIZE,
     OPERATION_SEED | OPERATION_OR_SEED | OPERATION_NAMESPACE,
     "reads a value, and compares it when a seed is given"},
    {"exists", OPERATION_KEY, OPERATION_NAMESPACE, "asks whether a key is there"},
    {"delete", OPERATION_KEY, OPERATION_NAMESPACE, "removes a key"},
    {"put_many", OPERATION_KEY | OPERATION_SIZE | OPERATION_COUNT,
     OPERATION_SEED | OPERATION_NAMESPACE, "stores KEY#0, KEY#1, ... in one batch"},
    {"get_many", OPERATION_KEY | OPERATION_SIZE | OPERATION_COUNT,
     OPERATION_SEED | OPERATION_NAMESPACE, "reads KEY#0, KEY#1, ... in one batch"},
    {"exists_many", OPERATION_KEY | OPERATION_COUNT, OPERATION_NAMESPACE,
     "asks in one batch which of KEY#0, KEY#1, ... are there"},
    {"put_file", OPERATION_KEY, OPERATION_FILE | OPERATION_PATH | OPERATION_BLOCK_SIZE,
     "stores a file block by block"},
    {"verify_file", OPERATION_KEY, OPERATION_FILE | OPERATION_PATH | OPERATION_BLOCK_SIZE,
     "reads the blocks of a file and compares every byte"},
    {"get_file", OPERATION_KEY | OPERATION_SIZE | OPERATION_PATH, OPERATION_BLOCK_SIZE,
     "reads blocks into a file of the node"},
    {"status", 0, 0, "asks the node's program how it is"},
    {"drain", 0, 0, "a server takes no new work and finishes what is under way, as at SIGTERM"},
    {"reload", OPERATION_AUTH_KEY, 0, "a server takes another key, as at SIGHUP"},
};

const struct fault_word *fault_word_by_name(const char *name)
{
    assert(name);
    for (size_t i = 0; i < TESTBED_WORD_COUNT; i++) {
        if (strcmp(fault_words[i].name, name) == 0)
            return &fault_words[i];
    }
    return NULL;
}

const struct operation_word *operation_word_by_name(const char *name)
{
    assert(name);
    for (size_t i = 0; i < OPERATION_WORD_COUNT; i++) {
        if (strcmp(operation_words[i].name, name) == 0)
            return &operation_words[i];
    }
    return NULL;
}

bool capability_by_name(const char *name, fabric_caps *out)
{
    assert(name && out);
    for (unsigned bit = 0; bit < FABRIC_CAP_COUNT; bit++) {
        if (strcmp(fabric_cap_name((enum fabric_cap_bit)bit), name) == 0) {
            *out = UINT64_C(1) << bit;
            return true;
        }
    }
    return false;
}

/* The last four bytes as a dotted IPv4 address. */
static bool parse_ipv4(const char *text, uint8_t out[4])
{
    for (int i = 0; i < 4; i++) {
        size_t digits = strspn(text, "0123456789");
        unsigned long byte = digits && digits <= 3 ? strtoul(text, NULL, 10) : 256;
        if (byte > 255 || text[digits] != (i < 3 ? '.' : '\0'))
            return false;
        out[i] = (uint8_t)byte;
        text += digits + 1;
    }
    return true;
}

bool gid_parse(const char *text, union fabric_gid *out)
{
    assert(text && out);
    uint8_t bytes[16] = {0};
    size_t used = 0, gap = SIZE_MAX;
    if (strncmp(text, "::", 2) == 0) {
        gap = 0;
        text += 2;
    }
    while (*text) {
        size_t digits = strspn(text, "0123456789abcdefABCDEF");
        if (text[digits] == '.' && used <= 12 && parse_ipv4(text, bytes + used)) {
            used += 4;
            break;
        }
        if (digits == 0 || digits > 4 || used > 14)
            return false;
        unsigned long group = strtoul(text, NULL, 16);
        bytes[used++] = (uint8_t)(group >> 8);
        bytes[used++] = (uint8_t)group;
        text += digits;
        if (*text && (*text != ':' || text[1] == '\0'))
            return false;
        text += *text != '\0';
        if (*text == ':' && gap == SIZE_MAX) {
            gap = used;
            text++;
        }
    }
    if (gap == SIZE_MAX ? used != 16 : used > 14)
        return false;
    size_t tail = gap == SIZE_MAX ? 0 : used - gap;
    memset(out->raw, 0, sizeof out->raw);
    memcpy(out->raw, bytes, used - tail);
    memcpy(out->raw + 16 - tail, bytes + used - tail, tail);
    return true;
}
