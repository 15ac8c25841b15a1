/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program on a node, as the daemon knows it: a process, and its memory. A process number alone is
 * never trusted, since it may name another process by now: a descriptor of the process is held from
 * the time when it opened the device.
 */
#ifndef FABRIC_SIM_SIMFABRIC_PROGRAM_H
#define FABRIC_SIM_SIMFABRIC_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct program {
    pid_t pid;
    int pidfd; /* -1: none */
};

/* The process at the other end of a connected socket of this machine. False when it is gone or may
 * not be known. */
bool program_open(struct program *program, int socket);
void program_close(struct program *program);
bool program_lives(const struct program *program);

/* Copies all of `length` bytes from or to the address in the program, or returns false: it is gone,
 * or that part of its memory is. */
bool program_read(const struct program *program, uint64_t from, void *to, uint64_t length);
bool program_write(const struct program *program, uint64_t to, const void *from, uint64_t length);

#endif
