/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words of the scenario language: faults (HA-4.3) and operations, with the parameters that
 * each takes. Reader, help and documentation use the same tables.
 */
#ifndef SRC_SCENARIO_WORDS_H
#define SRC_SCENARIO_WORDS_H

#include "src/scenario/testbed.h"

/* The member of struct testbed_fault that a parameter sets; it gives the type too. */
enum word_slot {
    WORD_NODE, /* names */
    WORD_DEVICE,
    WORD_PEER,
    WORD_SM,
    WORD_NETWORK,
    WORD_TEXT,
    WORD_PORT, /* numbers, decimal or 0x */
    WORD_INDEX,
    WORD_VALUE,
    WORD_ON, /* true or false */
    WORD_DURATION,
    WORD_JITTER,
    WORD_ERROR, /* an error name */
    WORD_GID,   /* an IPv6 address */
    WORD_GID_TYPE,
};

struct word_field {
    const char *name;
    enum word_slot slot;
    bool required;
    uint64_t min, max; /* numbers; both 0: no limit */
};

#define WORD_MAX_FIELDS 8

struct fault_word {
    enum testbed_word word;
    const char *name;
    fabric_caps cap;                           /* what the fabric must be able to do */
    struct word_field fields[WORD_MAX_FIELDS]; /* a null name ends them; the first is the one that
                                                  the short form `word: NAME` sets */
    const char *help;
};

extern const struct fault_word fault_words[TESTBED_WORD_COUNT];

/* Parameters of an operation, beside `node`. */
enum operation_parameter {
    OPERATION_KEY = 1,
    OPERATION_SIZE = 2,
    OPERATION_SEED = 4,
    OPERATION_FILE = 8,
    OPERATION_PATH = 16,
    OPERATION_BLOCK_SIZE = 32,
    OPERATION_TIMEOUT = 64, /* allowed everywhere */
    OPERATION_COUNT = 128,
    OPERATION_NAMESPACE = 256,
    OPERATION_OR_SEED = 512,
    OPERATION_AUTH_KEY = 1024,
};

struct operation_word {
    const char *name;
    unsigned required, allowed; /* sets of enum operation_parameter */
    const char *help;
};

#define OPERATION_PARAMETERS 11
#define OPERATION_WORD_COUNT 13
extern const struct operation_word operation_words[OPERATION_WORD_COUNT];

/* Null when there is none. */
const struct fault_word *fault_word_by_name(const char *name);
const struct operation_word *operation_word_by_name(const char *name);

/* The bit of a capability by its name; false when there is none. */
bool capability_by_name(const char *name, fabric_caps *out);
/* Reads an IPv6 address, also with an IPv4 one at its end; false when it is none. */
bool gid_parse(const char *text, union fabric_gid *out);

#endif
