/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "src/config/server_config.h"
#include "src/store/media.h"
#include "tests/support/desk.h"
#include "tests/support/disk_fabric.h"
#include "tests/support/tree_fabric.h"

#define TREE "tests/net/trees/mlx5-infiniband/tree"

static struct desk desk;
static struct sim *sim;
static struct disk *disk;

static int setup(void **state)
{
    static const struct disk_config plain = {0};
    (void)state;
    desk_open(&desk);
    sim = sim_create(1);
    disk = disk_create(sim, &plain);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    desk_close(&desk);
    disk_destroy(disk);
    sim_destroy(sim);
    return 0;
}

static void set(struct tree_fabric *t, const char *drive, const char *file, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "/sys/block/%s/%s", drive, file);
    tree_set_text(t, path, text);
}

/* A machine with an InfiniBand port, two free drives and others that are in use. */
static struct tree_fabric *machine(void)
{
    struct tree_fabric *t = tree_fabric_open(TREE);
    static const char *const drives[] = {"nvme0n1", "nvme1n1", "sda", "sdb",
                                         "sdc",     "sdd",     "sde", "loop0"};
    for (size_t i = 0; i < sizeof drives / sizeof drives[0]; i++) {
        set(t, drives[i], "size", i == 1 ? "3907029168\n" : "3750748848\n");
        set(t, drives[i], "queue/rotational", i < 2 ? "0\n" : "1\n");
        set(t, drives[i], "removable", strcmp(drives[i], "sdd") == 0 ? "1\n" : "0\n");
        set(t, drives[i], "ro", strcmp(drives[i], "sde") == 0 ? "1\n" : "0\n");
    }
    set(t, "nvme0n1", "device/model", "A model\n");
    set(t, "nvme0n1", "device/device/numa_node", "1\n");
    set(t, "sdb", "sdb1/partition", "1\n");
    set(t, "sdc", "holders/dm-0/dev", "253:0\n");
    tree_set_text(t, "/proc/mounts",
                  "proc /proc proc rw 0 0\n/dev/sda2 / ext4 rw,relatime 0 0\n"
                  "/dev/nvme0n10 /other xfs ro 0 0\n");
    tree_set_text(t, "/proc/swaps", "Filename Type Size\n/dev/sdz partition 1\n");
    tree_set_text(
        t, "/proc/meminfo",
        "MemTotal:       263856000 kB\nMemAvailable:   200000000 kB\n"
        "HugePages_Total:       8\nHugePages_Free:        4\nHugepagesize:       2048 kB\n");
    tree_set_text(
        t, "/proc/self/limits",
        "Limit                     Soft Limit           Hard Limit           Units     \n"
        "Max locked memory         8388608              8388608              bytes     \n");
    tree_set_text(t, "/sys/devices/system/cpu/online", "0-63\n");
    tree_set_text(t, "/sys/devices/system/node/online", "0-1\n");
    return t;
}

static void type(const char *line, enum cli_exit code, const char *out, const char *err)
{
    desk.fabric = &machine()->head;
    desk_expect(&desk, line, code, out, err);
    if (desk.fabric)
        fabric_destroy(desk.fabric); /* nobody looked */
    desk.fabric = NULL;
}

/* The output is a configuration; what it says goes to *out. */
static void read_configuration(const char *text, struct server_config *out)
{
    struct yaml_errors errors;
    yaml_errors_init(&errors, "setup");
    if (!server_config_read(text, strlen(text), out, &errors))
        fail_msg("%s\n%s", errors.items[0].text, text);
}

static void it_prints_a_configuration_of_what_is_there(void **state)
{
    struct server_config c;
    (void)state;
    type("memkv setup", CLI_DONE, "processors 0-63, NUMA nodes 0-1", NULL);
    read_configuration(desk.out, &c);
    assert_int_equal(c.storage_mode, CONFIG_STORAGE_MEMORY);
    assert_int_equal(c.memory_max_size, UINT64_C(95) << 30); /* half of 190.7 GiB */
    assert_int_equal(c.rdma.device_count, 1);
    assert_string_equal(c.rdma.devices[0].name, "mlx5_0");
    assert_int_equal(c.rdma.devices[0].port, 1);
    assert_string_equal(c.auth_key_file, "/etc/memkv/auth.key");
    assert_non_null(strstr(desk.out, "locked memory: 8 MiB"));
    assert_non_null(strstr(desk.out, "mlx5_0:1: InfiniBand, Active, 100 Gb/s"));
    assert_non_null(strstr(desk.out, "# free drives, for mode direct: devices: "
                                     "[/dev/nvme0n1, /dev/nvme1n1]"));
    type("memkv setup --mode file --path /srv/kv --lanes 2 --auth-key-file k", CLI_DONE, NULL,
         NULL);
    read_configuration(desk.out, &c);
    assert_int_equal(c.storage_mode, CONFIG_STORAGE_FILE);
    assert_string_equal(c.storage_path, "/srv/kv");
    assert_int_equal(c.lanes, 2);
    type("memkv setup --mode direct", CLI_DONE, NULL, NULL);
    read_configuration(desk.out, &c);
    assert_int_equal(c.media_count, 2);
    assert_string_equal(c.media[1], "/dev/nvme1n1");
    assert_int_equal(c.storage_max_size, UINT64_C(2) * 1788 << 30); /* twice the smaller one */
}

static void every_drive_says_who_uses_it(void **state)
{
    static const char *const said[][2] = {
        {"nvme0n1", "free"},       {"sda", "mounted at /"}, {"sdb", "has partitions (sdb1)"},
        {"sdc", "a part of dm-0"}, {"sdd", "removable"},    {"sde", "read-only"}};
    (void)state;
    type("memkv setup", CLI_DONE, NULL, NULL);
    for (size_t i = 0; i < sizeof said / sizeof said[0]; i++) {
        char begin[40];
        snprintf(begin, sizeof begin, "drive /dev/%s, ", said[i][0]);
        const char *line = strstr(desk.out, begin);
        assert_non_null(line);
        const char *found = strstr(line, said[i][1]);
        assert_true(found && found < strchr(line, '\n'));
    }
    assert_null(strstr(desk.out, "loop0"));
    type("memkv setup --json", CLI_DONE, "\"path\":\"/dev/nvme0n1\",\"model\":\"A model\"", NULL);
    json_t *page = json_loads(desk.out, 0, NULL);
    struct server_config c;
    read_configuration(json_string_value(json_object_get(page, "configuration")), &c);
    assert_int_equal(json_array_size(json_object_get(page, "drives")), 7);
    assert_int_equal(json_array_size(json_object_get(page, "file_systems")), 2);
    json_decref(page);
}

static void a_machine_that_tells_nothing_gets_a_configuration_all_the_same(void **state)
{
    struct server_config c;
    (void)state;
    desk.fabric = &tree_fabric_open("tests/net/trees/no-device/tree")->head;
    desk_expect(&desk, "memkv setup", CLI_DONE, "processors not known", NULL);
    read_configuration(desk.out, &c);
    assert_int_equal(c.rdma.device_count, 0);
    desk.fabric = &tree_fabric_open("tests/net/trees/no-device/tree")->head;
    desk_expect(&desk, "memkv setup --mode direct", CLI_CONFIG, NULL,
                "found 0 drives that nobody uses");
}

/* ------------------------------------------------------------------ formatting */

static enum fabric_error run_on_disk(struct desk *d, const struct cli_node *node)
{
    struct disk_fabric *f = disk_fabric_new(sim, disk);
    void *state = NULL;
    (void)d;
    enum fabric_error error =
        node->program->start(disk_fabric_head(f), node->config, 0, &node->sink, &state);
    while (!error && !node->done(node->context)) {
        struct fabric_event event = {.type = FABRIC_EVENT_IO_DONE};
        assert_true(disk_fabric_wait(f, &event.u.io));
        node->program->event(state, &event);
    }
    if (!error)
        node->program->stop(state);
    fabric_destroy(disk_fabric_head(f));
    return error;
}

static void place(const char *path, const char *mark)
{
    static uint8_t blank[2u << 20];
    memset(blank, 0, sizeof blank);
    memcpy(blank + 1024, mark, strlen(mark));
    assert_int_equal(disk_place(disk, path, blank, sizeof blank), 0);
}

static void drives_are_laid_out_only_with_force(void **state)
{
    (void)state;
    desk.run = run_on_disk;
    place("/dev/nvme0n1", "");
    place("/dev/nvme1n1", "");
    type("memkv setup --format /dev/nvme0n1", CLI_USAGE, NULL, "nothing was written; --force");
    type("memkv setup --format /dev/nvme0n1 --format /dev/nvme1n1 --lanes 2 --force", CLI_DONE,
         "/dev/nvme1n1: a store for", NULL);
    type("memkv setup --format /dev/nvme0n1 --format /dev/nvme1n1 --lanes 2 --force --json",
         CLI_DONE, "\"blocks\":0", NULL);
    type("memkv setup --format /dev/nvme1n1 --format /dev/nvme0n1 --lanes 2 --force", CLI_CONFIG,
         NULL, "found lane 1 of 2, medium 0 of 1; configured is lane 0 of 2");
}

static void what_is_in_use_or_not_blank_is_refused_by_name(void **state)
{
    (void)state;
    desk.run = run_on_disk;
    place("/dev/nvme0n1", "a file system");
    place("/dev/sda", "");
    type("memkv setup --format /dev/nvme0n1 --format /dev/sda --force --overwrite", CLI_CONFIG,
         NULL, "busy: /dev/sda: it is mounted at /; nothing was written");
    type("memkv setup --format /dev/sdc --force", CLI_CONFIG, NULL, "a part of dm-0");
    type("memkv setup --format /dev/nvme0n1 --force", CLI_CONFIG, NULL,
         "/dev/nvme0n1: holds no store of MemKV, and is not blank");
    type("memkv setup --format /dev/nvme0n1 --force --overwrite", CLI_DONE, "0 blocks", NULL);
    type("memkv setup --format /dev/none --force", CLI_CONFIG, NULL,
         "/dev/none: it cannot be opened");
    type("memkv setup --format relative --force", CLI_USAGE, NULL, "an absolute path");
    type("memkv setup --format /dev/a --format /dev/a --force", CLI_USAGE, NULL, "twice");
    type("memkv setup --format /dev/a --lanes 2 --force", CLI_USAGE, NULL, "1 drives for 2 lanes");
    type("memkv setup --format /dev/a --force --sysfs-root /x", CLI_USAGE, NULL, "another machine");
    type("memkv setup --lanes 0", CLI_USAGE, NULL, "--lanes: found '0'");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(it_prints_a_configuration_of_what_is_there),
        TEST(every_drive_says_who_uses_it),
        TEST(a_machine_that_tells_nothing_gets_a_configuration_all_the_same),
        TEST(drives_are_laid_out_only_with_force),
        TEST(what_is_in_use_or_not_blank_is_refused_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
