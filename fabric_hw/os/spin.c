/* SPDX-License-Identifier: Apache-2.0 */
#include "fabric_hw/os/spin.h"

#include <assert.h>
#include <stddef.h>

#include "src/fabric/planted.h"

bool os_spin_is_due(struct os_spin *spin)
{
    assert(spin && spin->left <= OS_SPIN_PAUSE);
    if (spin->left == 0)
        return true;
    spin->left--;
    return PLANTED(os_spin_always);
}

void os_spin_was(struct os_spin *spin, bool good)
{
    assert(spin && spin->pause <= OS_SPIN_PAUSE);
    if (good)
        spin->pause = 0;
    else if (spin->pause < OS_SPIN_PAUSE)
        spin->pause = spin->pause ? spin->pause * 2 : 1;
    spin->left = spin->pause;
}
