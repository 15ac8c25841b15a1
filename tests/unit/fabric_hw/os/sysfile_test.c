/* SPDX-License-Identifier: Apache-2.0 */
/* System files under a root folder, also those that nobody expects. MK-L5. */
#define _GNU_SOURCE
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

#include "tests/support/os_bed.h"

#define IB0 "/sys/class/net/ib0"

static struct os_bed bed;
static char text[65536];
static size_t length;

static int setup(void **state)
{
    (void)state;
    os_bed_open(&bed, NULL);
    os_bed_file(&bed, IB0 "/mode", "datagram\n");
    os_bed_file(&bed, IB0 "/mtu", "2044\n");
    os_bed_file(&bed, IB0 "/type", "32\n");
    os_bed_file(&bed, "/sys/class/net/eth0/mtu", "1500\n");
    os_bed_file(&bed, "/sys/class/net/eth0/type", "1\n");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    os_bed_close(&bed);
    return 0;
}

static enum fabric_error read_file(const char *path, size_t capacity)
{
    return fabric_sysfile_read(bed.f, path, text, capacity, &length);
}

static void a_file_is_read_whole_or_not_at_all(void **state)
{
    (void)state;
    assert_int_equal(read_file(IB0 "/mtu", sizeof(text)), FABRIC_OK);
    assert_int_equal(length, 5);
    assert_memory_equal(text, "2044\n", 5);
    assert_int_equal(read_file(IB0 "/mtu", 5), FABRIC_OK);
    strcpy(text, "before");
    assert_int_equal(read_file(IB0 "/mtu", 4), ERR_TOO_LARGE);
    assert_string_equal(text, "before");
    assert_int_equal(read_file(IB0 "/missing", 4), ERR_NOT_FOUND);
    assert_int_equal(read_file(IB0 "/mtu/missing", 4), ERR_NOT_FOUND);
    assert_int_equal(read_file(IB0, 4), ERR_INVALID_ARGUMENT);
    os_bed_file(&bed, "/sys/empty", "");
    assert_int_equal(fabric_sysfile_read(bed.f, "/sys/empty", NULL, 0, &length), FABRIC_OK);
    assert_int_equal(length, 0);
}

/* Nobody writes into it: a read that waited would never end. */
static void a_pipe_holds_nobody_up(void **state)
{
    (void)state;
    assert_int_equal(mkfifo(os_bed_path(&bed, "/sys/pipe"), 0600), 0);
    assert_int_equal(read_file("/sys/pipe", sizeof(text)), FABRIC_OK);
    assert_int_equal(length, 0);
}

static void binary_and_huge_files_are_only_bytes(void **state)
{
    (void)state;
    os_bed_file(&bed, "/sys/binary", "\x01\xff\x7f");
    assert_int_equal(read_file("/sys/binary", 3), FABRIC_OK);
    assert_memory_equal(text, "\x01\xff\x7f", 3);
    os_bed_file(&bed, "/sys/huge", "");
    assert_int_equal(truncate(os_bed_path(&bed, "/sys/huge"), (off_t)1 << 40), 0);
    assert_int_equal(read_file("/sys/huge", sizeof(text)), ERR_TOO_LARGE);
}

static void folders_are_listed_by_name(void **state)
{
    (void)state;
    assert_int_equal(fabric_sysfile_list(bed.f, "/sys/class/net", text, sizeof(text), &length),
                     FABRIC_OK);
    assert_int_equal(length, 9);
    assert_memory_equal(text, "eth0\0ib0", 9);
    assert_int_equal(fabric_sysfile_list(bed.f, "/sys/class/net", text, 8, &length), ERR_TOO_LARGE);
    assert_int_equal(fabric_sysfile_list(bed.f, "/sys/none", text, 8, &length), ERR_NOT_FOUND);
}

static void links_say_where_they_point(void **state)
{
    (void)state;
    assert_int_equal(symlink("../../devices/x", os_bed_path(&bed, IB0 "/device")), 0);
    assert_int_equal(fabric_sysfile_link(bed.f, IB0 "/device", text, 16), FABRIC_OK);
    assert_string_equal(text, "../../devices/x");
    assert_int_equal(fabric_sysfile_link(bed.f, IB0 "/device", text, 15), ERR_TOO_LARGE);
    assert_int_equal(fabric_sysfile_link(bed.f, IB0 "/mtu", text, 16), ERR_NOT_FOUND);
    assert_int_equal(fabric_sysfile_link(bed.f, IB0 "/none", text, 16), ERR_NOT_FOUND);
}

static enum fabric_error write_file(const char *path, const char *data)
{
    return fabric_sysfile_write(bed.f, path, data, strlen(data));
}

static void only_mode_and_mtu_of_ipoib_are_written(void **state)
{
    (void)state;
    assert_int_equal(write_file(IB0 "/mode", "connected\n"), FABRIC_OK);
    assert_int_equal(write_file(IB0 "/mtu", "65520"), FABRIC_OK);
    assert_int_equal(read_file(IB0 "/mtu", sizeof(text)), FABRIC_OK);
    assert_memory_equal(text, "65520", 5);
    assert_int_equal(write_file(IB0 "/type", "1"), ERR_ACCESS_DENIED);
    assert_int_equal(write_file("/sys/class/net/eth0/mtu", "9000"), ERR_ACCESS_DENIED);
    assert_int_equal(write_file("/sys/class/net/ib1/mtu", "9000"), ERR_NOT_FOUND);
    assert_int_equal(read_file("/sys/class/net/eth0/mtu", sizeof(text)), FABRIC_OK);
    assert_memory_equal(text, "1500", 4);
}

/* MK-L3, MK-L5: a root folder stands for the whole machine, whatever links lie in it. */
static void nothing_leads_out_of_the_root_folder(void **state)
{
    (void)state;
    char outside[] = "/tmp/memkv-os-outside-XXXXXX", target[64], way_up[128];
    assert_non_null(mkdtemp(outside));
    assert_true((size_t)snprintf(target, sizeof(target), "%s/mtu", outside) < sizeof(target));
    FILE *file = fopen(target, "w");
    assert_non_null(file);
    assert_int_equal(fputs("1500\n", file) < 0 || fclose(file), 0);
    snprintf(way_up, sizeof(way_up), "../../../../../../../..%s", target);
    const char *const ways[] = {target, way_up};
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(unlink(os_bed_path(&bed, IB0 "/mtu")), 0);
        assert_int_equal(symlink(ways[i], os_bed_path(&bed, IB0 "/mtu")), 0);
        assert_int_equal(read_file(IB0 "/mtu", sizeof(text)), ERR_NOT_FOUND);
        assert_int_equal(write_file(IB0 "/mtu", "65520"), ERR_NOT_FOUND);
    }
    os_bed_file(&bed, target, "2044\n"); /* the same path under the root folder */
    assert_int_equal(write_file(IB0 "/mtu", "4092"), FABRIC_OK);
    assert_int_equal(read_file(IB0 "/mtu", sizeof(text)), FABRIC_OK);
    assert_memory_equal(text, "4092", 4);
    file = fopen(target, "r");
    assert_true(file && fread(text, 1, 5, file) == 5);
    assert_memory_equal(text, "1500\n", 5);
    fclose(file);
    assert_int_equal(unlink(target) || rmdir(outside), 0);
}

/* What libibverbs takes for /sys is that for us, too; the rest of the machine stays what it is. */
static void sysfs_may_lie_elsewhere(void **state)
{
    (void)state;
    const struct os_fabric_options options = {.sysfs = os_bed_path(&bed, "/sys"), .log_fd = -1};
    struct fabric *here;
    assert_int_equal(os_fabric_create(&options, &here), FABRIC_OK);
    assert_int_equal(fabric_sysfile_read(here, IB0 "/mtu", text, sizeof(text), &length), FABRIC_OK);
    assert_memory_equal(text, "2044\n", 5);
    assert_int_equal(fabric_sysfile_list(here, "/sys/class/net", text, sizeof(text), &length),
                     FABRIC_OK);
    assert_memory_equal(text, "eth0\0ib0", 9);
    assert_int_equal(fabric_sysfile_write(here, IB0 "/mtu", "4092\n", 5), FABRIC_OK);
    assert_int_equal(fabric_sysfile_read(here, "/proc/self/comm", text, sizeof(text), &length),
                     FABRIC_OK);
    fabric_destroy(here);
    assert_int_equal(read_file(IB0 "/mtu", sizeof(text)), FABRIC_OK);
    assert_memory_equal(text, "4092\n", 5);
}

/* One that nobody reads would hold the writer up, a device would take anything. */
static void only_files_are_written(void **state)
{
    (void)state;
    assert_int_equal(unlink(os_bed_path(&bed, IB0 "/mtu")), 0);
    assert_int_equal(mkfifo(os_bed_path(&bed, IB0 "/mtu"), 0600), 0);
    assert_int_equal(write_file(IB0 "/mtu", "65520"), ERR_ACCESS_DENIED);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_file_is_read_whole_or_not_at_all),
        TEST(a_pipe_holds_nobody_up),
        TEST(binary_and_huge_files_are_only_bytes),
        TEST(folders_are_listed_by_name),
        TEST(links_say_where_they_point),
        TEST(only_mode_and_mtu_of_ipoib_are_written),
        TEST(sysfs_may_lie_elsewhere),
        TEST(nothing_leads_out_of_the_root_folder),
        TEST(only_files_are_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
