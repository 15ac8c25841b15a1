/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The commands of src/net on a described tree, for people and scripts:
 *
 *     net show TREE [--json] [--device NAME]
 *     net ipoib TREE INTERFACE [--connected] [--mtu N] [--apply] [--persist] [--json]
 *
 * TREE is the file of a tree below tests/net/trees. Ends as the command would.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/net/ipoib.h"
#include "src/net/show.h"
#include "tests/support/tree_fabric.h"

static void put(void *context, const char *bytes, size_t length)
{
    fwrite(bytes, 1, length, context);
}

static bool has(char **words, const char *word)
{
    for (; *words; words++) {
        if (strcmp(*words, word) == 0)
            return true;
    }
    return false;
}

static const char *value_of(char **words, const char *word)
{
    for (; *words; words++) {
        if (strcmp(*words, word) == 0)
            return words[1];
    }
    return NULL;
}

int main(int argc, char **argv)
{
    const struct net_output out = {stdout, put}, talk = {stderr, put};
    bool ipoib = argc > 3 && strcmp(argv[1], "ipoib") == 0;
    if (!ipoib && !(argc > 2 && strcmp(argv[1], "show") == 0)) {
        fprintf(stderr, "usage: net show TREE [...] | net ipoib TREE INTERFACE [...]\n");
        return CLI_USAGE;
    }
    struct tree_fabric *tree = tree_fabric_open(argv[2]);
    char **words = argv + 3;
    enum cli_exit end;
    if (ipoib) {
        const char *mtu = value_of(words, "--mtu");
        struct net_ipoib_options options = {.interface = argv[3],
                                            .connected = has(words, "--connected"),
                                            .mtu = mtu ? (uint32_t)strtoul(mtu, NULL, 10) : 0,
                                            .apply = has(words, "--apply"),
                                            .persist = has(words, "--persist"),
                                            .json = has(words, "--json"),
                                            .pretty = true};
        end = net_ipoib_run(&tree->head, &options, &out, &talk);
    } else {
        struct net_show_options options = {
            .device = value_of(words, "--device"), .json = has(words, "--json"), .pretty = true};
        end = net_show_run(&tree->head, &options, &out, &talk);
    }
    tree_fabric_close(tree);
    return (int)end;
}
