/* SPDX-License-Identifier: Apache-2.0 */
/* What a client is opened with: options of the caller, over the environment, over a file (MK-K2).
 */
#ifndef LIB_OPTIONS_H
#define LIB_OPTIONS_H

#include "fabric_hw/os/os.h"
#include "include/memkv/memkv.h"
#include "src/config/client_config.h"

struct lib_options {
    struct client_config config; /* with the key, also where a file holds it */
    char prefix[MEMKV_MAX_KEY + 1];
    struct os_fabric_options fabric;
};

/* Reads everything; nothing of `given` (may be null) is kept. Errors: config_invalid, mtu_invalid,
 * invalid_argument, resources_exhausted; what is in `out` then means nothing. Returns the public
 * number. The caller wipes *out: it holds the key. */
int lib_options_read(const struct memkv_options *given, struct lib_options *out,
                     struct memkv_error *error);

#endif
