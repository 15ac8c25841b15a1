/* SPDX-License-Identifier: Apache-2.0 */
/* What verbs leave in errno, in the words of the table. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "fabric_hw/rdma/state.h"

/* Those of a set-up verb; who knows better asks before. EIO and ENODEV: the driver has lost the
 * device. ENODATA: the kernel knows no link address. */
static enum fabric_error error_of(int number)
{
    switch (number) {
    case EIO:
    case ENODEV:
    case ENXIO:
        return ERR_DEVICE_REMOVED;
    case EACCES:
    case EPERM:
        return ERR_ACCESS_DENIED;
    case EOPNOTSUPP:
    case ENOSYS:
    case EPROTONOSUPPORT:
        return ERR_NOT_SUPPORTED;
    case ETIMEDOUT:
    case EHOSTUNREACH:
    case ENETUNREACH:
    case EHOSTDOWN:
    case ENETDOWN:
    case ENODATA:
    case EADDRNOTAVAIL:
        return ERR_UNREACHABLE;
    case EINVAL:
    case ERANGE:
    case EFAULT:
        return ERR_INVALID_ARGUMENT;
    default: /* ENOMEM, EMFILE, ENOSPC, EAGAIN, EBUSY */
        return ERR_RESOURCES_EXHAUSTED;
    }
}

enum fabric_error rdma_failed(struct rdma_device *device, const char *verb, int number)
{
    char line[256], reason[64];
    enum fabric_error error = error_of(number);
    const char *text = strerror_r(number, reason, sizeof(reason)) == 0 ? reason : "";
    struct fabric *f = device->rdma->f;
    snprintf(line, sizeof(line), "%s: %s failed: %d (%s), taken as %s", device->name, verb, number,
             text, error_name(error));
    (void)f->ops->log(f, FABRIC_LOG_DEBUG, line);
    return error;
}
