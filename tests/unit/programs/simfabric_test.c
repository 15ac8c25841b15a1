/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program as people type it (HA-3.1, HA-3.3): fabrics come up and go, programs run on
 * their nodes, and nothing is left behind.
 */
#define _DEFAULT_SOURCE /* major, minor */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fabric_sim/simfabric/instance.h"
#include "tests/support/simfabric_place.h"

#define NETLINK 16 /* AF_NETLINK */
#define NETLINK_ROUTE 0
#define NETLINK_RDMA 20

static void a_fabric_comes_up_tells_its_ports_and_goes(void **state)
{
    struct place *place = *state;
    bring_up(place, "default");
    assert_string_equal(place->output, "simfabric: up name=default nodes=2 ports=2 active=2\n");
    assert_int_equal(shell(place, "$S status"), 0);
    assert_true(said(place, "n1           mlx5_0/1 ACTIVE"));
    assert_true(said(place, "n2           mlx5_0/1 ACTIVE"));
    assert_int_equal(shell(place, "$S up %s/pair.yaml", place->folder), 1);
    assert_true(said(place, "exists: fabric 'default' is up already"));
    assert_int_equal(shell(place, "$S down"), 0);
    assert_int_equal(shell(place, "ls %s/simfabric", place->folder), 0);
    assert_string_equal(place->output, "");
    assert_int_equal(shell(place, "$S status"), 4);
    assert_int_equal(shell(place, "$S down"), 4);
}

static void what_a_killed_fabric_left_is_cleaned_up_and_its_neighbour_lives_on(void **state)
{
    struct place *place = *state;
    struct instance instance;
    assert_true(instance_at(&instance, "default", place->folder));
    bring_up(place, "other");
    for (int i = 0; i < 2; i++) {
        bring_up(place, "default"); /* the second time over what the first one left */
        pid_t pid = instance_runner(&instance);
        assert_true(pid > 1);
        assert_int_equal(kill(pid, SIGKILL), 0);
        while (instance_runner(&instance) != 0)
            continue;
        assert_true(instance_is_there(&instance));
    }
    assert_int_equal(shell(place, "$S exec --node n1 -- true"), 125);
    assert_int_equal(shell(place, "$S down"), 0);
    assert_false(instance_is_there(&instance));
    assert_int_equal(shell(place, "$S status --name other"), 0);
    assert_true(said(place, "ACTIVE"));
}

static void programs_hear_of_what_a_fault_word_changes(void **state)
{
    struct place *place = *state;
    need_node(place);
    need_program(place, "ibv_asyncwatch");
    assert_int_equal(
        shell(place,
              "$S exec --node n1 -- stdbuf -oL ibv_asyncwatch >%s/heard & watch=$!; "
              "until $S status | grep -q 'n1 .*opened 1 objects [1-9]'; do :; done; "
              "$S ctl lid_set n1 77; $S ctl pkey_set n1 1 0x8005; $S ctl port_down n1; "
              "for event in LID_CHANGE PKEY_CHANGE PORT_ERR; do "
              "until grep -q IBV_EVENT_$event %s/heard; do :; done; done; "
              "$S ctl process_kill n1; wait $watch",
              place->folder, place->folder),
        137);
}

static void the_exit_status_and_the_signal_of_a_program_are_its_own(void **state)
{
    struct place *place = *state;
    need_node(place);
    assert_int_equal(shell(place, "$S exec --node n1 -- true"), 0);
    assert_int_equal(shell(place, "$S exec --node n1 -- sh -c 'exit 7'"), 7);
    assert_int_equal(shell(place, "$S exec --node n1 -- sh -c 'kill -TERM $$'"), 143);
    assert_int_equal(shell(place, "$S exec --node n1 -- /no/such/program"), 127);
    assert_int_equal(shell(place, "$S exec --node n1 -- /etc/passwd"), 126);
    assert_int_equal(shell(place, "$S exec --node n3 -- true"), 125);
    assert_true(said(place, "no node 'n3'"));
    assert_int_equal(shell(place, "$S exec --name other --node n1 -- true"), 125);
}

static void a_program_finds_the_node_and_nothing_of_the_host(void **state)
{
    struct place *place = *state;
    need_node(place);
    int status = shell(place, "$S exec --node n1 -- %s --look", place->self);
    if (status != 0)
        print_message("%s", place->output);
    assert_int_equal(status, 0);
}

/* Both ends; the client tries until the server listens. */
static void pingpong(struct place *place, const char *words)
{
    unsigned port = place->port++;
    need_program(place, "ibv_rc_pingpong");
    int status = shell(place,
                       "timeout 60 $S exec --node n1 -- %s -n 200 -p %u & for i in $(seq 500); do "
                       "timeout 60 $S exec --node n2 -- %s -n 200 -p %u 127.0.0.1 && break; done "
                       "&& wait $!",
                       words, port, words, port);
    if (status != 0)
        print_message("%s: %s", words, place->output);
    assert_int_equal(status, 0);
    assert_true(said(place, "200 iters in"));
}

static void a_program_that_would_not_load_the_plug_in_is_refused(void **state)
{
    struct place *place = *state;
    char path[96];
    Elf64_Ehdr head = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64}};
    need_node(place);
    snprintf(path, sizeof(path), "%s/static", place->folder);
    for (int i = 0; i < 2; i++) {
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        assert_int_equal(fwrite(&head, sizeof(head), 1, file), 1);
        fclose(file);
        assert_int_equal(chmod(path, 0755), 0);
        assert_int_equal(shell(place, "$S exec --node n1 -- %s", path), 126);
        assert_true(said(place, i ? "is a 32-bit program" : "/static is linked statically"));
        assert_int_equal(shell(place, "PATH=%s:$PATH $S exec --node n1 -- static", place->folder),
                         126);
        head.e_ident[EI_CLASS] = ELFCLASS32;
    }
}

static void the_adapters_of_a_machine_that_has_its_own_are_not_seen(void **state)
{
    struct place *place = *state;
    need_node(place);
    if (geteuid() != 0)
        skip(); /* an ordinary user cannot pretend that the machine has any */
    assert_int_equal(
        shell(place, "unshare --mount sh -c 'mount -t tmpfs none /sys/class && mkdir -p "
                     "/sys/class/infiniband/mlx5_9 /sys/class/infiniband_mad /sys/class/net && "
                     "'$S' exec --node n1 -- ls /sys/class /sys/class/infiniband'"),
        0);
    assert_string_equal(place->output, "/sys/class:\ninfiniband\ninfiniband_verbs\nnet\n\n"
                                       "/sys/class/infiniband:\nmlx5_0\n");
}

static void a_libibverbs_of_another_private_abi_is_told(void **state)
{
    struct place *place = *state;
    need_node(place);
    if (shell(place,
              "cp $(ldd %s | sed -n 's/.*libc.so.6 => \\([^ ]*\\).*/\\1/p') "
              "%s/libibverbs.so.1",
              place->self, place->folder) != 0)
        skip();
    assert_int_equal(shell(place, "LD_LIBRARY_PATH=%s $S exec --node n1 -- true", place->folder),
                     0);
    assert_true(
        said(place, "unsupported_version: libibverbs here has another private ABI than 34"));
    assert_int_equal(shell(place, "$S exec --node n1 -- true"), 0);
    assert_string_equal(place->output, "");
}

static void a_shell_on_a_node_says_where_it_is(void **state)
{
    struct place *place = *state;
    assert_int_equal(shell(place, "$S shell"), 2);
    assert_int_equal(shell(place, "env -u SHELL $S shell --node n1"), 125);
    need_node(place);
    assert_int_equal(shell(place, "echo 'echo $SIMFABRIC_NODE/$PS1; exit 7' | "
                                  "SHELL=/bin/sh $S shell --node n1"),
                     7);
    assert_true(said(place, "n1/[n1 of default] $"));
    need_program(place, "bash");
    assert_int_equal(shell(place,
                           "echo 'echo \"=$PS1=\"; exit 3' | HOME=%s SHELL=$(command -v bash)"
                           " $S shell --node n2",
                           place->folder),
                     3);
    assert_true(said(place, "=[n2 of default] \\w\\$ ="));
}

/* Without one the programs of an ordinary user could not copy between each other. */
static void the_programs_of_an_ordinary_user_share_one_user_namespace(void **state)
{
    static const char as_user[] = "XDG_RUNTIME_DIR=%s/user setpriv --reuid=65534 --regid=65534 "
                                  "--clear-groups";
    struct place *place = *state;
    char user[200];
    snprintf(user, sizeof(user), as_user, place->folder);
    if (geteuid() != 0)
        strcpy(user, "env");
    need_node(place);
    if (shell(place,
              "chmod 755 %s; mkdir %s/user && chown 65534 %s/user; %s test -x $S && "
              "%s unshare --map-current-user --mount true",
              place->folder, place->folder, place->folder, user, user) != 0)
        skip();
    int up = shell(place, "cat %s/pair.yaml | %s $S up -", place->folder, user);
    int found = shell(place,
                      "a=$(%s $S exec --node n1 -- readlink /proc/self/ns/user); "
                      "b=$(%s $S exec --node n2 -- readlink /proc/self/ns/user); "
                      "test -n \"$a\" && test \"$a\" = \"$b\" && "
                      "test \"$a\" != \"$(readlink /proc/self/ns/user)\" && "
                      "%s $S exec --node n1 -- %s --look",
                      user, user, user, place->self);
    int down = shell(place, "%s $S down", user); /* before anything can fail */
    assert_int_equal(up, 0);
    assert_int_equal(found, 0);
    assert_int_equal(down, 0);
}

static void programs_of_others_see_the_device(void **state)
{
    struct place *place = *state;
    need_node(place);
    need_program(place, "ibv_devinfo");
    assert_int_equal(shell(place, "$S exec --node n1 -- ibv_devices"), 0);
    assert_true(said(place, "mlx5_0"));
    assert_int_equal(shell(place, "$S exec --node n1 -- ibv_devinfo -v"), 0);
    assert_true(said(place, "PORT_ACTIVE"));
    assert_true(said(place, "link_layer:\t\tInfiniBand"));
    assert_true(said(place, "GID[  0]:\t\tfe80:0000:0000:0000:"));
}

static void reliable_connections_carry_bytes_between_two_programs(void **state)
{
    struct place *place = *state;
    need_node(place);
    pingpong(place, "ibv_rc_pingpong -c");
    pingpong(place, "ibv_rc_pingpong -e -c");
    pingpong(place, "ibv_rc_pingpong -N -c");
    assert_int_equal(shell(place,
                           "for i in $(seq 2000); do test $(cat %s/simfabric/default/nodes/n1/"
                           "sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_packets) "
                           "-gt 600 && exit 0; done; exit 1",
                           place->folder),
                     0);
    pingpong(place, "ibv_rc_pingpong -c -s 100000 -m 4096 -g 0");
}

static void the_other_kinds_of_queue_pair_carry_bytes_too(void **state)
{
    struct place *place = *state;
    need_node(place);
    pingpong(place, "ibv_uc_pingpong -c");
    pingpong(place, "ibv_ud_pingpong -c");
    pingpong(place, "ibv_ud_pingpong -e");
    pingpong(place, "ibv_srq_pingpong -c");
    pingpong(place, "ibv_srq_pingpong -e");
}

static void a_program_without_descriptors_is_told_so(void **state)
{
    struct place *place = *state;
    need_node(place);
    need_program(place, "ibv_devinfo");
    assert_int_equal(
        shell(place,
              "(ulimit -n 7; exec $S exec --node n1 -- ibv_devinfo -d mlx5_0); test $? -lt 128"),
        0);
    assert_true(said(place, "mlx5_0 cannot be opened: Too many open files"));
    int status = shell(place, "$S exec --node n1 -- %s --crowd", place->self);
    if (status != 0)
        print_message("%s", place->output);
    assert_int_equal(status, 0);
}

static void what_a_killed_program_had_is_given_back(void **state)
{
    struct place *place = *state;
    need_node(place);
    need_program(place, "ibv_rc_pingpong");
    assert_int_equal(shell(place,
                           "$S exec --node n1 -- ibv_rc_pingpong -p %u & "
                           "until $S status | grep -q 'n1 .*opened 1 objects [5-9]'; do :; done; "
                           "kill -9 $!; until $S status | grep -q 'n1 .*opened 0 objects 0'; "
                           "do :; done",
                           place->port++),
                     0);
    assert_int_equal(shell(place, "$S status"), 0);
    pingpong(place, "ibv_rc_pingpong");
}

/* ------------------------------------------------------------------ on the node */

static int wrong(const char *what)
{
    printf("%s\n", what);
    return 1;
}

static int look(void)
{
    struct stat status;
    char line[256];
    bool filtered = false;
    FILE *file;
    if (stat("/dev/infiniband/uverbs1", &status) != 0 || !S_ISCHR(status.st_mode) ||
        major(status.st_rdev) != 1 || minor(status.st_rdev) != 3)
        return wrong("no device file");
    file = fopen("/sys/class/infiniband/mlx5_0/ports/1/state", "r");
    if (!file || !fgets(line, sizeof(line), file) || strcmp(line, "4: ACTIVE\n") != 0)
        return wrong("no device in /sys/class");
    fclose(file);
    if (stat("/sys/class/net/lo", &status) != 0)
        return wrong("the rest of /sys/class is gone");
    if (stat("/dev/zero", &status) != 0 || stat("/dev/fd", &status) != 0)
        return wrong("the rest of /dev is gone");
    if (!getenv("SYSFS_PATH") || !getenv("RDMAV_DRIVERS") || !getenv("SIMFABRIC_SOCKET"))
        return wrong("no environment");
    file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof(line), file))
        filtered = filtered || strcmp(line, "Seccomp:\t2\n") == 0;
    if (file)
        fclose(file);
    if (!filtered || socket(NETLINK, SOCK_RAW, NETLINK_RDMA) >= 0 || errno != EPROTONOSUPPORT)
        return wrong("the kernel can be asked for devices");
    if (socket(NETLINK, SOCK_RAW, NETLINK_ROUTE) < 0)
        return wrong("the kernel can be asked for nothing");
    return 0;
}

/* Makes completion channels until there are no descriptors; without the headers of libibverbs. */
static int crowd(void)
{
    const struct rlimit few = {.rlim_cur = 32, .rlim_max = 32};
    void *library = dlopen("libibverbs.so.1", RTLD_NOW);
    if (!library || setrlimit(RLIMIT_NOFILE, &few) != 0)
        return wrong("no libibverbs");
    void **(*list)(int *count) =
        (void **(*)(int *))(uintptr_t)dlsym(library, "ibv_get_device_list");
    void *(*open_device)(void *device) =
        (void *(*)(void *))(uintptr_t)dlsym(library, "ibv_open_device");
    void *(*channel)(void *context) =
        (void *(*)(void *))(uintptr_t)dlsym(library, "ibv_create_comp_channel");
    void **devices = list ? list(NULL) : NULL;
    void *context = devices && devices[0] && open_device ? open_device(devices[0]) : NULL;
    if (!context || !channel)
        return wrong("no device");
    int made = 0;
    while (made < 32 && channel(context))
        made++;
    return made > 0 && made < 32 && errno == EMFILE ? 0 : wrong("channels have no end");
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, place_setup, place_teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_fabric_comes_up_tells_its_ports_and_goes),
        TEST(what_a_killed_fabric_left_is_cleaned_up_and_its_neighbour_lives_on),
        TEST(programs_hear_of_what_a_fault_word_changes),
        TEST(the_exit_status_and_the_signal_of_a_program_are_its_own),
        TEST(a_program_finds_the_node_and_nothing_of_the_host),
        TEST(a_program_that_would_not_load_the_plug_in_is_refused),
        TEST(the_adapters_of_a_machine_that_has_its_own_are_not_seen),
        TEST(a_libibverbs_of_another_private_abi_is_told),
        TEST(a_shell_on_a_node_says_where_it_is),
        TEST(the_programs_of_an_ordinary_user_share_one_user_namespace),
        TEST(programs_of_others_see_the_device),
        TEST(reliable_connections_carry_bytes_between_two_programs),
        TEST(the_other_kinds_of_queue_pair_carry_bytes_too),
        TEST(a_program_without_descriptors_is_told_so),
        TEST(what_a_killed_program_had_is_given_back)};
    if (argc == 2 && strcmp(argv[1], "--look") == 0)
        return look();
    if (argc == 2 && strcmp(argv[1], "--crowd") == 0)
        return crowd();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
