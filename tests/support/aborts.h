/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a programmer error is answered by an abort. */
#ifndef TESTS_SUPPORT_ABORTS_H
#define TESTS_SUPPORT_ABORTS_H

#include <stdbool.h>

/* Runs `wrong` in a child process; true when that ended by abort(). */
bool aborts(void (*wrong)(void *context), void *context);

#endif
