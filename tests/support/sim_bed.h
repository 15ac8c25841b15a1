/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A simulated testbed: nodes a, b, c on the subnet "ib" with the managers "sm" and "spare" (started
 * only by a fault word), nodes x and y on the Ethernet network "lan", each with one mlx5_0.
 */
#ifndef TESTS_SUPPORT_SIM_BED_H
#define TESTS_SUPPORT_SIM_BED_H

#include "fabric_sim/testbed.h"

#define BED_MS UINT64_C(1000000)
#define BED_SECOND UINT64_C(1000000000)

struct sim_bed {
    struct testbed *tb;
    char detail[TESTBED_DETAIL];
    char *said; /* every report and log line, as "NODE TEXT\n", and "NODE exited ERROR\n" */
    size_t said_length;
};

void sim_bed_open(struct sim_bed *bed, uint64_t seed, fabric_caps caps);
void sim_bed_close(struct sim_bed *bed);
void sim_bed_run(struct sim_bed *bed, uint64_t ns); /* lets so long pass, at most */
/* Lets time pass until `text` was said; false after ten seconds. */
bool sim_bed_until(struct sim_bed *bed, const char *text);
/* Until the port of the node is ACTIVE, and the LID is `lid` unless that is 0. */
bool sim_bed_active(struct sim_bed *bed, const char *node, unsigned lid);
unsigned sim_bed_count(const struct sim_bed *bed, const char *text);
void sim_bed_forget(struct sim_bed *bed); /* what was said */
const char *sim_bed_ask(struct sim_bed *bed, const char *node, const char *query);
enum testbed_result sim_bed_start(struct sim_bed *bed, const char *node,
                                  const struct fabric_program *program, const char *config);
void sim_bed_undo(struct sim_bed *bed);
enum testbed_result sim_bed_apply(struct sim_bed *bed, const struct testbed_fault *fault);

#endif
