/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System files (MK-H1): a node with an InfiniBand port and its IPoIB interface, whose files the
 * input replaces. Its lines are FILE=CONTENT, FILE counted from 0 by its first byte; a line of one
 * byte takes the file away. net show ends with one of its codes and costs no more than it may.
 */
#include <string.h>

#include "src/net/show.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/tree_fabric.h"

static const char *const trees[] = {"tests/net/trees/mlx5-infiniband/tree",
                                    "tests/net/trees/mlx5-roce-bond/tree"};

static void drop(void *context, const char *bytes, size_t length)
{
    size_t *total = context;
    (void)bytes;
    *total += length;
}

static void replace(struct tree_fabric *tree, const uint8_t *data, size_t length)
{
    char path[FABRIC_PATH_MAX];
    while (length > 1) {
        const uint8_t *end = memchr(data, '\n', length);
        size_t line = end ? (size_t)(end - data) : length;
        const struct tree_entry *entry = line ? &tree->entries[data[0] % tree->count] : NULL;
        if (entry && entry->kind == TREE_FILE) {
            memcpy(path, entry->path, sizeof path);
            if (line == 1 && tree->count > 1)
                tree_remove(tree, path);
            else
                tree_set(tree, path, data + 1, line - 1);
        }
        data += end ? line + 1 : line;
        length -= end ? line + 1 : line;
    }
}

static void show(struct tree_fabric *tree, bool json)
{
    size_t total = 0;
    const struct net_output out = {&total, drop};
    const struct net_show_options options = {.json = json, .pretty = json};
    enum cli_exit end = net_show_run(&tree->head, &options, &out, &out);
    HOLDS(total > 0 && total < 1u << 20);
    HOLDS(end == CLI_DONE || end == CLI_CONFIG || end == CLI_NOT_FOUND);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length)
{
    static char *text[2];
    if (length == 0)
        return 0;
    size_t which = data[0] % 2;
    if (!text[which])
        text[which] = tree_slurp(trees[which]);
    struct tree_fabric *tree = tree_fabric_new(text[which]);
    replace(tree, data + 1, length - 1);
    show(tree, false);
    show(tree, true);
    tree_fabric_close(tree);
    return 0;
}
