/* SPDX-License-Identifier: Apache-2.0 */
/* The verbs where no part serves them: no device is listed, none is found, and every other call
 * names a handle that was never given out. */
#include "fabric_hw/os/state.h"

static void ignore(struct fabric *f, ...)
{
    assert(f);
}

#define X(upper, lower, parameters, arguments, fault)                                              \
    static enum fabric_error none_##lower parameters                                               \
    {                                                                                              \
        struct fabric *next = f;                                                                   \
        ignore arguments;                                                                          \
        assert(0 && "a handle that was never given out");                                          \
        return fault;                                                                              \
    }
#include "src/fabric/ops.def"
#undef X

const struct fabric_ops os_no_device = {
#define X(upper, lower, parameters, arguments, fault) .lower = none_##lower,
#include "src/fabric/ops.def"
#undef X
};

enum fabric_error os_device_list(struct fabric *f, char (*names)[FABRIC_NAME_MAX], size_t capacity,
                                 size_t *count)
{
    (void)f;
    (void)names;
    (void)capacity;
    *count = 0;
    return FABRIC_OK;
}

enum fabric_error os_device_open(struct fabric *f, const char *name, fabric_device *out)
{
    (void)f;
    (void)name;
    (void)out;
    return ERR_NOT_FOUND;
}
