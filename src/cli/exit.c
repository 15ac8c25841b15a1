/* SPDX-License-Identifier: Apache-2.0 */
#include "src/cli/exit.h"

#include <assert.h>

#include "src/fabric/planted.h"

static const struct cli_exit_info table[] = {
    {CLI_DONE, "done"},
    {CLI_INTERNAL, "an internal error, or standard output could not be written"},
    {CLI_USAGE, "wrong usage: an unknown command, option or value"},
    {CLI_CONFIG, "the configuration or an input file is wrong or cannot be read"},
    {CLI_CANNOT_REACH, "the server cannot be reached, or did not answer in time"},
    {CLI_AUTHENTICATION, "authentication failed: the two ends have different keys"},
    {CLI_FABRIC, "the fabric refuses: port, partition, subnet, MTU, device"},
    {CLI_MISMATCH, "data mismatch: what came back is not what was written"},
    {CLI_NOT_FOUND, "not found"},
    {CLI_STORE, "the store refuses: full, read-only, value too large"},
    {CLI_INTERRUPTED, "interrupted"},
};

const struct cli_exit_info *cli_exit_info(size_t i)
{
    return i < sizeof table / sizeof table[0] ? &table[i] : NULL;
}

static enum cli_exit of_operation(enum fabric_error error)
{
    switch (error) {
    case ERR_NOT_FOUND:
        return CLI_NOT_FOUND;
    case ERR_TOO_LARGE:
    case ERR_STORE_FULL:
    case ERR_READ_ONLY:
    case ERR_QUEUE_FULL:
        return CLI_STORE;
    case ERR_CHECKSUM:
    case ERR_TAG_MISMATCH:
        return CLI_MISMATCH;
    case ERR_TIMEOUT:
        return CLI_CANNOT_REACH;
    case ERR_CANCELLED:
        return CLI_INTERRUPTED;
    case ERR_ACCESS_DENIED:
    case ERR_EXISTS:
    case ERR_SYSFILE_INVALID:
        return CLI_CONFIG;
    case ERR_NOT_SUPPORTED:
        return CLI_FABRIC;
    case ERR_INVALID_ARGUMENT:
        return CLI_USAGE;
    default:
        return CLI_INTERNAL;
    }
}

static enum cli_exit of_connection(enum fabric_error error)
{
    switch (error) {
    case ERR_AUTH_FAILED:
    case ERR_REPLAYED:
        return CLI_AUTHENTICATION;
    case ERR_FRAME_INVALID:
    case ERR_FRAME_TOO_LARGE:
    case ERR_UNSUPPORTED_VERSION:
    case ERR_PEER_GONE:
    case ERR_UNREACHABLE:
    case ERR_DRAINING:
        return PLANTED(cli_unreachable_internal) ? CLI_INTERNAL : CLI_CANNOT_REACH;
    default:
        return CLI_FABRIC;
    }
}

static enum cli_exit of_process(enum fabric_error error)
{
    switch (error) {
    case ERR_CONFIG_INVALID:
    case ERR_MTU_INVALID:
    case ERR_ADDRESS_IN_USE:
    case ERR_BUSY:
    case ERR_MEDIA_FAILED:
    case ERR_MEDIA_VERSION:
    case ERR_TLS_INVALID:
        return CLI_CONFIG;
    case ERR_FALLBACK_TCP:
    case ERR_RDMA_REQUIRED:
        return CLI_FABRIC;
    default:
        return CLI_INTERNAL;
    }
}

enum cli_exit cli_exit_of(enum fabric_error error)
{
    switch (error_info(error)->radius) {
    case ERROR_RADIUS_NONE:
        return CLI_DONE;
    case ERROR_RADIUS_OPERATION:
        return of_operation(error);
    case ERROR_RADIUS_CONNECTION:
        return of_connection(error);
    case ERROR_RADIUS_RAIL:
        return CLI_FABRIC;
    default:
        assert(error_info(error)->radius == ERROR_RADIUS_PROCESS);
        return of_process(error);
    }
}
