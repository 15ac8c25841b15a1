/* SPDX-License-Identifier: Apache-2.0 */
#include "src/fabric/planted.h"

#ifdef MEMKV_PLANTED
#include <stdlib.h>
#include <string.h>

int planted_is(const char *name)
{
    const char *selected = getenv("MEMKV_PLANTED");
    return selected && strcmp(selected, name) == 0;
}
#else
typedef int planted_c_is_empty_here; /* a translation unit must declare something */
#endif
