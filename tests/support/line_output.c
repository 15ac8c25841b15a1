/* SPDX-License-Identifier: Apache-2.0 */
/* Standard output by the line, also into a pipe: a crash takes no result with it. */
#include <stdio.h>

__attribute__((constructor)) static void line_output(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
}
