/* SPDX-License-Identifier: Apache-2.0 */
/* memkv://HOST:PORT[,HOST:PORT...][/NAMESPACE][?KEY=VALUE[&KEY=VALUE...]], the form in which a
 * client of the plug-in is opened (include/memkv/plugin.h). Generic syntax: RFC 3986. */
#ifndef LIB_URI_H
#define LIB_URI_H

#include "include/memkv/memkv.h"
#include "include/memkv/plugin.h"

#define LIB_URI_SETTINGS 32 /* KEY=VALUE, at most */

struct lib_uri {
    /* "servers=...", then what the query says; ends in null. Point into `text`. */
    const char *settings[LIB_URI_SETTINGS + 2];
    const char *prefix; /* "NAMESPACE/", or "" */
    /* What is decoded: no longer than the URI, but for "servers=", the '/' of the prefix, and a NUL
     * after each. */
    char text[MEMKV_PLUGIN_MAX_URI + LIB_URI_SETTINGS + 16];
};

/* Returns the public number: MEMKV_OK, or config_invalid, whose text has the column (from 1) and
 * never a part of the URI. `uri` may be null, which is an error like others. */
int lib_uri_read(const char *uri, struct lib_uri *out, struct memkv_error *error);

#endif
