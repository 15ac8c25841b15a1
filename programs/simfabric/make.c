/* SPDX-License-Identifier: Apache-2.0 */
/* simfabric generate and validate: topologies before they are brought up. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* The file that is meant: of a folder its topology.yaml, or else the only *.yaml file in it. */
static bool choose(const char *given, char *out, char *detail)
{
    struct stat status;
    struct file_list list = {0};
    snprintf(out, PATH_MAX, "%s", given);
    if (strcmp(given, "-") == 0 || stat(given, &status) != 0 || !S_ISDIR(status.st_mode))
        return true;
    snprintf(out, PATH_MAX, "%s/topology.yaml", given);
    if (access(out, F_OK) == 0)
        return true;
    bool read = file_list_add(&list, given, detail);
    bool found = read && list.count == 1;
    if (found)
        snprintf(out, PATH_MAX, "%s", list.paths[0]);
    else if (read)
        snprintf(detail, FILES_DETAIL, "%s: no topology.yaml, and %zu other *.yaml files: name one",
                 given, list.count);
    file_list_free(&list);
    return found;
}

bool topology_file_read(const char *given, struct topology_file *out)
{
    char detail[FILES_DETAIL], path[PATH_MAX];
    *out = (struct topology_file){.topology = NULL};
    if (!choose(given, path, detail)) {
        simfabric_complain(ERR_CONFIG_INVALID, "%s", detail);
        return false;
    }
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
    const char *path = words->count ? words->arguments[0] : ".";
    if (!topology_file_read(path, &file))
        return SIMFABRIC_CONFIG;
    struct testbed *tb = sim_testbed.create(file.topology, &options, detail);
    if (tb)
        printf("simfabric: valid file=%s nodes=%zu switches=%zu links=%zu\n", path,
               file.topology->node_count, file.topology->switch_count, file.topology->link_count);
    else
        simfabric_complain(ERR_CONFIG_INVALID, "%s: %s", path, detail);
    if (tb)
        sim_testbed.destroy(tb);
    topology_file_free(&file);
    return tb ? SIMFABRIC_DONE : SIMFABRIC_CONFIG;
}
