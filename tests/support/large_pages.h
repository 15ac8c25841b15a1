/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of which a test can tell whether it was asked for in large (huge) pages. */
#ifndef TESTS_SUPPORT_LARGE_PAGES_H
#define TESTS_SUPPORT_LARGE_PAGES_H

#include <stdbool.h>
#include <stdint.h>

#define LARGE_PAGES_SIZE                                                                           \
    (8u << 20) /* bytes of the mapping: the memory and a guard page at each end */

/* Begins behind the first guard; null where the kernel has no large pages. */
uint8_t *large_pages_new(void);
void large_pages_free(uint8_t *memory);
/* Whether any of it was asked for so. */
bool large_pages_wanted(const uint8_t *memory);

#endif
