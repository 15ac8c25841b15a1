/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes to a tree in place, by those who own it. Marks stay where they were in the file. Each
 * aborts when memory is out.
 */
#ifndef SRC_CONFIG_YAML_EDIT_H
#define SRC_CONFIG_YAML_EDIT_H

#include "src/config/yaml.h"

/* The tree's root, for its owner. */
struct yaml_value *yaml_root_edit(struct yaml_tree *tree);

/* The value under `key`, null when there is none. */
struct yaml_value *yaml_find_edit(struct yaml_value *mapping, const char *key);
/* `text` is copied. */
void yaml_set_text(struct yaml_value *scalar, const char *text, bool quoted);
/* Removes `key` and its value; nothing happens when there is none. */
void yaml_remove(struct yaml_value *mapping, const char *key);
/* Each adds a `key` that is not there yet at the end, with the mark of the mapping. */
struct yaml_value *yaml_add_mapping(struct yaml_value *mapping, const char *key);
void yaml_add_text(struct yaml_value *mapping, const char *key, const char *text);
struct yaml_value *yaml_add_sequence(struct yaml_value *mapping, const char *key);
/* Appends a scalar to a sequence. */
void yaml_add_item(struct yaml_value *sequence, const char *text);
/* A value with all that is in it stands in no text: complaints name no place. */
void yaml_unmark(struct yaml_value *value);
/* Where `key`, which is there, and its value are said to stand from now on. */
void yaml_set_mark(struct yaml_value *mapping, const char *key, struct yaml_mark mark);

struct yaml_edit {
    /* Whether an item of a list, or the value of a mapping with its key, stays; *keep is true
     * before. It may change the item. False after a complaint. */
    bool (*keep)(void *context, struct yaml_value *item, bool *keep);
    /* May change a scalar: a value that stays, or its key. False after a complaint. */
    bool (*scalar)(void *context, struct yaml_value *scalar);
    void *context;
};

/* Goes through `value` and all below it in the order of the file; false when a callback returned
 * false. Two keys of a mapping may be equal afterwards: yaml_check_keys says so. */
bool yaml_edit(struct yaml_value *value, const struct yaml_edit *edit);
/* Complains about equal keys anywhere below `value`; true when there are none. */
bool yaml_check_keys(const struct yaml_value *value, struct yaml_errors *errors);

#endif
