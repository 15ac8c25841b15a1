/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "src/admin/admin.h"

static void has(const char *page, const char *line)
{
    if (!strstr(page, line))
        fail_msg("expected %s in %s", line, page);
}

/* MK-I3: the names are the interface. */
static void the_names_of_the_specification_are_there(void **state)
{
    static const char *const names[] = {
        "memkv_blocks_total",       "memkv_read_bytes_total", "memkv_read_total",
        "memkv_write_bytes_total",  "memkv_write_total",      "memkv_storage_usable_bytes",
        "memkv_storage_used_bytes", "memkv_build_info",
    };
    struct admin_snapshot s = {.version = "1.2.3", .blocks = 4, .storage_usable = 1000};
    (void)state;
    s.storage_used = 70;
    s.write_bytes[ADMIN_OVER_RDMA] = 9;
    s.reads[ADMIN_OVER_TCP] = 5;
    char *page = admin_metrics(&s);
    assert_non_null(page);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char line[128] = "# TYPE ";
        strcat(strcat(line, names[i]), " ");
        has(page, line);
    }
    has(page, "\nmemkv_build_info{version=\"1.2.3\"} 1\n");
    has(page, "\nmemkv_blocks_total 4\n");
    has(page, "\nmemkv_write_bytes_total{transport=\"rdma\"} 9\n");
    has(page, "\nmemkv_read_total{transport=\"tcp\"} 5\n");
    has(page, "\nmemkv_storage_usable_bytes 1000\n");
    has(page, "\nmemkv_storage_used_bytes 70\n");
    free(page);
}

static void every_metric_has_help_and_type_before_it(void **state)
{
    struct admin_snapshot s = {.version = "1", .rail_count = 1, .refused_count = 1};
    (void)state;
    s.rails[0] = (struct admin_rail){.name = "mlx5_0:1", .is_ready = true, .reason = "ok"};
    s.refused[0] = (struct admin_reason){"subnet_mismatch", 3};
    s.links_dc = 7;
    s.dc = (struct admin_dc){.recoveries = 1, .taken_back = 2, .flushed = 3, .proofs = 4};
    s.rails[0].dc_initiators = 8;
    s.rails[0].dc_held = 5;
    s.rails[0].dc_waiting = 6;
    char *page = admin_metrics(&s), *rest = page, name[96] = "";
    has(page, "memkv_links{transport=\"rc\"} 0\nmemkv_links{transport=\"dc\"} 7\n");
    has(page, "\nmemkv_dc_recoveries_total 1\n");
    has(page, "\nmemkv_dc_taken_back_total 2\n");
    has(page, "\nmemkv_dc_flushed_total 3\n");
    has(page, "\nmemkv_dc_proofs_total 4\n");
    has(page, "\nmemkv_dc_initiators{rail=\"mlx5_0:1\"} 8\n");
    has(page, "memkv_dc_initiators_held{rail=\"mlx5_0:1\"} 5\n");
    has(page, "memkv_dc_waiting{rail=\"mlx5_0:1\"} 6\n");
    has(page, "memkv_links_refused_total{reason=\"subnet_mismatch\"} 3\n");
    has(page, "memkv_rail_ready{rail=\"mlx5_0:1\"} 1\n");
    for (char *line; (line = strtok_r(rest, "\n", &rest)) != NULL;) {
        if (strncmp(line, "# HELP ", 7) == 0) {
            size_t length = strcspn(line + 7, " ");
            assert_true(length < sizeof name && strlen(line) > 7 + length + 5);
            memcpy(name, line + 7, length);
            name[length] = '\0';
        } else if (strncmp(line, "# TYPE ", 7) == 0) {
            assert_memory_equal(line + 7, name, strlen(name));
        } else {
            assert_true(name[0] != '\0');
            assert_memory_equal(line, name, strlen(name));
            assert_true(line[strlen(name)] == ' ' || line[strlen(name)] == '{');
        }
    }
    free(page);
}

static void a_label_is_escaped(void **state)
{
    struct admin_snapshot s = {.version = "1", .rail_count = 1};
    (void)state;
    s.rails[0] = (struct admin_rail){.name = "a\"b\\c\nd", .reason = "ok"};
    char *page = admin_metrics(&s);
    has(page, "memkv_rail_ready{rail=\"a\\\"b\\\\c\\nd\"} 0\n");
    free(page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_names_of_the_specification_are_there),
        cmocka_unit_test(every_metric_has_help_and_type_before_it),
        cmocka_unit_test(a_label_is_escaped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
