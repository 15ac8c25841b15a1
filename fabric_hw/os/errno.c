/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <errno.h>

#include "fabric_hw/os/os.h"
#include "fabric_hw/os/state.h"

struct entry {
    int number;
    enum fabric_error error;
};

static const struct entry entries[] = {
    {ENOENT, ERR_NOT_FOUND},
    {ENOTDIR, ERR_NOT_FOUND},
    {ENODEV, ERR_NOT_FOUND},
    {ENXIO, ERR_NOT_FOUND},
    {EEXIST, ERR_EXISTS},
    {ENOTEMPTY, ERR_EXISTS},
    {EACCES, ERR_ACCESS_DENIED},
    {EPERM, ERR_ACCESS_DENIED},
    {EBUSY, ERR_BUSY},
    {ETXTBSY, ERR_BUSY},
    {EFBIG, ERR_TOO_LARGE},
    {ENOSPC, ERR_STORE_FULL},
    {EDQUOT, ERR_STORE_FULL},
    {EROFS, ERR_READ_ONLY},
    {EIO, ERR_MEDIA_FAILED},
    {EINVAL, ERR_INVALID_ARGUMENT},
    {ENAMETOOLONG, ERR_INVALID_ARGUMENT},
    {ELOOP, ERR_INVALID_ARGUMENT},
    {EISDIR, ERR_INVALID_ARGUMENT},
    {EADDRNOTAVAIL, ERR_INVALID_ARGUMENT},
    {EAFNOSUPPORT, ERR_INVALID_ARGUMENT},
    {EXDEV, ERR_INVALID_ARGUMENT},
    {EADDRINUSE, ERR_ADDRESS_IN_USE},
    {EOPNOTSUPP, ERR_NOT_SUPPORTED},
    {ENOSYS, ERR_NOT_SUPPORTED},
    {EMFILE, ERR_RESOURCES_EXHAUSTED},
    {ENFILE, ERR_RESOURCES_EXHAUSTED},
    {ENOMEM, ERR_RESOURCES_EXHAUSTED},
    {ENOBUFS, ERR_RESOURCES_EXHAUSTED},
    {EAGAIN, ERR_RESOURCES_EXHAUSTED},
    {ECONNRESET, ERR_PEER_GONE},
    {EPIPE, ERR_PEER_GONE},
    {ENOTCONN, ERR_PEER_GONE},
    {ECONNABORTED, ERR_PEER_GONE},
    {ECONNREFUSED, ERR_UNREACHABLE},
    {EHOSTUNREACH, ERR_UNREACHABLE},
    {ENETUNREACH, ERR_UNREACHABLE},
    {EHOSTDOWN, ERR_UNREACHABLE},
    {ENETDOWN, ERR_UNREACHABLE},
    {ETIMEDOUT, ERR_TIMEOUT},
};

enum fabric_error os_error(int number)
{
    assert(number > 0);
    for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
        if (entries[i].number == number)
            return entries[i].error;
    }
    return ERR_INTERNAL;
}

enum fabric_error os_io_error(int number)
{
    enum fabric_error error = os_error(number);
    switch (error) {
    case ERR_NOT_FOUND:
    case ERR_EXISTS:
    case ERR_ACCESS_DENIED:
    case ERR_BUSY:
    case ERR_TOO_LARGE:
    case ERR_STORE_FULL:
    case ERR_READ_ONLY:
    case ERR_INVALID_ARGUMENT:
    case ERR_NOT_SUPPORTED:
    case ERR_RESOURCES_EXHAUSTED:
        return error;
    default:
        return ERR_MEDIA_FAILED;
    }
}
