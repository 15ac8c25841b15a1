/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MemKV in the simulator (HA-7.1): short worlds a second, with a server and a client that does
 * eight operations of 16 KiB; and how much faster than the clock the time-out family runs, which is
 * every scenario with the tag "timeout".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabric_sim/testbed.h"
#include "src/client/program.h"
#include "src/scenario/cases.h"
#include "src/scenario/files.h"
#include "src/scenario/runner.h"
#include "src/server/program.h"
#include "tests/support/reach.h"
#include "tests/support/two_nodes.h"

#define WORLDS_TO_REACH 1000
#define RATIO_TO_REACH 1000
#define SECOND UINT64_C(1000000000)
#define MEASURE 3.0 /* seconds of each figure */

#define KEY "5eedc0de5eedc0de5eedc0de5eedc0de5eedc0de5eedc0de5eedc0de5eedc0de"

static struct testbed *begin(uint64_t seed)
{
    struct testbed_event event;
    char detail[TESTBED_DETAIL] = "";
    struct testbed *tb = two_nodes_make("server", "client", seed, detail);
    reach_check(tb != NULL, detail);
    bool started =
        sim_testbed.node_start(tb, "server", &memkv_server_program,
                               "network: {auth_key: " KEY "}\n"
                               "memory: {max_size: 2 MiB, block_size: 16 KiB}\n",
                               detail) == TESTBED_DONE &&
        sim_testbed.node_start(tb, "client", &memkv_client_program,
                               "servers: [\"10.0.0.1:9900\"]\nauth_key: " KEY "\ntransport: rdma\n",
                               detail) == TESTBED_DONE;
    reach_check(started, detail);
    do
        sim_testbed.next(tb, 10 * SECOND, &event);
    while (event.type != TESTBED_EVENT_DEADLINE &&
           !(event.type == TESTBED_EVENT_REPORT && strstr(event.text, "\"state\":\"up\"")));
    reach_check(event.type == TESTBED_EVENT_REPORT, "no link came up");
    return tb;
}

/* One command, to its answer; the world's time then. */
static uint64_t operate(struct testbed *tb, unsigned id)
{
    struct testbed_event event;
    char detail[TESTBED_DETAIL] = "", json[160], answer[32];
    snprintf(json, sizeof json,
             "{\"id\":%u,\"op\":\"%s\",\"key\":\"k%u\",\"size\":16384,\"seed\":1}", id,
             id % 2 ? "put" : "get", (id - 1) / 2);
    snprintf(answer, sizeof answer, "\"id\":%u", id);
    reach_check(sim_testbed.tell(tb, "client", json, detail) == TESTBED_DONE, detail);
    do
        sim_testbed.next(tb, sim_testbed.now(tb) + 600 * SECOND, &event);
    while (event.type != TESTBED_EVENT_DEADLINE &&
           !(event.type == TESTBED_EVENT_REPORT && strstr(event.text, answer)));
    reach_check(event.type == TESTBED_EVENT_REPORT, "no answer");
    reach_check((strstr(event.text, "\"ok\":true") != NULL), event.text);
    return event.time;
}

static void short_world(uint64_t seed)
{
    struct testbed *tb = begin(seed);
    for (unsigned id = 1; id <= 8; id++)
        operate(tb, id);
    sim_testbed.destroy(tb);
}

static bool is_of_the_family(const struct scenario *scenario)
{
    for (size_t i = 0; i < scenario->tag_count; i++) {
        if (strcmp(scenario->tags[i], "timeout") == 0)
            return true;
    }
    return false;
}

/* Runs one case if it is of the family: virtual ns to *time; the cpu seconds. */
static double run_case(const struct case_name *one, uint64_t *time)
{
    static const struct fabric_program *const programs[] = {&memkv_server_program,
                                                            &memkv_client_program};
    static const char *const names[] = {"server", "client"};
    const struct scenario_options options = {
        .seed = 1, .caps = FABRIC_CAPS_ALL, .programs = programs, .program_count = 2};
    char detail[FILES_DETAIL] = "";
    struct text content = {0};
    struct yaml_errors errors;
    struct scenario_result result;
    double seconds = 0;
    reach_check(file_read(one->file, &content, detail), detail);
    yaml_errors_init(&errors, one->file);
    struct scenario *scenario =
        scenario_read(one->file, text_data(&content), content.length, one->cell, names, 2, &errors);
    reach_check(scenario != NULL, one->file);
    if (is_of_the_family(scenario)) {
        double from = reach_cpu_seconds();
        scenario_run(scenario, &sim_testbed, &options, &result);
        seconds = reach_cpu_seconds() - from;
        reach_check(result.status == SCENARIO_PASSED, one->file);
        *time += result.time;
        scenario_result_free(&result);
    }
    scenario_free(scenario);
    text_free(&content);
    return seconds;
}

static double family_ratio(void)
{
    struct case_list list = {0};
    char detail[FILES_DETAIL] = "";
    uint64_t time = 0;
    double seconds = 0;
    reach_check(case_list_add(&list, "scenarios", NULL, detail), detail);
    for (size_t i = 0; i < list.count; i++)
        seconds += run_case(&list.cases[i], &time);
    case_list_free(&list);
    reach_check(time > 0, "no scenario has the tag timeout");
    return (double)time / (double)SECOND / seconds;
}

int main(void)
{
    uint64_t worlds = 0;
    double from = reach_cpu_seconds(), now = from;
    for (; now - from < MEASURE; now = reach_cpu_seconds())
        short_world(++worlds);
    reach(REACH_AT_LEAST, "worlds of MemKV with eight operations of 16 KiB",
          (double)worlds / (now - from), WORLDS_TO_REACH, "a second");
    reach(REACH_AT_LEAST, "virtual seconds of the time-out family", family_ratio(), RATIO_TO_REACH,
          "a second");
    return 0;
}
