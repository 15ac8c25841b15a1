/* SPDX-License-Identifier: Apache-2.0 */
/* An instance of the operating system's fabric with a folder of its own, and its events. */
#ifndef TESTS_SUPPORT_OS_BED_H
#define TESTS_SUPPORT_OS_BED_H

#include "fabric_hw/os/os.h"

#define OS_BED_PATIENCE UINT64_C(20000000000) /* ns, of any wait */

#define OS_FOLDER 64 /* bytes of the path of a folder */

struct os_bed {
    struct fabric *f;
    char folder[OS_FOLDER]; /* empty at first; also the root folder of the system files */
    int log[2];             /* what was logged can be read from the first */
    char said[8192];
};

/* An empty folder in /tmp, its path in `folder` (OS_FOLDER bytes), until it is removed with all
 * that is in it. */
void os_folder_make(char *folder);
void os_folder_remove(const char *folder);
/* Makes folders on the way to `name` ("/sys/class/net/ib0/mtu") in `folder`, and a file with this
 * text; where `name` ends in a slash, only the folders. */
void os_folder_file(const char *folder, const char *name, const char *text);

/* `options` may be null; its log and root folder are replaced. */
void os_bed_open(struct os_bed *bed, const struct os_fabric_options *options);
void os_bed_close(struct os_bed *bed); /* also removes the folder */

/* The next event of this type; others are thrown away. The test fails without one. */
struct fabric_event os_bed_await(struct os_bed *bed, enum fabric_event_type type);
/* The next event of any type until `deadline` (ns); false when there is none. */
bool os_bed_next(struct os_bed *bed, uint64_t deadline, struct fabric_event *out);
uint64_t os_bed_now(struct os_bed *bed);

/* Everything logged so far, as text. */
const char *os_bed_said(struct os_bed *bed);

/* A path in the folder; lives until the next call but three. */
const char *os_bed_path(struct os_bed *bed, const char *name);
/* As os_folder_file. */
void os_bed_file(struct os_bed *bed, const char *name, const char *text);

#endif
