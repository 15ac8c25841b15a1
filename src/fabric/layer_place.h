/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A layer that lets a program see a machine as a node of a topology: devices, control addresses and
 * storage under the names that its configuration uses, those of the machine below. What a device is
 * and who is reached by RDMA passes unchanged.
 */
#ifndef SRC_FABRIC_LAYER_PLACE_H
#define SRC_FABRIC_LAYER_PLACE_H

#include "src/fabric/fabric.h"

#define LAYER_PLACE_DEVICES 16
#define LAYER_PLACE_PEERS 64

struct layer_place_device {
    char name[FABRIC_NAME_MAX]; /* above: "mlx5_0" */
    char real[FABRIC_NAME_MAX]; /* below: "rxe_v0" */
};

/* A host as programs name it, and where it is; a port stays as it is. */
struct layer_place_peer {
    char name[FABRIC_ADDRESS_MAX]; /* above: "10.0.0.1", or the name of a node */
    char real[FABRIC_ADDRESS_MAX]; /* below: "127.0.1.1" */
};

struct layer_place {
    struct layer_place_device devices[LAYER_PLACE_DEVICES]; /* others are not there; by `name` */
    size_t device_count;
    struct layer_place_peer peers[LAYER_PLACE_PEERS]; /* others are reached as they are named; of
                                                       * two for one place the first names it */
    size_t peer_count;
    char address[FABRIC_ADDRESS_MAX]; /* of this node, below: stands for 0.0.0.0 when it listens;
                                       * empty: 0.0.0.0 */
    char storage[FABRIC_PATH_MAX];    /* folder that is "/" of the storage; empty: "/" itself */
};

/* A layer over `next`; *place is copied. Errors: resources_exhausted. See layer.h. */
enum fabric_error layer_place_create(struct fabric *next, const struct layer_place *place,
                                     struct fabric **out);

#endif
