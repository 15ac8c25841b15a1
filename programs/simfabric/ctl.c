/* SPDX-License-Identifier: Apache-2.0 */
/* simfabric ctl: the fault words of the scenario language on a fabric that is up. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fabric_sim/simfabric/control.h"
#include "programs/simfabric/make.h"
#include "src/scenario/fault_line.h"

/* The words as they were typed, and a caret below the place. */
static int point(const struct words *words, const struct fault_complaint *complaint)
{
    size_t indent = 0;
    fprintf(stderr, "simfabric: %s: ctl, word %zu, column %zu: %s\n ",
            error_name(ERR_CONFIG_INVALID), complaint->word + 1, complaint->column + 1,
            complaint->text);
    for (size_t i = 0; i < words->count; i++) {
        fprintf(stderr, " %s", words->arguments[i]);
        if (i < complaint->word)
            indent += strlen(words->arguments[i]) + 1;
    }
    fprintf(stderr, "\n%*s^\n", (int)(indent + complaint->column + 2), "");
    return SIMFABRIC_USAGE;
}

static int tell(enum testbed_result result, const char *detail)
{
    static const enum fabric_error errors[] = {[TESTBED_DONE] = FABRIC_OK,
                                               [TESTBED_LACKS] = ERR_NOT_SUPPORTED,
                                               [TESTBED_WRONG] = ERR_INVALID_ARGUMENT,
                                               [TESTBED_FAILED] = ERR_UNREACHABLE};
    if (result == TESTBED_DONE)
        return SIMFABRIC_DONE;
    simfabric_complain(errors[result], "%s", detail);
    return result == TESTBED_FAILED ? SIMFABRIC_UNREACHABLE : SIMFABRIC_REFUSED;
}

static int apply(const struct words *words, const struct topology *topology, int socket)
{
    char detail[TESTBED_DETAIL];
    struct fault_line line = {.tree = NULL};
    struct fault_complaint complaint;
    if (!fault_line_read(topology, words->arguments, words->count, &line, &complaint))
        return point(words, &complaint);
    enum testbed_result result = control_fault(socket, &line.fault, detail);
    fault_line_free(&line);
    return tell(result, detail);
}

static int apply_to(const struct instance *instance, const struct words *words, int socket)
{
    struct topology_file file;
    if (!topology_file_read(instance->topology, &file))
        return SIMFABRIC_INTERNAL;
    int status = apply(words, file.topology, socket);
    topology_file_free(&file);
    return status;
}

int words_ctl(const struct instance *instance, const struct words *words)
{
    char detail[TESTBED_DETAIL];
    if (words->count == 0)
        return words_usage("ctl needs a fault word; `simfabric ctl --help` lists them", NULL);
    int status, socket = simfabric_connect(instance);
    if (socket < 0)
        return SIMFABRIC_UNREACHABLE;
    if (strcmp(words->arguments[0], "undo") != 0)
        status = apply_to(instance, words, socket);
    else if (words->count == 1)
        status = tell(control_undo(socket, detail), detail);
    else
        status = words_usage("undo takes everything back, not", words->arguments[1]);
    close(socket);
    return status;
}
