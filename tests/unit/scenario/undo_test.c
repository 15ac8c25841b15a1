/* SPDX-License-Identifier: Apache-2.0 */
/* What was done to a machine is taken back, whoever died meanwhile (HA-4.4). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fabric_hw/os/children.h"
#include "src/scenario/undo.h"

static struct remote_host host;
static char folder[64], journal[96], log_path[96];
static struct undo undo;

static int setup(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/memkv-undo.XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(journal, sizeof journal, "%s/journal", folder);
    snprintf(log_path, sizeof log_path, "%s/log", folder);
    assert_true(os_children_create(false, &host));
    undo_open(&undo, &host, journal);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    undo_free(&undo);
    host.remove(host.context, folder);
    os_children_destroy(&host);
    return 0;
}

/* One command that writes a word to the log, then ends with `status`. */
static json_t *writes(const char *first, const char *word, int status)
{
    char line[256];
    snprintf(line, sizeof line, "echo %s >>%s; exit %d", word, log_path, status);
    return json_pack("[[s, s, s]]", first, "-c", line);
}

static void push(const char *first, const char *word, int status)
{
    json_t *commands = writes(first, word, status);
    assert_true(undo_push(&undo, commands));
    json_decref(commands);
}

static const char *content(const char *path)
{
    static char text[512];
    return host.read(host.context, path, text, sizeof text) ? text : "(none)";
}

static void the_latest_is_taken_back_first(void **state)
{
    char detail[REMOTE_DETAIL] = "";
    (void)state;
    push("sh", "one", 0);
    push("sh", "two", 0);
    push("sh", "one", 0); /* there already */
    assert_int_equal(undo_count(&undo), 2);
    assert_true(undo_all(&undo, detail));
    assert_string_equal(content(log_path), "two\none\n");
    assert_string_equal(content(journal), "(none)");
    assert_true(undo_all(&undo, detail)); /* nothing is left to do */
    assert_string_equal(content(log_path), "two\none\n");
}

static void another_process_finds_it_on_the_disk(void **state)
{
    char detail[REMOTE_DETAIL] = "";
    struct undo other;
    (void)state;
    push("sh", "one", 0);
    push("sh", "two", 0);
    undo_open(&other, &host, journal);
    assert_int_equal(undo_count(&other), 2);
    assert_true(undo_all(&other, detail));
    undo_free(&other);
    assert_string_equal(content(log_path), "two\none\n");
}

static void what_fails_stays_and_the_rest_is_taken_back(void **state)
{
    char detail[REMOTE_DETAIL] = "";
    (void)state;
    push("sh", "one", 0);
    push("sh", "two", 5);
    push("-sh", "three", 5); /* may fail */
    assert_false(undo_all(&undo, detail));
    assert_non_null(strstr(detail, "ended with 5"));
    assert_string_equal(content(log_path), "three\ntwo\none\n");
    assert_int_equal(undo_count(&undo), 1);
    assert_non_null(strstr(content(journal), "two"));
    assert_null(strstr(content(journal), "three"));
}

static void removes_nothing(void *context, const char *path)
{
    (void)context;
    fail_msg("%s was removed", path);
}

/* Whoever is killed between a removal and what is written anew would leave nothing to undo. */
static void a_journal_with_something_left_is_never_away(void **state)
{
    char detail[REMOTE_DETAIL] = "";
    struct remote_host careful = host;
    struct undo other;
    (void)state;
    push("sh", "one", 5);
    push("sh", "two", 0);
    careful.remove = removes_nothing;
    undo_open(&other, &careful, journal);
    assert_false(undo_all(&other, detail));
    undo_free(&other);
    assert_non_null(strstr(content(journal), "one"));
    assert_null(strstr(content(journal), "two"));
}

static void a_line_that_is_no_command_is_told_and_stays(void **state)
{
    char detail[REMOTE_DETAIL] = "";
    struct undo other;
    (void)state;
    assert_true(host.append(host.context, journal, "[[\"sh\",5]]"));
    undo_open(&other, &host, journal);
    assert_false(undo_all(&other, detail));
    assert_string_equal(detail, "a command whose word 2 is no text");
    assert_int_equal(undo_count(&other), 1);
    undo_free(&other);
}

/* They would be run as whoever takes back. */
static void the_commands_of_others_are_not_run(void **state)
{
    char detail[REMOTE_DETAIL] = "", link[96], theirs[128];
    struct undo other;
    (void)state;
    push("sh", "one", 0);
    snprintf(link, sizeof link, "%s/link", folder);
    snprintf(theirs, sizeof theirs, "%s/journal", link);
    assert_int_equal(symlink(folder, link), 0);
    undo_open(&other, &host, theirs);
    assert_int_equal(undo_count(&other), 0);
    undo_free(&other);
    assert_int_equal(chmod(folder, 0777), 0);
    undo_open(&other, &host, journal);
    assert_int_equal(undo_count(&other), 0);
    json_t *commands = writes("sh", "two", 0);
    assert_false(undo_push(&other, commands));
    json_decref(commands);
    undo_free(&other);
    assert_int_equal(chmod(folder, 0700), 0);
    undo_open(&other, &host, journal);
    assert_true(undo_all(&other, detail));
    undo_free(&other);
    assert_string_equal(content(log_path), "one\n");
}

static void a_value_is_read_before_it_is_changed(void **state)
{
    char value[96], detail[REMOTE_DETAIL] = "", word[256];
    (void)state;
    snprintf(value, sizeof value, "%s/mtu", folder);
    assert_true(host.append(host.context, value, "1500 bytes"));
    snprintf(word, sizeof word, "x{read:%s}y", value);
    json_t *commands = json_pack("[[s, s]]", "echo", word);
    assert_true(undo_push(&undo, commands));
    json_decref(commands);
    assert_non_null(strstr(content(journal), "[\"echo\",\"x1500y\"]"));
    assert_true(undo_all(&undo, detail));
}

static void nothing_is_done_when_what_it_was_cannot_be_read(void **state)
{
    (void)state;
    json_t *commands = json_pack("[[s, s]]", "echo", "x{read:/proc/nowhere/mtu}y");
    assert_false(undo_push(&undo, commands));
    json_decref(commands);
    assert_int_equal(undo_count(&undo), 0);
    assert_string_equal(content(journal), "(none)");
}

static void nothing_is_done_where_nothing_can_be_written(void **state)
{
    struct undo nowhere;
    json_t *commands = writes("sh", "one", 0);
    (void)state;
    undo_open(&nowhere, &host, "/proc/nowhere/journal");
    assert_false(undo_push(&nowhere, commands));
    assert_int_equal(undo_count(&nowhere), 0);
    undo_free(&nowhere);
    json_decref(commands);
}

static void commands_end_with_the_first_that_fails(void **state)
{
    char detail[REMOTE_DETAIL] = "";
    json_t *commands = json_array();
    (void)state;
    json_t *parts[] = {writes("sh", "one", 0), writes("sh", "two", 3), writes("sh", "three", 0)};
    for (size_t i = 0; i < 3; i++) {
        json_array_extend(commands, parts[i]);
        json_decref(parts[i]);
    }
    assert_false(undo_run_commands(&host, commands, detail));
    assert_string_equal(content(log_path), "one\ntwo\n");
    json_decref(commands);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_latest_is_taken_back_first, setup, teardown),
        cmocka_unit_test_setup_teardown(another_process_finds_it_on_the_disk, setup, teardown),
        cmocka_unit_test_setup_teardown(what_fails_stays_and_the_rest_is_taken_back, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_journal_with_something_left_is_never_away, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_line_that_is_no_command_is_told_and_stays, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(the_commands_of_others_are_not_run, setup, teardown),
        cmocka_unit_test_setup_teardown(a_value_is_read_before_it_is_changed, setup, teardown),
        cmocka_unit_test_setup_teardown(nothing_is_done_when_what_it_was_cannot_be_read, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(nothing_is_done_where_nothing_can_be_written, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(commands_end_with_the_first_that_fails, setup, teardown),
    };
    return cmocka_run_group_tests_name("undo", tests, NULL, NULL);
}
