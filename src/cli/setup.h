/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memkv setup: what this machine has for a server, a configuration that fits, and stores laid out
 * on drives.
 *
 * setup.c        options, the command
 * setup_read.c   the machine, from system files
 * setup_report.c the configuration; all of it as JSON
 * setup_format.c drives
 */
#ifndef SRC_CLI_SETUP_H
#define SRC_CLI_SETUP_H

#include "src/cli/output.h"
#include "src/net/model.h"

#define SETUP_MAX_DRIVES 64
#define SETUP_MAX_MOUNTS 64
#define SETUP_TEXT 16384u /* bytes of a configuration */

struct setup_drive {
    char name[FABRIC_NAME_MAX]; /* "nvme0n1" */
    char model[SYSFILE_LINE];   /* may be empty */
    uint64_t bytes;
    int64_t numa_node; /* -1: none, or not known */
    bool rotational, removable;
    char used[160]; /* why it is not free; empty: it is */
};

struct setup_mount { /* of a file system that could hold files of a store */
    char source[SYSFILE_LINE], at[SYSFILE_LINE], type[32];
    bool read_only;
};

struct setup_machine {
    char processors[SYSFILE_LINE], numa_nodes[SYSFILE_LINE]; /* "0-63"; empty: not known */
    uint64_t memory, available;                              /* bytes; 0: not known */
    uint64_t huge_pages, huge_free, huge_size;               /* size: bytes */
    uint64_t memlock;                                        /* bytes; UINT64_MAX: no limit */
    bool memlock_known;
    struct setup_drive drives[SETUP_MAX_DRIVES];
    uint32_t drive_count;
    struct setup_mount mounts[SETUP_MAX_MOUNTS];
    uint32_t mount_count;
    struct net_model net;
};

/* Reads what there is; what cannot be read is left out. setup_free releases it. */
void setup_read(struct fabric *f, struct setup_machine *out);
void setup_free(struct setup_machine *machine);

struct setup_plan {
    const char *mode; /* of storage: "memory", "file", "direct" */
    const char *path; /* the folder of mode file */
    const char *key_file;
    uint64_t lanes;
};

/* A commented configuration that memkv start --check-config accepts, in `out` (SETUP_TEXT bytes).
 * False, and why in `problem` (CLI_PROBLEM bytes): the machine has nothing for that mode. */
bool setup_configuration(const struct setup_machine *machine, const struct setup_plan *plan,
                         char *out, char *problem);
/* A new reference. */
json_t *setup_json(const struct setup_machine *machine, const char *configuration);

struct setup_format {
    const char *paths[CLI_MAX_OPTIONS];
    uint32_t count, lanes;
    bool overwrites; /* also what is not blank */
};

/* Lays stores out on drives, device i for lane i modulo lanes; one that holds such a store stays as
 * it is. Nothing is written when one of them is in use. Says what it did. */
enum cli_exit setup_format(struct cli *cli, const struct setup_machine *machine,
                           const struct setup_format *format);

#endif
