/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "include/memkv/memkv.h"
#include "src/config/version.h"

const char *memkv_version(void)
{
    return MEMKV_VERSION;
}

void memkv_free(void *data)
{
    free(data);
}
