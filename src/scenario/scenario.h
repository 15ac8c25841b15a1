/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A scenario file as data (HA-4.1, HA-4.2). Made by the reader, run by the runner; it never says
 * which fabric it runs on. docs/scenario-language.md describes the language.
 */
#ifndef SRC_SCENARIO_SCENARIO_H
#define SRC_SCENARIO_SCENARIO_H

#include "src/config/yaml.h"
#include "src/scenario/arena.h"
#include "src/scenario/testbed.h"
#include "src/scenario/words.h"

/* What programs authenticate with when a scenario is not about that. */
#define SCENARIO_AUTH_KEY "5eedc0de5eedc0de5eedc0de5eedc0de5eedc0de5eedc0de5eedc0de5eedc0de"

#define SCENARIO_MAX_PROGRAMS 8                   /* kinds of programs that a host offers */
#define SCENARIO_PATIENCE UINT64_C(60000000000)   /* ns: no answer for that long is `hung` */
#define SCENARIO_REAL_LIMIT UINT64_C(5000000000)  /* ns on machines, unless slow ones are wanted */
#define SCENARIO_WHEN_LIMIT UINT64_C(10000000000) /* ns: a condition without `within` */

/* A value that must be found under a path such as "rails.0.state"; `value` is the text it must
 * equal, or a comparison: "!= X", "> N", ">= N", "< N", "<= N". */
struct scenario_field {
    const char *path, *value;
    struct yaml_mark mark;
};

enum scenario_match_type {
    SCENARIO_LOG,    /* a log line that contains every text */
    SCENARIO_REPORT, /* a report with every field */
    SCENARIO_EXIT,   /* the program could not start, or ended */
};

/* Something that a node does. */
struct scenario_match {
    enum scenario_match_type type;
    struct yaml_mark mark;
    const char *node; /* null: any */
    const char **texts;
    size_t text_count;
    int level; /* enum fabric_log_level; -1: any */
    struct scenario_field *fields;
    size_t field_count;
    enum fabric_error error;
};

/* One expectation of the closing list. */
struct scenario_check {
    struct yaml_mark mark;
    struct scenario_match *matches; /* one, or several that happen in this order */
    size_t match_count;
    bool never;
    uint64_t count;     /* exactly so many; 0: at least one */
    uint64_t after, by; /* ns since the world began; by FABRIC_FOREVER: whenever */
};

enum scenario_trigger {
    SCENARIO_NEXT,  /* as soon as the step before is done */
    SCENARIO_AT,    /* not before that time of the world */
    SCENARIO_AFTER, /* that long after the step before was done */
    SCENARIO_WHEN,  /* as soon as something happens (or has since the last action) */
};

enum scenario_action {
    SCENARIO_NONE, /* only waits */
    SCENARIO_START,
    SCENARIO_STOP,
    SCENARIO_FAULT,
    SCENARIO_OPERATION, /* a command to the node's program */
    SCENARIO_ASK,       /* a fact about the node that needs no program */
    SCENARIO_NOTHING,   /* for so long nothing at all may happen */
};

/* What the answer of a step must be. An operation without expectations must succeed. */
struct scenario_expect {
    struct yaml_mark mark;
    const struct yaml_value *outcome, *error; /* scalars; null: not said */
    struct scenario_field *fields;
    size_t field_count;
    uint64_t within, no_sooner; /* ns from the action to the answer; within 0: not said */
    struct yaml_mark within_mark, no_sooner_mark;
};

struct scenario_operation {
    const struct operation_word *word;
    const char *key, *file, *path; /* file: on the driver's machine, relative to the scenario */
    uint64_t size, seed, or_seed, block_size, timeout, count;
    const char *name_space;
    const char *auth_key; /* 64 hexadecimal digits */
    bool has_seed, has_or_seed;
};

struct scenario_step {
    struct yaml_mark mark;
    enum scenario_trigger trigger;
    uint64_t time; /* ns: AT, AFTER */
    struct scenario_match when;
    uint64_t limit; /* ns: how long WHEN may take */
    enum scenario_action action;
    const char *word; /* the action's name */
    const char *node;
    bool background; /* the next step does not wait for the answer */
    bool has_expect;
    struct scenario_expect expect;
    struct testbed_fault fault;
    struct scenario_operation operation;
    const char *config;   /* START: another configuration; null: the program's own */
    const char *query;    /* ASK */
    uint64_t quiet;       /* NOTHING, ns */
    const char *quiet_on; /* NOTHING: only this node; null: everywhere */
};

struct scenario_program {
    struct yaml_mark mark;
    const char *node, *program;
    const char *config; /* YAML text at the lines and columns of the file */
    bool by_step;       /* a step starts it; otherwise it runs from the beginning */
};

struct scenario {
    const char *file; /* as it was named */
    const char *cell; /* of its matrix: "role=server transport=rc"; "" without a matrix */
    const char *name, *about;
    const char **proves, **tags;
    size_t proves_count, tag_count;
    uint64_t real;        /* ns that it takes where time is real, or that its waits add up to */
    fabric_caps requires; /* those written and those its fault words need */
    struct topology *topology;
    struct scenario_program *programs;
    size_t program_count;
    struct scenario_step *steps;
    size_t step_count;
    struct scenario_check *checks;
    size_t check_count;
};

/* The cases of a file: one a cell of its matrix. */
struct scenario_cells {
    struct arena arena; /* owns the names; arena_free when done */
    const char **names;
    size_t count;
};

/* Finds the cells alone; false after a complaint. */
bool scenario_read_cells(const char *text, size_t length, struct scenario_cells *out,
                         struct yaml_errors *errors);

/* Reads one cell of a scenario file (0 without a matrix). `program_names` (`program_count` of
 * them) are the programs that nodes can run. Null when there was something to complain about;
 * scenario_free frees the result. `file` and `text` are copied. */
struct scenario *scenario_read(const char *file, const char *text, size_t length, size_t cell,
                               const char *const *program_names, size_t program_count,
                               struct yaml_errors *errors);
void scenario_free(struct scenario *scenario); /* null is fine */

/* Whether `found` fits what a struct scenario_field asks for. */
bool scenario_value_fits(const char *wanted, const char *found);

#endif
