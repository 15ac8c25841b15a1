/* SPDX-License-Identifier: Apache-2.0 */
/* The tree's inside, for the files of this room only. */
#ifndef SRC_CONFIG_YAML_TREE_H
#define SRC_CONFIG_YAML_TREE_H

#include "src/config/yaml.h"

struct yaml_value {
    enum yaml_kind kind;
    struct yaml_mark mark;
    size_t begin, end; /* bytes of the file */
    char *text;        /* scalar */
    bool quoted;
    size_t count, room;
    struct yaml_value **keys; /* mapping */
    struct yaml_value **items;
};

#endif
