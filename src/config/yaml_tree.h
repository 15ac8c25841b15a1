/* SPDX-License-Identifier: Apache-2.0 */
/* The tree's inside, for the files of this room only. */
#ifndef SRC_CONFIG_YAML_TREE_H
#define SRC_CONFIG_YAML_TREE_H

#include "src/config/yaml.h"

struct yaml_value {
    enum yaml_kind kind;
    struct yaml_mark mark;
    size_t begin; /* position in the file, in characters */
    char *text;   /* scalar */
    bool quoted;
    size_t count, room;
    struct yaml_value **keys; /* mapping */
    struct yaml_value **items;
};

/* Wipes and releases a text, which may be a key; null is fine. */
void yaml_text_free(char *text);
void yaml_value_free(struct yaml_value *value); /* null is fine */
/* Appends (`key` null: to a sequence); the container owns both afterwards, also when false (no
 * memory) is returned. */
bool yaml_value_append(struct yaml_value *to, struct yaml_value *key, struct yaml_value *item);

#endif
