/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A testbed without a world: what the runner does is answered from a script.
 */
#ifndef TESTS_SUPPORT_FAKE_TESTBED_H
#define TESTS_SUPPORT_FAKE_TESTBED_H

#include "src/scenario/testbed.h"

/* What happens `delay` ns after the runner did `on`: "start NODE", "stop NODE", the name of an
 * operation or a fault word, or "create". */
struct fake_reply {
    const char *on;
    uint64_t delay;
    enum testbed_event_type type;
    const char *node;
    const char *text; /* of a report; %id becomes the command's id */
    enum fabric_log_level level;
    enum fabric_error error;
};

#define FAKE_MAX_REPLIES 16

struct fake_script {
    fabric_caps caps;
    struct fake_reply replies[FAKE_MAX_REPLIES]; /* a null `on` ends them */
    const char *refuse;                          /* create fails with this sentence */
    const char *wrong;                           /* apply answers WRONG with it */
    const char *lacks;                           /* apply answers LACKS with it */
    const char *answer;                          /* of every question */
    const char *stuck;                           /* undo answers FAILED with it */
    const char *farewell;                        /* a line of the trace while undo works */
    bool silent_start; /* without a reply to it, a start is not answered with ready */
    bool unstable;     /* every run has another trace */
};

struct fake_log { /* what the runner did, in words, a line each */
    char text[2048];
    unsigned worlds, undone, destroyed;
    size_t placed; /* bytes of files */
    char placed_path[FABRIC_PATH_MAX];
};

extern struct fake_script fake_script;
extern struct fake_log fake_log;
extern const struct testbed_ops fake_testbed_ops;
/* Programs "server" and "client" that nobody ever calls. */
extern const struct fabric_program *const fake_programs[2];

void fake_reset(void);

#endif
