/* SPDX-License-Identifier: Apache-2.0 */
/* simfabric exec and shell: this process becomes a program on a node. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "programs/simfabric/words.h"

static int run(const struct instance *instance, const char *node, char *const *program)
{
    char plugin[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", plugin, sizeof(plugin) - 1);
    if (length <= 0) {
        simfabric_complain(ERR_INTERNAL, "/proc does not say where this program is");
        return SIMFABRIC_EXEC_FAILED;
    }
    plugin[length] = '\0'; /* .../simfabric: the plug-in lies beside it */
    return simfabric_exec(instance, node, plugin, program);
}

int words_exec(const struct instance *instance, const struct words *words)
{
    if (!words->node || !words->node[0])
        return words_usage("exec needs --node NODE", NULL);
    if (!words->program || !words->program[0])
        return words_usage("exec needs a program after --", NULL);
    return run(instance, words->node, words->program);
}

/* What bash reads first: the user's own, then a prompt that says where it is. */
static bool write_start(const struct instance *instance, const char *node, char *path, size_t size)
{
    if ((size_t)snprintf(path, size, "%s/nodes/%s/bashrc", instance->folder, node) >= size)
        return false;
    FILE *file = fopen(path, "we");
    if (!file)
        return false;
    bool written = fprintf(file,
                           "[ -r ~/.bashrc ] && . ~/.bashrc\n"
                           "PS1='[%s of %s] \\w\\$ '\n",
                           node, instance->name) > 0;
    return fclose(file) == 0 && written;
}

int words_shell(const struct instance *instance, const struct words *words)
{
    char start[PATH_MAX], prompt[256], plainest[] = "/bin/sh", *shell = getenv("SHELL");
    if (!words->node || !words->node[0])
        return words_usage("shell needs --node NODE", NULL);
    if (!shell || !shell[0])
        shell = plainest;
    const char *slash = strrchr(shell, '/');
    bool bash = strcmp(slash ? slash + 1 : shell, "bash") == 0 && !strchr(words->node, '/') &&
                write_start(instance, words->node, start, sizeof(start));
    snprintf(prompt, sizeof(prompt), "[%s of %s] $ ", words->node, instance->name);
    setenv("PS1", prompt, 1);
    char *with[] = {shell, (char[]){"--rcfile"}, start, (char[]){"-i"}, NULL};
    char *plain[] = {shell, (char[]){"-i"}, NULL};
    return run(instance, words->node, bash ? with : plain);
}
