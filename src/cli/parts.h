/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files above the largest value: KEY#0, KEY#1, ... of CLI_PART bytes each, and under KEY a short
 * text that names their size and checksum, written last. So a file is there whole or not at all,
 * and parts of two writers do not pass for one file.
 */
#ifndef SRC_CLI_PARTS_H
#define SRC_CLI_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLI_PART (16u * 1024u * 1024u)           /* bytes: the largest value */
#define CLI_MAX_FILE (4ull * 1024 * 1024 * 1024) /* bytes */
#define CLI_LIST_MAX 128                         /* bytes of the text under KEY */
#define CLI_PART_KEY 272                         /* room for the key of a part, with its NUL */

struct cli_parts {
    uint64_t size;                        /* bytes of the file, above CLI_PART */
    uint64_t checksum_high, checksum_low; /* XXH3-128 */
};

uint32_t cli_parts_count(uint64_t size);
void cli_parts_checksum(const void *data, size_t size, struct cli_parts *out);

/* The text for KEY; its length. */
size_t cli_parts_write(const struct cli_parts *parts, char out[CLI_LIST_MAX]);
/* Whether a value is such a text. */
bool cli_parts_read(const void *value, size_t length, struct cli_parts *out);

/* The key of part `i`; false when it is longer than a key may be. */
bool cli_parts_key(const char *key, uint32_t i, char out[CLI_PART_KEY]);

#endif
