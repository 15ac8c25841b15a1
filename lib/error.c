/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/error.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "src/fabric/planted.h"
#include "src/rail/rail.h"

int lib_error_code(enum fabric_error error)
{
    static const int codes[ERR_COUNT] = {
        [FABRIC_OK] = MEMKV_OK,
#define X(upper, lower, radius, text, cause, fix) [ERR_##upper] = MEMKV_ERR_##upper,
#include "src/fabric/errors.def"
#undef X
    };
    assert((unsigned)error < ERR_COUNT && (!error || codes[error]));
    return codes[error];
}

static bool is_retriable(enum fabric_error error)
{
    switch (error) {
    case ERR_STORE_FULL:
    case ERR_TAG_MISMATCH:
    case ERR_TIMEOUT:
    case ERR_QUEUE_FULL:
    case ERR_REPLAYED:
    case ERR_FRAME_INVALID:
    case ERR_STALE_GENERATION:
    case ERR_PROBE_FAILED:
    case ERR_RETRY_EXCEEDED:
    case ERR_RNR_EXCEEDED:
    case ERR_REMOTE_ACCESS:
    case ERR_REMOTE_INVALID:
    case ERR_REMOTE_OPERATION:
    case ERR_FLUSHED:
    case ERR_PEER_GONE:
    case ERR_UNREACHABLE:
    case ERR_DRAINING:
    case ERR_NO_LID:
    case ERR_PEER_NO_LID:
    case ERR_WAITING_FOR_SM:
    case ERR_PORT_DOWN:
    case ERR_SM_NO_RESOURCES:
    case ERR_DEVICE_REMOVED:
    case ERR_RESOURCES_EXHAUSTED:
    case ERR_BUSY:
        return !PLANTED(lib_nothing_retriable);
    default:
        return false;
    }
}

static bool is_fatal(enum fabric_error error)
{
    if (is_retriable(error))
        return false;
    return error == ERR_AUTH_FAILED || error == ERR_UNSUPPORTED_VERSION ||
           rail_is_configuration(error) || error_info(error)->radius == ERROR_RADIUS_PROCESS;
}

static enum memkv_radius radius_of(enum fabric_error error)
{
    switch (error_info(error)->radius) {
    case ERROR_RADIUS_NONE:
        return MEMKV_RADIUS_NONE;
    case ERROR_RADIUS_OPERATION:
        return MEMKV_RADIUS_OPERATION;
    case ERROR_RADIUS_CONNECTION:
        return MEMKV_RADIUS_CONNECTION;
    case ERROR_RADIUS_RAIL:
        return MEMKV_RADIUS_RAIL;
    default:
        return MEMKV_RADIUS_PROCESS;
    }
}

int lib_error_set(struct memkv_error *out, enum fabric_error error, const char *where,
                  const char *detail)
{
    int code = lib_error_code(error);
    if (!out)
        return code;
    *out = (struct memkv_error){.code = code,
                                .name = error_name(error),
                                .radius = radius_of(error),
                                .retriable = is_retriable(error),
                                .fatal = is_fatal(error)};
    snprintf(out->text, sizeof out->text, "%s%s%s", where ? where : "", where ? ": " : "",
             detail && *detail ? detail : error_info(error)->text);
    return code;
}

int lib_error_none(struct memkv_error *out)
{
    if (!out)
        return MEMKV_OK;
    memset(out, 0, offsetof(struct memkv_error, text) + 1); /* at every request that succeeds */
    out->name = error_name(FABRIC_OK);
    return MEMKV_OK;
}
