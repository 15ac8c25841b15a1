/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fast one process copies into memory that it shares with another: usage `memcpy_pair BYTES
 * [COUNT]`. The other process made the memory and watches the last byte, as a receiver would.
 * Prints MiB a second of the best of five runs.
 */
#define _GNU_SOURCE /* memfd_create */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define RUNS 5

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double run(uint8_t *to, uint8_t *from, size_t bytes, int count)
{
    double begin = seconds();
    for (int i = 0; i < count; i++) {
        from[bytes - 1] = (uint8_t)(i + 1);
        memcpy(to, from, bytes);
        __asm__ volatile("" : : "r"(to) : "memory"); /* each copy is made */
    }
    return (double)bytes * count / (seconds() - begin) / (1 << 20);
}

int main(int argc, char **argv)
{
    size_t bytes = argc > 1 ? strtoull(argv[1], NULL, 10) : 2u << 20;
    int count = argc > 2 ? atoi(argv[2]) : 500, fd = memfd_create("memcpy", 0);
    if (fd < 0 || bytes == 0 || ftruncate(fd, (off_t)bytes) != 0)
        return 2;
    uint8_t *shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    uint8_t *own = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED || own == MAP_FAILED)
        return 2;
    memset(own, 1, bytes);
    pid_t other = fork();
    if (other < 0)
        return 2;
    if (other == 0) {
        memset(shared, 1, bytes); /* its pages */
        for (;;)
            pause();
    }
    double best = 0;
    for (int i = 0; i < RUNS; i++) {
        double one = run(shared, own, bytes, count);
        best = one > best ? one : best;
    }
    kill(other, SIGKILL);
    waitpid(other, NULL, 0);
    printf("%.0f MiB/s\n", best);
    return 0;
}
