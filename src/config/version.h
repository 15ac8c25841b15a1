/* SPDX-License-Identifier: Apache-2.0 */
/* The version of MemKV, in one place. */
#ifndef SRC_CONFIG_VERSION_H
#define SRC_CONFIG_VERSION_H

#define MEMKV_VERSION "0.1.0"

#endif
