/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/aborts.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

bool aborts(void (*wrong)(void *context), void *context)
{
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        const struct rlimit no_core = {0, 0};
        int null = open("/dev/null", O_WRONLY);
        setrlimit(RLIMIT_CORE, &no_core);
        dup2(null, STDERR_FILENO); /* the assertion's text is expected: it would only confuse */
        signal(SIGABRT, SIG_DFL);
        wrong(context);
        _exit(0);
    }
    return child > 0 && waitpid(child, &status, 0) == child && WIFSIGNALED(status) &&
           WTERMSIG(status) == SIGABRT;
}
