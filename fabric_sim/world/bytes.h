/* SPDX-License-Identifier: Apache-2.0 */
/* Integers in network order inside byte arrays. */
#ifndef FABRIC_SIM_WORLD_BYTES_H
#define FABRIC_SIM_WORLD_BYTES_H

#include <stdint.h>

static inline uint16_t bytes_get16(const uint8_t *at)
{
    return (uint16_t)(at[0] << 8 | at[1]);
}

static inline uint32_t bytes_get24(const uint8_t *at)
{
    return (uint32_t)at[0] << 16 | (uint32_t)at[1] << 8 | at[2];
}

static inline uint32_t bytes_get32(const uint8_t *at)
{
    return (uint32_t)bytes_get16(at) << 16 | bytes_get16(at + 2);
}

static inline uint64_t bytes_get64(const uint8_t *at)
{
    return (uint64_t)bytes_get32(at) << 32 | bytes_get32(at + 4);
}

static inline void bytes_put16(uint8_t *at, uint16_t value)
{
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
}

static inline void bytes_put24(uint8_t *at, uint32_t value)
{
    at[0] = (uint8_t)(value >> 16);
    bytes_put16(at + 1, (uint16_t)value);
}

static inline void bytes_put32(uint8_t *at, uint32_t value)
{
    bytes_put16(at, (uint16_t)(value >> 16));
    bytes_put16(at + 2, (uint16_t)value);
}

static inline void bytes_put64(uint8_t *at, uint64_t value)
{
    bytes_put32(at, (uint32_t)(value >> 32));
    bytes_put32(at + 4, (uint32_t)value);
}

#endif
