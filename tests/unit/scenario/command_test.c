/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/scenario/command.h"
#include "src/scenario/files.h"
#include "tests/support/fake_testbed.h"

#define GOOD "tests/unit/scenario/files/good.yaml"
#define MATRIX "tests/unit/scenario/files/matrix.yaml"
#define SKIPPED "tests/unit/scenario/files/skipped.yaml"

struct fixture {
    struct command_host host;
    char out[16384], err[4096];
    bool interrupted;
};

static struct fixture fixture;
static const struct testbed_ops *const fabrics[] = {&fake_testbed_ops};

static bool is_interrupted(void *context)
{
    return ((struct fixture *)context)->interrupted;
}

static int setup(void **state)
{
    (void)state;
    fake_reset();
    memset(&fixture, 0, sizeof fixture);
    fixture.host = (struct command_host){.fabrics = fabrics,
                                         .fabric_count = 1,
                                         .programs = fake_programs,
                                         .program_count = 2,
                                         .interrupted = is_interrupted,
                                         .context = &fixture};
    return 0;
}

static void slurp(FILE *file, char *to, size_t capacity)
{
    rewind(file);
    size_t got = fread(to, 1, capacity - 1, file);
    to[got] = '\0';
    fclose(file);
}

/* Runs the words after the program's name, up to a null. */
static int run(const char *first, ...)
{
    const char *argv[16] = {"memkv-scenario", first};
    int argc = 1;
    va_list arguments;
    va_start(arguments, first);
    for (; argv[argc]; argv[argc] = va_arg(arguments, const char *))
        argc++;
    va_end(arguments);
    fixture.host.out = tmpfile();
    fixture.host.err = tmpfile();
    int status = command_main(&fixture.host, argc, argv);
    slurp(fixture.host.out, fixture.out, sizeof fixture.out);
    slurp(fixture.host.err, fixture.err, sizeof fixture.err);
    return status;
}

static void said(const char *where, const char *what)
{
    if (!strstr(where, what))
        assert_string_equal(where, what);
}

static void a_passing_file_is_one_line_and_a_count(void **state)
{
    (void)state;
    assert_int_equal(run("run", GOOD, NULL), COMMAND_PASSED);
    assert_string_equal(fixture.out, "PASS  " GOOD "  a good one  (2 us virtual)\n"
                                     "1 passed, 0 failed, 0 skipped\n");
    assert_string_equal(fixture.err, "");
    assert_int_equal(run("check", GOOD, NULL), COMMAND_PASSED);
}

static void a_failure_shows_place_trace_and_replay(void **state)
{
    (void)state;
    fake_script.replies[0] = (struct fake_reply){
        "sm_stop", 5, TESTBED_EVENT_LOG, "client", "no_lid", FABRIC_LOG_WARN, FABRIC_OK};
    assert_int_equal(run("run", GOOD, "--seed", "77", NULL), COMMAND_FAILED);
    said(fixture.out, "FAIL  " GOOD);
    said(fixture.out, "  " GOOD ":14:5: at 2.005 us\n    expected: never a log line with 'no_lid'");
    said(fixture.out, "    found:    2.005 us  client  warn  no_lid\n");
    said(fixture.out, "    start server server\n");
    said(fixture.out, "  replay: memkv-scenario run " GOOD " --fabric fake --seed 77\n");
    said(fixture.out, "\n0 passed, 1 failed, 0 skipped\n");
}

static void a_replay_repeats_what_was_taken_away(void **state)
{
    (void)state;
    fake_script.replies[0] = (struct fake_reply){
        "sm_stop", 5, TESTBED_EVENT_LOG, "client", "no_lid", FABRIC_LOG_WARN, FABRIC_OK};
    assert_int_equal(run("run", GOOD, "--without", "dc", "--without", "gid", NULL), COMMAND_FAILED);
    said(fixture.out, " --fabric fake --seed 1 --without gid --without dc\n");
}

static void nothing_that_ran_is_a_code_of_its_own(void **state)
{
    (void)state;
    assert_int_equal(run("run", GOOD, "--without", "sm", NULL), COMMAND_NOTHING);
    said(fixture.out, "SKIP  " GOOD);
    said(fixture.out, "fabric fake lacks: sm");
    said(fixture.out, "0 passed, 0 failed, 1 skipped");
    fake_reset();
    assert_int_equal(run("run", GOOD, "--tag", "another", NULL), COMMAND_NOTHING);
    assert_int_equal(run("run", GOOD, "--tag=quick", NULL), COMMAND_PASSED);
}

static void an_invalid_file_outweighs_a_failed_one(void **state)
{
    (void)state;
    assert_int_equal(run("run", GOOD, "tests/bad/tab.yaml", NULL), COMMAND_INVALID);
    said(fixture.out, "1 passed, 1 failed, 0 skipped");
    said(fixture.out, "tests/bad/tab.yaml:7:1: found a TAB");
    assert_int_equal(run("check", "tests/bad", NULL), COMMAND_INVALID);
    assert_int_equal(run("run", "nowhere.yaml", NULL), COMMAND_INVALID);
    said(fixture.err, "cannot find nowhere.yaml");
}

static bool spread(void *context, size_t count, unsigned jobs,
                   void (*work)(void *job, size_t i, struct text *out), void *job, struct text *out)
{
    (void)context;
    for (size_t i = count; i-- > 0;) {
        if (jobs == 2 || i > 0)
            work(job, i, &out[i]);
        if (jobs == 3 && i == 1)
            out[i].data[out[i].length /= 2] = '\0';
    }
    return jobs == 2;
}

static void a_hurried_run_stops_at_the_first_failure(void **state)
{
    (void)state;
    fixture.host.spread = spread; /* one at a time whatever --jobs says */
    assert_int_equal(
        run("run", GOOD, "tests/bad/tab.yaml", GOOD, "--fail-fast", "--jobs", "2", NULL),
        COMMAND_INVALID);
    said(fixture.out, "\n1 passed, 1 failed, 0 skipped\n");
    said(fixture.err, "stopped at the first failure; 1 left");
    assert_int_equal(run("run", GOOD, GOOD, "--fail-fast", NULL), COMMAND_PASSED);
    said(fixture.out, "2 passed, 0 failed, 0 skipped\n");
}

static void a_wrong_word_gets_the_nearest_right_one(void **state)
{
    (void)state;
    assert_int_equal(run("rnu", GOOD, NULL), COMMAND_USAGE);
    said(fixture.err, "did you mean 'run'?");
    assert_int_equal(run("run", "--sed", "1", NULL), COMMAND_USAGE);
    said(fixture.err, "did you mean '--seed'?");
    assert_int_equal(run("run", GOOD, "--fabric", "faker", NULL), COMMAND_USAGE);
    said(fixture.err, "did you mean 'fake'?");
    assert_int_equal(run("run", GOOD, "--without", "grh_require", NULL), COMMAND_USAGE);
    said(fixture.err, "did you mean 'grh_required'?");
    assert_int_equal(run("help", "sm_stpo", NULL), COMMAND_USAGE);
    said(fixture.err, "did you mean 'sm_stop'?");
    assert_int_equal(run("help", "entirely-else", NULL), COMMAND_USAGE);
    said(fixture.err, "help words");
}

static void wrong_use_is_usage(void **state)
{
    (void)state;
    assert_int_equal(run(NULL), COMMAND_USAGE);
    said(fixture.err, "usage: memkv-scenario run");
    assert_int_equal(run("run", NULL), COMMAND_USAGE);
    assert_int_equal(run("run", GOOD, "--seed", NULL), COMMAND_USAGE);
    assert_int_equal(run("run", GOOD, "--seed", "many", NULL), COMMAND_USAGE);
    assert_int_equal(run("run", GOOD, "--jobs", "0", NULL), COMMAND_USAGE);
    said(fixture.err, "a number from 1 to 256");
    assert_int_equal(run("run", GOOD, "--trace", "/nowhere/at/all", NULL), COMMAND_USAGE);
}

static void help_names_fields_words_and_errors(void **state)
{
    (void)state;
    assert_int_equal(run("--help", NULL), COMMAND_PASSED);
    said(fixture.out, "examples:");
    assert_int_equal(run("help", "words", NULL), COMMAND_PASSED);
    said(fixture.out, "lid_set");
    assert_int_equal(run("help", "lid_set", NULL), COMMAND_PASSED);
    said(fixture.out, "lid_set: {node: NODE, device: DEVICE (optional), port: NUMBER (optional), "
                      "lid: NUMBER}");
    assert_int_equal(run("help", "put_file", NULL), COMMAND_PASSED);
    said(fixture.out, "key: a");
    assert_int_equal(run("help", "proves", NULL), COMMAND_PASSED);
    assert_int_equal(run("help", "no_lid", NULL), COMMAND_PASSED);
    said(fixture.out, "cause:");
}

static void json_is_one_object(void **state)
{
    (void)state;
    assert_int_equal(run("run", GOOD, "--json", NULL), COMMAND_PASSED);
    assert_int_equal(fixture.out[0], '{');
    said(fixture.out, "\"passed\": 1");
    said(fixture.out, "\"status\": \"passed\"");
    said(fixture.out, "\"proves\": [");
    assert_int_equal(run("run", "-j", "tests/bad/tab.yaml", NULL), COMMAND_INVALID);
    said(fixture.out, "\"column\": 1");
}

static void a_run_that_differs_the_second_time_is_broken(void **state)
{
    (void)state;
    assert_int_equal(run("run", GOOD, "--twice", NULL), COMMAND_PASSED);
    fake_script.unstable = true;
    assert_int_equal(run("run", GOOD, "--twice", NULL), COMMAND_FAILED);
    said(fixture.out, "not deterministic");
}

static void a_trace_goes_to_its_file(void **state)
{
    (void)state;
    char path[] = "/tmp/scenario-trace-XXXXXX", detail[FILES_DETAIL];
    struct text trace = {0};
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(run("run", GOOD, "--trace", path, NULL), COMMAND_PASSED);
    assert_true(file_read(path, &trace, detail));
    said(text_data(&trace), "start server server\n");
    text_free(&trace);
    unlink(path);
    assert_int_equal(run("run", GOOD, "--trace", "/dev/full", NULL), COMMAND_FAILED);
    said(fixture.err, "/dev/full is incomplete");
}

static void an_interrupt_ends_with_130(void **state)
{
    (void)state;
    fixture.interrupted = true;
    assert_int_equal(run("run", GOOD, GOOD, NULL), COMMAND_INTERRUPTED);
    said(fixture.out, "STOP");
    assert_int_equal(fake_log.destroyed, 1);
}

static void a_terminal_gets_colour_and_short_lines(void **state)
{
    (void)state;
    fixture.host.terminal = fixture.host.color = true;
    fixture.host.columns = 40;
    assert_int_equal(run("run", GOOD, NULL), COMMAND_PASSED);
    said(fixture.out, "\033[32mPASS\033[0m");
    assert_true(strcspn(fixture.out, "\n") <= 40 + strlen("\033[32m\033[0m"));
    said(fixture.err, "1 of 1");
}

static void results_that_nobody_can_read_are_no_success(void **state)
{
    (void)state;
    const char *const argv[] = {"memkv-scenario", "run", GOOD};
    fixture.host.out = fopen("/dev/full", "w");
    fixture.host.err = tmpfile();
    assert_int_equal(command_main(&fixture.host, 3, argv), COMMAND_FAILED);
    fclose(fixture.host.out);
    slurp(fixture.host.err, fixture.err, sizeof fixture.err);
    said(fixture.err, "standard output could not be written");
}

/* In place of other processes: with three jobs one dies before it says anything, one half-way. */
static void jobs_keep_the_order_of_files(void **state)
{
    (void)state;
    fixture.host.spread = spread;
    assert_int_equal(run("run", GOOD, SKIPPED, "--jobs", "2", NULL), COMMAND_PASSED);
    assert_true(strstr(fixture.out, GOOD) < strstr(fixture.out, SKIPPED));
}

static void a_worker_that_dies_is_a_broken_case(void **state)
{
    (void)state;
    fixture.host.spread = spread;
    assert_int_equal(run("run", MATRIX, GOOD, "--jobs", "3", NULL), COMMAND_FAILED);
    said(fixture.err, "a worker died");
    said(fixture.out, "FAIL  " MATRIX " [role=server transport=rc]  \n"
                      "  its worker died, or could not be made\n"
                      "  replay: memkv-scenario run " MATRIX
                      " --cell 'role=server transport=rc' --fabric fake --jobs 1\n");
    said(fixture.out, "FAIL  " MATRIX " [role=server transport=tcp]  \n"
                      "  its worker died while it told the result\n");
    said(fixture.out, "3 passed, 2 failed, 0 skipped\n");
    assert_int_equal(run("run", GOOD, "--tag", "nobody", "--jobs", "2", NULL), COMMAND_NOTHING);
    said(fixture.out, "0 passed, 0 failed, 0 skipped\n");
    fixture.interrupted = true; /* then nothing was begun that could have died */
    assert_int_equal(run("run", GOOD, "--jobs", "3", NULL), COMMAND_INTERRUPTED);
    said(fixture.out, "0 passed, 0 failed, 0 skipped\n");
}

static void the_cells_of_a_matrix_are_cases(void **state)
{
    (void)state;
    assert_int_equal(run("check", MATRIX, NULL), COMMAND_PASSED);
    said(fixture.out, "PASS  " MATRIX " [role=client transport=rc]  a matrix\n");
    said(fixture.out, "4 passed, 0 failed, 0 skipped");
    assert_int_equal(run("check", MATRIX, "--shard", "2/3", NULL), COMMAND_PASSED);
    assert_string_equal(fixture.out, "PASS  " MATRIX " [role=server transport=tcp]  a matrix\n"
                                     "1 passed, 0 failed, 0 skipped\n");
    assert_int_equal(run("check", MATRIX, "--cell", "role=client", NULL), COMMAND_PASSED);
    said(fixture.out, "2 passed, 0 failed, 0 skipped");
    assert_int_equal(run("run", MATRIX, "--shard", "4/3", NULL), COMMAND_USAGE);
    said(fixture.err, "--shard: found '4'; a number from 1 to 3 is expected");
    assert_int_equal(run("run", MATRIX, "--shard", "4", NULL), COMMAND_USAGE);
    said(fixture.err, "--shard: found '4'; a part such as 1/4 is expected");
}

/* A label that no matrix has selects nothing by mistake; labels that no cell unites, by right. */
static void a_label_that_no_matrix_has_is_a_mistake(void **state)
{
    (void)state;
    assert_int_equal(run("check", MATRIX, "--cell", "rol=server", NULL), COMMAND_USAGE);
    said(fixture.err, "--cell: no matrix has 'rol=server'; did you mean 'role=server'?");
    assert_int_equal(run("check", MATRIX, GOOD, "--cell", "role=nobody", NULL), COMMAND_USAGE);
    said(fixture.err, "'role=nobody'; one of these is expected: role=server transport=rc");
    assert_int_equal(run("check", GOOD, "--cell", "role=server", NULL), COMMAND_USAGE);
    said(fixture.err, "--cell: none of these files has a matrix");
    assert_int_equal(run("check", MATRIX, "--cell", "role=server role=client", NULL),
                     COMMAND_NOTHING);
}

static void a_cell_that_cannot_be_read_is_named(void **state)
{
    (void)state;
    assert_int_equal(run("check", "tests/bad/unknown-variable.yaml", NULL), COMMAND_INVALID);
    said(fixture.out, "FAIL  tests/bad/unknown-variable.yaml [role=client transport=rc]");
    said(fixture.out, "0 passed, 2 failed, 0 skipped");
}

static void results_are_written_as_junit_too(void **state)
{
    (void)state;
    char path[] = "/tmp/memkv-junit-XXXXXX", detail[FILES_DETAIL];
    struct text found = {0};
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(run("run", GOOD, SKIPPED, "--without", "sm", "--junit", path, NULL),
                     COMMAND_PASSED);
    assert_true(file_read(path, &found, detail));
    unlink(path);
    said(text_data(&found), "tests=\"2\" failures=\"0\" errors=\"0\" skipped=\"1\"");
    said(text_data(&found), "classname=\"" GOOD "\" name=\"a good one (fake)\"");
    said(text_data(&found), "<skipped message=\"fabric fake lacks: sm\">fabric fake lacks: sm\n");
    text_free(&found);
    assert_int_equal(run("run", GOOD, "--junit", "/nowhere/x", NULL), COMMAND_FAILED);
    said(fixture.err, "cannot write /nowhere/x");
    assert_int_equal(run("run", GOOD, "--junit", "/dev/full", NULL), COMMAND_FAILED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_passing_file_is_one_line_and_a_count, setup),
        cmocka_unit_test_setup(a_failure_shows_place_trace_and_replay, setup),
        cmocka_unit_test_setup(a_replay_repeats_what_was_taken_away, setup),
        cmocka_unit_test_setup(nothing_that_ran_is_a_code_of_its_own, setup),
        cmocka_unit_test_setup(an_invalid_file_outweighs_a_failed_one, setup),
        cmocka_unit_test_setup(a_hurried_run_stops_at_the_first_failure, setup),
        cmocka_unit_test_setup(a_wrong_word_gets_the_nearest_right_one, setup),
        cmocka_unit_test_setup(wrong_use_is_usage, setup),
        cmocka_unit_test_setup(help_names_fields_words_and_errors, setup),
        cmocka_unit_test_setup(json_is_one_object, setup),
        cmocka_unit_test_setup(a_run_that_differs_the_second_time_is_broken, setup),
        cmocka_unit_test_setup(a_trace_goes_to_its_file, setup),
        cmocka_unit_test_setup(an_interrupt_ends_with_130, setup),
        cmocka_unit_test_setup(a_terminal_gets_colour_and_short_lines, setup),
        cmocka_unit_test_setup(results_that_nobody_can_read_are_no_success, setup),
        cmocka_unit_test_setup(jobs_keep_the_order_of_files, setup),
        cmocka_unit_test_setup(a_worker_that_dies_is_a_broken_case, setup),
        cmocka_unit_test_setup(the_cells_of_a_matrix_are_cases, setup),
        cmocka_unit_test_setup(a_label_that_no_matrix_has_is_a_mistake, setup),
        cmocka_unit_test_setup(a_cell_that_cannot_be_read_is_named, setup),
        cmocka_unit_test_setup(results_are_written_as_junit_too, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
