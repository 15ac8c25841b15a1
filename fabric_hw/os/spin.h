/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether it pays to look for events again and again before going to sleep. To be woken takes
 * longer than most answers do; but looking takes a processor away, which the one that is to answer
 * may need. So whoever looked in vain sleeps at once the next times: once, then twice as often with
 * every further vain look, up to OS_SPIN_PAUSE times. One look that found something forgets that.
 */
#ifndef FABRIC_HW_OS_SPIN_H
#define FABRIC_HW_OS_SPIN_H

#include <stdbool.h>
#include <stdint.h>

#define OS_SPIN_TIME UINT64_C(50000) /* ns that are spent looking, at most */
#define OS_SPIN_PAUSE 4096u          /* waits */

struct os_spin {
    uint32_t pause, left; /* waits without looking: after the latest vain look; of them to come */
};

/* Whether this wait begins with a look. */
bool os_spin_is_due(struct os_spin *spin);
/* What came of it. */
void os_spin_was(struct os_spin *spin, bool good);

#endif
