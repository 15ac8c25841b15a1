/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MemKV's client as a program of one node. Configuration: the YAML of MEMKV_CONFIG. Commands and
 * reports: docs/programs.md.
 */
#ifndef SRC_CLIENT_PROGRAM_H
#define SRC_CLIENT_PROGRAM_H

#include "src/fabric/program.h"

/* start fails with config_invalid, mtu_invalid, resources_exhausted. A server that cannot be
 * reached is an error of each operation, not of the start. */
extern const struct fabric_program memkv_client_program;

#endif
