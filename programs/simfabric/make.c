/* SPDX-License-Identifier: Apache-2.0 */
/* simfabric generate and validate: topologies before they are brought up. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "programs/simfabric/make.h"
#include "src/scenario/topology_generate.h"

int words_generate(const struct instance *instance, const struct words *words)
{
    char detail[TOPOLOGY_DETAIL];
    struct text text = {0};
    const struct topology_sizes sizes = {
        .nodes = words->nodes, .radix = words->radix, .rails = words->rails};
    (void)instance;
    if (words->count == 0)
        return words_usage("generate needs a shape; `simfabric generate --help` lists them", NULL);
    bool made = topology_generate(words->arguments[0], &sizes, &text, detail);
    if (made)
        printf("# SPDX-License-Identifier: CC0-1.0\n%s", text_data(&text));
    text_free(&text);
    return made ? SIMFABRIC_DONE : words_usage(detail, NULL);
}

/* Not by a name such as /dev/stdin: opening that needs rights that reading does not. */
static bool read_input(struct text *out, char *detail)
{
    char part[4096];
    size_t got;
    text_add(out, "%s", "");
    while ((got = fread(part, 1, sizeof(part), stdin)) > 0 && out->length <= YAML_MAX_BYTES)
        text_add_bytes(out, part, got);
    snprintf(detail, FILES_DETAIL, "standard input cannot be read: %s", strerror(errno));
    return !ferror(stdin);
}

bool topology_file_read(const char *path, struct topology_file *out)
{
    char detail[FILES_DETAIL];
    *out = (struct topology_file){.topology = NULL};
    bool input = strcmp(path, "-") == 0;
    if (!(input ? read_input(&out->text, detail) : file_read(path, &out->text, detail))) {
        simfabric_complain(ERR_CONFIG_INVALID, "%s", detail);
        text_free(&out->text);
        return false;
    }
    yaml_errors_init(&out->errors, path);
    struct yaml_tree *tree = yaml_parse(out->text.data, out->text.length, &out->errors);
    out->topology = tree ? topology_read(yaml_root(tree), &out->arena, &out->errors) : NULL;
    yaml_tree_free(tree);
    for (size_t i = 0; i < out->errors.count; i++)
        fprintf(stderr, "%s\n", out->errors.items[i].text);
    if (out->topology)
        return true;
    topology_file_free(out);
    return false;
}

void topology_file_free(struct topology_file *file)
{
    arena_free(&file->arena);
    text_free(&file->text);
    file->topology = NULL;
}

/* All that can be seen without a world, and then whether there can be such a world. */
int words_validate(const struct instance *instance, const struct words *words)
{
    char detail[TESTBED_DETAIL];
    struct topology_file file;
    const struct testbed_options options = {.seed = 1, .caps = FABRIC_CAPS_ALL};
    (void)instance;
    if (words->count == 0)
        return words_usage("validate needs the file of a topology", NULL);
    if (!topology_file_read(words->arguments[0], &file))
        return SIMFABRIC_CONFIG;
    struct testbed *tb = sim_testbed.create(file.topology, &options, detail);
    if (tb)
        printf("simfabric: valid file=%s nodes=%zu switches=%zu links=%zu\n", words->arguments[0],
               file.topology->node_count, file.topology->switch_count, file.topology->link_count);
    else
        simfabric_complain(ERR_CONFIG_INVALID, "%s: %s", words->arguments[0], detail);
    if (tb)
        sim_testbed.destroy(tb);
    topology_file_free(&file);
    return tb ? SIMFABRIC_DONE : SIMFABRIC_CONFIG;
}
