/* SPDX-License-Identifier: Apache-2.0 */
/* What a good file becomes (HA-4.1, HA-4.2); tests/bad has the others. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "src/scenario/scenario.h"

static const char *const programs[] = {"server", "client"};

static const char header[] = "name: under test\n"
                             "proves: [MK-C1, HA-2.2, CASE-S10]\n"
                             "about: What the reader makes of this is what is tested.\n"
                             "tags: [quick, sm]\n"
                             "requires: [dc]\n"
                             "topology: {subnets: {ib: {sms: [sm]}}, nodes: [a, b]}\n"
                             "programs:\n"
                             "  a:\n"
                             "    program: server\n"
                             "    config: {network: {address: 0.0.0.0:9900}}\n";

static struct scenario *read(const char *rest, struct yaml_errors *errors)
{
    char text[2048];
    snprintf(text, sizeof text, "%s%s", header, rest);
    yaml_errors_init(errors, "x");
    return scenario_read("x", text, strlen(text), 0, programs, 2, errors);
}

static struct scenario *good(const char *rest)
{
    struct yaml_errors errors;
    struct scenario *scenario = read(rest, &errors);
    if (!scenario)
        fail_msg("%s", errors.items[0].text);
    return scenario;
}

static void refused(const char *rest, const char *expected)
{
    struct yaml_errors errors;
    struct scenario *scenario = read(rest, &errors);
    assert_null(scenario);
    if (!strstr(errors.items[0].text, expected))
        assert_string_equal(errors.items[0].text, expected);
}

static void the_head_is_kept_and_faults_add_capabilities(void **state)
{
    (void)state;
    struct scenario *s = good("steps: [sm_stop: sm, {lid_set: {node: b, lid: 0x28}}]\n");
    assert_string_equal(s->name, "under test");
    assert_int_equal(s->proves_count, 3);
    assert_string_equal(s->proves[2], "CASE-S10");
    assert_int_equal(s->tag_count, 2);
    assert_int_equal(s->requires, FABRIC_CAP_DC | FABRIC_CAP_SM | FABRIC_CAP_LID);
    assert_int_equal(s->program_count, 1);
    assert_string_equal(s->programs[0].program, "server");
    assert_false(s->programs[0].by_step);
    scenario_free(s);
}

static void a_configuration_keeps_its_place_in_the_file(void **state)
{
    (void)state;
    struct scenario *s = good("steps: [start: {node: a, config: {network: {addres: x}}}]\n");
    assert_true(s->programs[0].by_step);
    struct yaml_errors errors;
    yaml_errors_init(&errors, "config");
    struct yaml_tree *tree =
        yaml_parse(s->programs[0].config, strlen(s->programs[0].config), &errors);
    assert_non_null(tree);
    assert_int_equal(yaml_mark(yaml_root(tree)).line, 10);
    yaml_tree_free(tree);
    tree = yaml_parse(s->steps[0].config, strlen(s->steps[0].config), &errors);
    assert_non_null(tree);
    assert_int_equal(yaml_mark(yaml_root(tree)).line, 11);
    yaml_tree_free(tree);
    scenario_free(s);
}

static void parameters_of_faults_reach_their_members(void **state)
{
    (void)state;
    struct scenario *s =
        good("steps:\n"
             "  - pkey_move: {node: b, device: mlx5_0, port: 1, pkey: 0x8001, index: 3}\n"
             "  - gid_add: {node: b, index: 4, gid: 'fe80::2', type: roce_v2}\n"
             "  - grh_required: {node: b, on: false}\n"
             "  - delay: {node: b, duration: 2 us, jitter: 1 us}\n"
             "  - verb_fails: {node: b, operation: mr_register, nth: 2, error: memlock_limit}\n"
             "  - prefix_set: {network: ib, prefix: 0xfec0000000000009}\n"
             "  - tcp_cut: {node: a, peer: b}\n"
             "  - port_down: b\n");
    const struct testbed_fault *f = &s->steps[0].fault;
    assert_string_equal(f->device, "mlx5_0");
    assert_true(f->port == 1 && f->value == 0x8001 && f->index == 3 && f->on);
    f = &s->steps[1].fault;
    assert_true(f->index == 4 && f->gid.raw[15] == 2 && f->gid_type == FABRIC_GID_TYPE_ROCE_V2);
    assert_false(s->steps[2].fault.on);
    f = &s->steps[3].fault;
    assert_true(f->duration == 2000 && f->jitter == 1000);
    f = &s->steps[4].fault;
    assert_string_equal(f->text, "mr_register");
    assert_true(f->index == 2 && f->error == ERR_MEMLOCK_LIMIT);
    assert_true(s->steps[5].fault.value == 0xfec0000000000009);
    assert_string_equal(s->steps[6].fault.peer, "b");
    assert_string_equal(s->steps[7].fault.node, "b");
    scenario_free(s);
}

static void steps_keep_trigger_action_and_expectation(void **state)
{
    (void)state;
    struct scenario *s =
        good("steps:\n"
             "  - at: 1500 ms\n"
             "    put: {node: b, key: k, size: 64 KiB, seed: 9, timeout: 2 s}\n"
             "    background: true\n"
             "    expect: {outcome: 'failed:timeout', within: 3 s, error: timeout, x.y: '> 1'}\n"
             "  - {after: 2 s, nothing: {for: 1 s, node: a}}\n"
             "  - {when: {node: b, log: [one, two], level: warn}, within: 4 s, stop: a}\n");
    const struct scenario_step *put = &s->steps[0];
    assert_true(put->trigger == SCENARIO_AT && put->time == 1500000000);
    assert_true(put->operation.size == 65536 && put->operation.seed == 9);
    assert_true(put->operation.has_seed && put->operation.timeout == 2000000000);
    assert_true(put->background && put->expect.within == 3000000000);
    assert_int_equal(put->expect.field_count, 1);
    assert_string_equal(put->expect.fields[0].path, "x.y");
    assert_true(s->steps[1].trigger == SCENARIO_AFTER && s->steps[1].quiet == 1000000000);
    assert_string_equal(s->steps[1].quiet_on, "a");
    const struct scenario_match *when = &s->steps[2].when;
    assert_true(when->text_count == 2 && when->level == FABRIC_LOG_WARN);
    assert_true(s->steps[2].limit == 4000000000 && s->steps[2].action == SCENARIO_STOP);
    scenario_free(s);
}

static void what_makes_no_sense_is_refused(void **state)
{
    (void)state;
    refused("steps: [start: b]\n", "node 'b' has no program");
    refused("steps: [stop: b]\n", "node 'b' has no program");
    refused("steps: [at]\n", "steps: found");
    refused("steps: [{put: {node: b, key: k}}]\n", "put: 'size' is missing");
    refused("steps: [{put_file: {node: b, key: k}}]\n", "exactly one of 'file'");
    refused("steps: [lid_set: b]\n", "lid_set: 'lid' is missing; {node: NAME, lid: ...}");
    refused("steps: [{gid_add: {node: b, index: 0, gid: nonsense}}]\n", "an IPv6 address");
    refused("steps: [{sm_stop: sm, within: 1 s}]\n", "within: found without when");
    refused("steps: [{ask: {node: b, query: x}, expect: [1]}]\n", "a mapping is expected");
    refused("steps: [{ask: {node: b, query: x}, expect: {outcome: rdma}}]\n",
            "only an operation has an outcome");
    refused("steps: [{when: {node: b}}]\n", "found no condition");
    refused("steps: [{when: {log: []}}]\n", "log: found an empty list");
    refused("steps: [{when: {report: {}}}]\n", "a mapping from fields");
    refused("steps: [{when: {exit: ok, level: warn}}]\n", "level: found without log");
    refused("steps: [sm_stop: sm]\nexpect: [{log: x, never: true, count: 2}]\n", "never and count");
    refused("steps: [sm_stop: sm]\nexpect: [{order: [{log: x}]}]\n", "two or more");
    refused("steps: [sm_stop: sm]\nexpect: [{order: [{log: x}, {log: y}], by: 1 s}]\n",
            "it stands alone");
    refused("steps: [sm_stop: sm]\nexpect: [{log: x, after: 2 s, by: 1 s}]\n", "later than by");
    refused("steps: [zzz: 1]\n", "`memkv-scenario help words` lists them");
}

static void requirement_ids_have_one_form(void **state)
{
    (void)state;
    static const char *const wrong[] = {"MK", "MK-", "MK-C", "MK-C1.", "XX-1", "MK-C1a", "MK-CC1"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char text[512];
        struct yaml_errors errors;
        snprintf(text, sizeof text,
                 "name: abc\nproves: [%s]\nabout: a sentence of twenty letters\n"
                 "topology: {nodes: [a]}\nsteps: [nothing: 1 s]\n",
                 wrong[i]);
        yaml_errors_init(&errors, "x");
        assert_null(scenario_read("x", text, strlen(text), 0, programs, 2, &errors));
        assert_non_null(strstr(errors.items[0].text, "proves: found"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_head_is_kept_and_faults_add_capabilities),
        cmocka_unit_test(a_configuration_keeps_its_place_in_the_file),
        cmocka_unit_test(parameters_of_faults_reach_their_members),
        cmocka_unit_test(steps_keep_trigger_action_and_expectation),
        cmocka_unit_test(what_makes_no_sense_is_refused),
        cmocka_unit_test(requirement_ids_have_one_form),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
