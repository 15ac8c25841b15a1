/* SPDX-License-Identifier: Apache-2.0 */
/* The bench on this machine without RDMA; the system files are a small tree of its own. */
#include "tests/conformance/machine_bench.h"
#include "tests/support/os_bed.h"

static void options(size_t node, char *folder, struct os_fabric_options *out)
{
    (void)node;
    os_folder_file(folder, "/sys/class/net/", "");
    os_folder_file(folder, "/sys/class/infiniband/mlx5_0/node_guid", "0c42:a103:0001:0000\n");
    os_folder_file(folder, "/sys/class/infiniband/mlx5_0/ports/1/pkeys/0", "0xffff\n");
    out->sysroot = folder;
}

static const char *device(struct bench *bench, size_t node)
{
    (void)bench;
    (void)node;
    return "mlx5_0"; /* in the system files only */
}

const struct machine machine = {.options = options};
const struct bench_backend bench_backend = {.name = "os", .device = device, MACHINE_BENCH};
