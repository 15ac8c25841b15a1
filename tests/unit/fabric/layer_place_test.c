/* SPDX-License-Identifier: Apache-2.0 */
/* A machine seen as a node of a topology. Below lies a fabric that keeps what it was called with.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "src/fabric/layer.h"
#include "src/fabric/layer_place.h"
#include "tests/support/fake_fabric.h"

static struct layer below;
static struct fabric *f;
static char heard[FABRIC_ADDRESS_MAX]; /* the name that the latest call came with */

static enum fabric_error device_list(struct fabric *self, char (*names)[FABRIC_NAME_MAX],
                                     size_t capacity, size_t *count)
{
    (void)self;
    assert_true(capacity >= 2);
    strcpy(names[0], "rxe_v0");
    strcpy(names[1], "rxe_v9");
    *count = 2;
    return FABRIC_OK;
}

static enum fabric_error device_open(struct fabric *self, const char *name, fabric_device *out)
{
    (void)self;
    strcpy(heard, name);
    out->id = 1;
    return FABRIC_OK;
}

static enum fabric_error device_query(struct fabric *self, fabric_device device,
                                      struct fabric_device_attr *out)
{
    (void)self;
    (void)device;
    *out = (struct fabric_device_attr){.num_ports = 1, .name = "rxe_v0"};
    return FABRIC_OK;
}

static enum fabric_error listen_at(struct fabric *self, const char *address, uint64_t cookie,
                                   fabric_listener *out, char *bound)
{
    (void)self;
    (void)cookie;
    strcpy(heard, address);
    strcpy(bound, address);
    out->id = 1;
    return FABRIC_OK;
}

static enum fabric_error connect_to(struct fabric *self, const char *address, uint64_t cookie,
                                    fabric_stream *out)
{
    (void)self;
    (void)cookie;
    strcpy(heard, address);
    out->id = 1;
    return FABRIC_OK;
}

static enum fabric_error stream_peer(struct fabric *self, fabric_stream stream, char *out)
{
    (void)self;
    (void)stream;
    strcpy(out, "127.0.1.2:9900");
    return FABRIC_OK;
}

static enum fabric_error stream_local(struct fabric *self, fabric_stream stream, char *address,
                                      char *netdev)
{
    (void)self;
    (void)stream;
    strcpy(address, "127.0.1.1:40000");
    strcpy(netdev, "lo");
    return FABRIC_OK;
}

static enum fabric_error io_submit(struct fabric *self, const struct fabric_io *io)
{
    (void)self;
    strcpy(heard, io->path);
    return FABRIC_OK;
}

static enum fabric_error sysfile_read(struct fabric *self, const char *path, void *buf,
                                      size_t capacity, size_t *length)
{
    (void)self;
    (void)buf;
    (void)capacity;
    strcpy(heard, path);
    *length = 0;
    return FABRIC_OK;
}

static enum fabric_error destroy(struct fabric *self)
{
    return fabric_destroy(layer_next(self));
}

static int make(void **state)
{
    static const struct layer_place place = {
        .devices = {{"mlx5_1", "rxe_gone"}, {"mlx5_0", "rxe_v0"}},
        .device_count = 2,
        .peers = {{"10.0.0.1", "127.0.1.1"}, {"10.0.0.2", "127.0.1.2"}, {"store", "127.0.1.2"}},
        .peer_count = 3,
        .address = "127.0.1.1",
        .storage = "/tmp/node"};
    (void)state;
    layer_init(&below, &fake_fabric_new(NULL)->head);
    below.ops.destroy = destroy;
    below.ops.device_list = device_list;
    below.ops.device_open = device_open;
    below.ops.device_query = device_query;
    below.ops.listen = listen_at;
    below.ops.connect = connect_to;
    below.ops.stream_peer = stream_peer;
    below.ops.stream_local = stream_local;
    below.ops.io_submit = io_submit;
    below.ops.sysfile_read = sysfile_read;
    assert_int_equal(layer_place_create(&below.head, &place, &f), FABRIC_OK);
    heard[0] = '\0';
    return 0;
}

static int unmake(void **state)
{
    (void)state;
    return (int)fabric_destroy(f);
}

static void devices_have_the_names_of_the_topology(void **state)
{
    char names[4][FABRIC_NAME_MAX];
    struct fabric_device_attr attr;
    fabric_device device;
    size_t count = 0;
    (void)state;
    assert_int_equal(fabric_device_list(f, names, 4, &count), FABRIC_OK);
    assert_int_equal(count, 1); /* one is not there, one belongs to somebody else */
    assert_string_equal(names[0], "mlx5_0");
    assert_int_equal(fabric_device_open(f, "rxe_v9", &device), ERR_NOT_FOUND);
    assert_int_equal(fabric_device_open(f, "mlx5_0", &device), FABRIC_OK);
    assert_string_equal(heard, "rxe_v0");
    assert_int_equal(fabric_device_query(f, device, &attr), FABRIC_OK);
    assert_string_equal(attr.name, "mlx5_0");
}

static void peers_are_reached_where_they_are(void **state)
{
    char address[FABRIC_ADDRESS_MAX], netdev[FABRIC_NAME_MAX];
    fabric_stream stream;
    (void)state;
    assert_int_equal(fabric_connect(f, "10.0.0.2:9900", 1, &stream), FABRIC_OK);
    assert_string_equal(heard, "127.0.1.2:9900");
    assert_int_equal(fabric_stream_peer(f, stream, address), FABRIC_OK);
    assert_string_equal(address, "10.0.0.2:9900"); /* the first name of the place */
    assert_int_equal(fabric_stream_local(f, stream, address, netdev), FABRIC_OK);
    assert_string_equal(address, "10.0.0.1:40000");
    assert_int_equal(fabric_connect(f, "store:9901", 1, &stream), FABRIC_OK);
    assert_string_equal(heard, "127.0.1.2:9901");
    assert_int_equal(fabric_connect(f, "10.0.0.21:9900", 1, &stream), FABRIC_OK);
    assert_string_equal(heard, "10.0.0.21:9900"); /* nobody of the topology */
}

static void whoever_listens_everywhere_listens_at_its_place(void **state)
{
    char bound[FABRIC_ADDRESS_MAX];
    fabric_listener listener;
    (void)state;
    assert_int_equal(fabric_listen(f, "0.0.0.0:9900", 1, &listener, bound), FABRIC_OK);
    assert_string_equal(heard, "127.0.1.1:9900");
    assert_string_equal(bound, "10.0.0.1:9900");
}

static void files_lie_in_the_nodes_folder(void **state)
{
    const struct fabric_io io = {.op = FABRIC_IO_OPEN, .path = "/files/a"};
    char longest[FABRIC_PATH_MAX];
    (void)state;
    assert_int_equal(fabric_io_submit(f, &io), FABRIC_OK);
    assert_string_equal(heard, "/tmp/node/files/a");
    memset(longest, 'x', sizeof longest);
    longest[0] = '/';
    longest[FABRIC_PATH_MAX - 1] = '\0';
    const struct fabric_io beyond = {.op = FABRIC_IO_OPEN, .path = longest};
    assert_int_equal(fabric_io_submit(f, &beyond), ERR_INVALID_ARGUMENT);
}

static void system_files_of_a_device_are_found(void **state)
{
    char text[256];
    size_t length;
    (void)state;
    assert_int_equal(fabric_sysfile_read(f, "/sys/class/infiniband/mlx5_0/ports/1/lid", text,
                                         sizeof text, &length),
                     FABRIC_OK);
    assert_string_equal(heard, "/sys/class/infiniband/rxe_v0/ports/1/lid");
    assert_int_equal(fabric_sysfile_read(f, "/sys/class/infiniband/rxe_v9/ports/1/lid", text,
                                         sizeof text, &length),
                     ERR_NOT_FOUND);
    assert_int_equal(fabric_sysfile_read(f, "/sys/class/net/lo/mtu", text, sizeof text, &length),
                     FABRIC_OK);
    assert_string_equal(heard, "/sys/class/net/lo/mtu");
    assert_int_equal(fabric_sysfile_list(f, "/sys/class/infiniband", text, sizeof text, &length),
                     FABRIC_OK);
    assert_int_equal(length, strlen("mlx5_0") + 1);
    assert_string_equal(text, "mlx5_0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(devices_have_the_names_of_the_topology, make, unmake),
        cmocka_unit_test_setup_teardown(peers_are_reached_where_they_are, make, unmake),
        cmocka_unit_test_setup_teardown(whoever_listens_everywhere_listens_at_its_place, make,
                                        unmake),
        cmocka_unit_test_setup_teardown(files_lie_in_the_nodes_folder, make, unmake),
        cmocka_unit_test_setup_teardown(system_files_of_a_device_are_found, make, unmake),
    };
    return cmocka_run_group_tests_name("layer_place", tests, NULL, NULL);
}
