/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MemKV's server as a program of one node. Configuration: the YAML of `memkv start` (sections
 * network, admin, memory, rdma, storage, log). Commands and reports: docs/programs.md.
 */
#ifndef SRC_SERVER_PROGRAM_H
#define SRC_SERVER_PROGRAM_H

#include "src/fabric/program.h"

/* start fails with config_invalid, mtu_invalid, mtu_above_active (a configured MTU above the
 * active one of a port that is ACTIVE), address_in_use, resources_exhausted. */
extern const struct fabric_program memkv_server_program;

#endif
