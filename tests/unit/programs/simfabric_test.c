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
#include "fabric_sim/simfabric/tree.h"

#define OUTPUT 16384
#define NETLINK 16 /* AF_NETLINK */
#define NETLINK_ROUTE 0
#define NETLINK_RDMA 20

struct place {
    char folder[64], program[256], self[256];
    char output[OUTPUT];
    unsigned port; /* of TCP, for programs that exchange addresses over it */
};

/* Runs a shell command in which $S is simfabric; its exit status. What it said is in `output`. */
__attribute__((format(printf, 2, 3))) static int shell(struct place *place, const char *format, ...)
{
    char command[1024], full[2048], path[96];
    va_list values;
    va_start(values, format);
    vsnprintf(command, sizeof(command), format, values);
    va_end(values);
    snprintf(path, sizeof(path), "%s/output", place->folder);
    snprintf(full, sizeof(full), "{ S=%s; %s; } >%s 2>&1", place->program, command, path);
    int status = system(full);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    place->output[fread(place->output, 1, OUTPUT - 1, file)] = '\0';
    fclose(file);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static bool said(const struct place *place, const char *text)
{
    return strstr(place->output, text) != NULL;
}

static int setup(void **state)
{
    static struct place place;
    char topology[96];
    strcpy(place.folder, "/tmp/simfabric-program-XXXXXX");
    assert_non_null(mkdtemp(place.folder));
    assert_true(readlink("/proc/self/exe", place.self, sizeof(place.self) - 1) > 0);
    snprintf(place.program, sizeof(place.program), "%s", place.self);
    char *tests = strstr(place.program, "/tests/unit/");
    assert_non_null(tests);
    strcpy(tests, "/simfabric");
    assert_int_equal(setenv("XDG_RUNTIME_DIR", place.folder, 1), 0);
    snprintf(topology, sizeof(topology), "%s/pair.yaml", place.folder);
    FILE *file = fopen(topology, "w");
    assert_non_null(file);
    assert_true(fputs("nodes: {n1: {}, n2: {}}\n", file) >= 0);
    fclose(file);
    place.port = 20000 + (unsigned)getpid() % 20000;
    *state = &place;
    return 0;
}

static int teardown(void **state)
{
    struct place *place = *state;
    (void)shell(place, "$S down; $S down --name other");
    return tree_delete(place->folder) ? 0 : -1;
}

static void bring_up(struct place *place, const char *name)
{
    int status = shell(place, "$S up %s/pair.yaml --seed 3 --name %s", place->folder, name);
    if (status != 0)
        print_message("%s", place->output);
    assert_int_equal(status, 0);
}

/* Some places allow no mount namespaces: what needs them is left out there. */
static void need_namespaces(struct place *place)
{
    if (shell(place, "unshare %s --mount true", geteuid() == 0 ? "" : "--map-current-user") != 0)
        skip();
}

static void need_node(struct place *place)
{
    char plugin[300];
    snprintf(plugin, sizeof(plugin), "%s-rdmav34.so", place->program);
    need_namespaces(place);
    if (access(plugin, R_OK) != 0)
        skip(); /* built without rdma-core, or with a sanitizer */
    bring_up(place, "default");
}

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

static void what_is_typed_wrong_is_told(void **state)
{
    struct place *place = *state;
    assert_int_equal(shell(place, "$S"), 2);
    assert_int_equal(shell(place, "$S upp"), 2);
    assert_true(said(place, "did you mean up"));
    assert_int_equal(shell(place, "$S up"), 2);
    assert_int_equal(shell(place, "$S up --sed 3 x"), 2);
    assert_true(said(place, "did you mean --seed"));
    assert_int_equal(shell(place, "$S up --seed 18446744073709551616 x"), 2);
    assert_int_equal(shell(place, "$S down other"), 2);
    assert_true(said(place, "too many: other"));
    assert_int_equal(shell(place, "$S status -- true"), 2);
    assert_int_equal(shell(place, "$S exec --node n1 x -- true"), 2);
    assert_int_equal(shell(place, "$S status --name a/b"), 2);
    assert_int_equal(shell(place, "$S exec --node n1"), 2);
    assert_int_equal(shell(place, "$S exec -- true"), 2);
    assert_int_equal(shell(place, "$S up %s/none.yaml", place->folder), 3);
    assert_int_equal(shell(place, "$S up %s", place->folder), 3);
    assert_true(said(place, "Is a directory"));
    assert_int_equal(shell(place,
                           "echo 'nodes: {n1: {devices: {mlx5_0: {profile: nix}}}}' >%s/x; "
                           "$S up %s/x",
                           place->folder, place->folder),
                     3);
    assert_true(said(place, "profile"));
    assert_int_equal(
        shell(place, "echo 'nods: {}' >%s/x; $S up %s/x", place->folder, place->folder), 3);
    assert_true(said(place, "/x:1:1:"));
    assert_int_equal(shell(place, "$S help"), 0);
    assert_int_equal(shell(place, "$S help >/dev/full"), 1);
    assert_true(said(place, "cannot write to standard output"));
}

static void need_program(struct place *place, const char *program)
{
    if (shell(place, "command -v %s", program) != 0)
        skip();
}

static void fault_words_are_typed_and_taken_back(void **state)
{
    struct place *place = *state;
    assert_int_equal(shell(place, "$S ctl port_down n1"), 4);
    bring_up(place, "default");
    assert_int_equal(shell(place, "$S ctl port_down n1"), 0);
    assert_int_equal(shell(place, "$S status"), 0);
    assert_true(said(place, "n1           mlx5_0/1 DOWN"));
    assert_int_equal(shell(place, "$S ctl undo"), 0);
    assert_int_equal(shell(place, "until $S status | grep -q 'n1 .*ACTIVE'; do :; done"), 0);
    assert_int_equal(shell(place,
                           "$S ctl lid_set n1 77 && until grep -qx 0x4d %s/simfabric/"
                           "default/nodes/n1/sys/class/infiniband/mlx5_0/ports/1/lid; "
                           "do :; done",
                           place->folder),
                     0);
    assert_int_equal(shell(place, "$S ctl"), 2);
    assert_int_equal(shell(place, "$S ctl undo n1"), 2);
    assert_int_equal(shell(place, "$S ctl port_dwn n1"), 2);
    assert_true(said(place, "word 1, column 1: there is no fault word 'port_dwn'; did you mean "
                            "port_down\n  port_dwn n1\n  ^\n"));
    assert_int_equal(shell(place, "$S ctl loss n1 ppm=x"), 2);
    assert_true(said(place, "  loss n1 ppm=x\n              ^\n"));
    assert_int_equal(shell(place, "$S ctl disk_full n1"), 5);
    assert_true(said(place, "not_supported"));
    assert_int_equal(shell(place, "$S ctl process_kill n1"), 5);
    assert_int_equal(shell(place, "$S ctl --help"), 0);
    assert_true(said(place, "  pkey_set NODE INDEX PKEY [device=...] [port=...]\n"));
    assert_false(said(place, "disk_full"));
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

static void a_fabric_is_looked_into_and_drawn(void **state)
{
    struct place *place = *state;
    assert_int_equal(shell(place, "$S inspect"), 4);
    bring_up(place, "default");
    assert_int_equal(shell(place, "$S inspect"), 0);
    assert_true(said(place, "n2 mlx5_0: node_guid 0x"));
    assert_true(said(place, "  port 1: ACTIVE, InfiniBand, lid 1,"));
    assert_true(said(place, "P_Keys 0:0xffff\n"));
    assert_int_equal(shell(place, "$S inspect n1"), 0);
    assert_false(said(place, "n2 mlx5_0"));
    assert_int_equal(shell(place, "$S inspect n11"), 2);
    assert_true(said(place, "did you mean n1"));
    assert_int_equal(shell(place, "$S inspect --json"), 0);
    assert_true(said(place, "{\"version\":1,"));
    assert_int_equal(shell(place, "$S status -j"), 0);
    assert_true(said(place, "{\"node\":\"n1\",\"device\":\"mlx5_0\",\"port\":1,"
                            "\"state\":\"ACTIVE\",\"lid\":1,"));
    assert_int_equal(shell(place, "$S inspect --json >/dev/full"), 1);
    assert_int_equal(shell(place, "$S ctl port_down n2 && $S graph --format dot"), 0);
    assert_true(said(place, "\"ib/switch\" -- \"n1/mlx5_0\" [label=\"4X 100.0 Gb/s\""));
    assert_true(said(place, "-- \"n2/mlx5_0\" [label=\"4X 100.0 Gb/s, DOWN\""));
    assert_int_equal(shell(place, "$S graph --format mermaid"), 0);
    assert_true(said(place, "n0 ---|\"4X 100.0 Gb/s\"| n1"));
    assert_int_equal(shell(place, "$S graph --format html"), 0);
    assert_true(said(place, "stroke-dasharray"));
    assert_true(said(place, "</svg>\n</body>"));
    assert_int_equal(shell(place, "$S graph --format png"), 2);
}

static void topologies_are_generated_and_validated(void **state)
{
    struct place *place = *state;
    assert_int_equal(shell(place, "$S generate fat-tree --nodes 6 | $S up -"), 0);
    assert_true(said(place, "nodes=6 ports=6 active=6"));
    assert_int_equal(shell(place, "$S generate dragonfly --nodes 20 | $S validate -"), 0);
    assert_string_equal(place->output, "simfabric: valid file=- nodes=20 switches=12 links=21\n");
    assert_int_equal(shell(place, "$S generate fat-tre"), 2);
    assert_true(said(place, "did you mean fat-tree"));
    assert_int_equal(shell(place, "$S generate pair --nodes 0"), 2);
    assert_int_equal(shell(place, "$S generate"), 2);
    assert_int_equal(shell(place, "$S validate"), 2);
    assert_int_equal(shell(place, "echo 'nodes: {n1: {switch: s1}}' | $S validate -"), 3);
    assert_true(said(place, "-:1:13: switch: found 's1'"));
    assert_int_equal(
        shell(place, "echo '{switches: {s: {ports: 1}}, nodes: {a: {}, b: {}}}' | $S validate -"),
        3);
    assert_true(said(place, "no free port"));
}

static void every_command_has_help_with_an_example(void **state)
{
    static const char *const commands[] = {"up",    "exec",     "ctl",      "status", "inspect",
                                           "graph", "generate", "validate", "down",   "help"};
    struct place *place = *state;
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        assert_int_equal(shell(place, "$S %s --help", commands[i]), 0);
        assert_true(said(place, "usage: simfabric "));
        assert_true(said(place, "examples:\n  simfabric "));
        assert_int_equal(shell(place, "$S help | grep -q '^  %s'", commands[i]), 0);
    }
    assert_int_equal(shell(place, "$S help hlp"), 2);
    assert_true(said(place, "did you mean help"));
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
    if (stat("/dev/infiniband/uverbs1", &status) != 0 || !S_ISCHR(status.st_mode) ||
        major(status.st_rdev) != 1 || minor(status.st_rdev) != 3)
        return wrong("no device file");
    if (stat("/dev/zero", &status) != 0 || stat("/dev/fd", &status) != 0)
        return wrong("the rest of /dev is gone");
    if (!getenv("SYSFS_PATH") || !getenv("RDMAV_DRIVERS") || !getenv("SIMFABRIC_SOCKET"))
        return wrong("no environment");
    FILE *file = fopen("/proc/self/status", "r");
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
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_fabric_comes_up_tells_its_ports_and_goes),
        TEST(what_a_killed_fabric_left_is_cleaned_up_and_its_neighbour_lives_on),
        TEST(what_is_typed_wrong_is_told),
        TEST(fault_words_are_typed_and_taken_back),
        TEST(programs_hear_of_what_a_fault_word_changes),
        TEST(a_fabric_is_looked_into_and_drawn),
        TEST(topologies_are_generated_and_validated),
        TEST(every_command_has_help_with_an_example),
        TEST(the_exit_status_and_the_signal_of_a_program_are_its_own),
        TEST(a_program_finds_the_node_and_nothing_of_the_host),
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
