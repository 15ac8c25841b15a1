/* SPDX-License-Identifier: Apache-2.0 */
/* Standard output by the line, also into a pipe: results before a crash are not lost with a buffer. */
#include <stdio.h>

__attribute__((constructor)) static void line_output(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
}
