/* SPDX-License-Identifier: Apache-2.0 */
/* A file with the key of a cluster: 64 hexadecimal digits; lines that begin with # are notes. */
#ifndef SRC_CONFIG_KEY_FILE_H
#define SRC_CONFIG_KEY_FILE_H

#include "src/config/options.h"

#define CONFIG_KEY_FILE_MAX 4096u /* bytes of text */

/* Reads the 64 hexadecimal digits that `text` begins with; a 65th is one too many. False, and `key`
 * untouched, when it begins with anything else. */
bool config_parse_key(const char *text, uint8_t key[CONFIG_KEY_BYTES]);

/* Reads its text, which ends in NUL. False, and `key` untouched, when it is anything else. */
bool config_read_key_file(const char *text, uint8_t key[CONFIG_KEY_BYTES]);

#endif
