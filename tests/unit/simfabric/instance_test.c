/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fabric_sim/simfabric/instance.h"
#include "fabric_sim/simfabric/tree.h"

static int setup(void **state)
{
    static char folder[64];
    strcpy(folder, "/tmp/simfabric-test-XXXXXX");
    assert_non_null(mkdtemp(folder));
    *state = folder;
    return 0;
}

static int teardown(void **state)
{
    return tree_delete(*state) ? 0 : -1;
}

static void put_record(const struct instance *instance, long pid, const char *start)
{
    FILE *file = fopen(instance->record, "w");
    assert_non_null(file);
    assert_true(fprintf(file, "%ld %s\n", pid, start) > 0);
    assert_int_equal(fclose(file), 0);
}

static void a_name_is_a_word_and_the_places_lie_below_the_runtime_folder(void **state)
{
    struct instance instance;
    const char *bad[] = {"",     ".",   "..", "a/b",
                         "../x", "a b", "-x", "a-name-that-is-longer-than-thirty-one"};
    char expected[128];
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_false(instance_at(&instance, bad[i], *state));
    assert_true(instance_at(&instance, "my_fab-1.x", *state));
    snprintf(expected, sizeof(expected), "%s/simfabric/my_fab-1.x/socket", (const char *)*state);
    assert_string_equal(instance.socket, expected);
}

static void a_fabric_is_run_by_the_process_that_was_recorded(void **state)
{
    struct instance instance;
    assert_true(instance_at(&instance, "one", *state));
    assert_false(instance_is_there(&instance));
    assert_int_equal(instance_runner(&instance), 0);
    assert_true(instance_claim(&instance));
    assert_true(instance_is_there(&instance));
    assert_false(instance_claim(&instance));
    assert_int_equal(errno, EBUSY);
    assert_int_equal(instance_runner(&instance), getpid());
    assert_false(instance_clean(&instance)); /* it lives */
    assert_int_equal(errno, EBUSY);
    assert_true(instance_is_there(&instance));
    assert_true(instance_end(&instance));
    assert_false(instance_is_there(&instance));
}

static void a_number_with_another_start_is_a_stranger(void **state)
{
    struct instance instance;
    assert_true(instance_at(&instance, "one", *state));
    assert_true(instance_claim(&instance));
    put_record(&instance, getpid(), "1");
    assert_int_equal(instance_runner(&instance), 0);
    put_record(&instance, 0, "0");
    assert_int_equal(instance_runner(&instance), 0);
    put_record(&instance, -1, "nonsense");
    assert_int_equal(instance_runner(&instance), 0);
    assert_true(instance_clean(&instance));
    assert_false(instance_is_there(&instance));
}

static void clean_up_leaves_what_is_beside_it(void **state)
{
    struct instance one, two;
    char path[256];
    struct stat status;
    assert_true(instance_at(&one, "one", *state));
    assert_true(instance_at(&two, "two", *state));
    assert_true(instance_claim(&one) && instance_claim(&two));
    snprintf(path, sizeof(path), "%s/link", one.folder);
    assert_int_equal(symlink(two.folder, path), 0); /* is removed, not followed */
    put_record(&one, 0, "0");
    put_record(&two, 0, "0");
    assert_true(instance_clean(&one));
    assert_false(instance_is_there(&one));
    assert_int_equal(stat(two.record, &status), 0);
}

static void a_runtime_folder_that_others_write_is_not_used(void **state)
{
    struct instance instance;
    char path[96];
    snprintf(path, sizeof(path), "%s/simfabric", (const char *)*state);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(chmod(path, 0777), 0);
    assert_true(instance_at(&instance, "one", *state));
    assert_false(instance_claim(&instance));
    assert_int_equal(errno, EPERM);
}

/* Whether the process waits for a lock of a whole file; lines of waiters begin with an arrow. */
static bool waits_for_lock(pid_t pid)
{
    char line[256], waiter[32];
    bool found = false;
    FILE *file = fopen("/proc/locks", "r");
    snprintf(waiter, sizeof(waiter), " %ld ", (long)pid);
    assert_non_null(file);
    while (fgets(line, sizeof(line), file))
        found = found || (strstr(line, "-> FLOCK") && strstr(line, waiter));
    fclose(file);
    return found;
}

static void a_claim_waits_until_the_command_before_it_has_ended(void **state)
{
    struct instance instance;
    char base[96];
    int status;
    assert_true(instance_at(&instance, "one", *state));
    snprintf(base, sizeof(base), "%s/simfabric", (const char *)*state);
    assert_int_equal(mkdir(base, 0700), 0);
    int held = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(held >= 0);
    assert_int_equal(flock(held, LOCK_EX), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(instance_claim(&instance) ? 0 : 1);
    while (!waits_for_lock(child))
        assert_int_equal(waitpid(child, &status, WNOHANG), 0); /* else it did not wait */
    assert_false(instance_is_there(&instance));
    assert_int_equal(flock(held, LOCK_UN), 0); /* the child has a copy of the descriptor */
    assert_int_equal(close(held), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_true(instance_is_there(&instance));
}

/* Claims the name and gives it back again and again; the exit status of the process. */
static int contend(const struct instance *instance, const char *mark)
{
    for (int i = 0; i < 300; i++) {
        if (!instance_claim(instance)) {
            if (errno != EBUSY)
                return 1;
            continue;
        }
        int fd = open(mark, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd < 0 || close(fd) != 0 || unlink(mark) != 0)
            return 2; /* another process runs it too */
        if (instance_runner(instance) != getpid() || !instance_end(instance))
            return 3;
    }
    return 0;
}

static void of_processes_that_claim_a_name_at_once_one_has_it(void **state)
{
    struct instance instance;
    pid_t children[4];
    char mark[96];
    int status;
    assert_true(instance_at(&instance, "one", *state));
    snprintf(mark, sizeof(mark), "%s/mark", (const char *)*state);
    for (size_t i = 0; i < 4; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0)
            _exit(contend(&instance, mark));
    }
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            a_name_is_a_word_and_the_places_lie_below_the_runtime_folder, setup, teardown),
        cmocka_unit_test_setup_teardown(a_fabric_is_run_by_the_process_that_was_recorded, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_number_with_another_start_is_a_stranger, setup, teardown),
        cmocka_unit_test_setup_teardown(clean_up_leaves_what_is_beside_it, setup, teardown),
        cmocka_unit_test_setup_teardown(a_claim_waits_until_the_command_before_it_has_ended, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(of_processes_that_claim_a_name_at_once_one_has_it, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_runtime_folder_that_others_write_is_not_used, setup,
                                        teardown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
