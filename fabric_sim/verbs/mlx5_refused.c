/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rest of libmlx5: work-queue entries and doorbells of the real device, DevX, steering, keys.
 * Nothing of it can be served by functions alone. The names must be there, because programs are
 * bound to all of them when they are loaded.
 *
 * Only the names are many. What they stand for takes no arguments into account, which the calling
 * conventions of this house's machines (x86-64, AArch64) allow: the caller passes and forgets them.
 */
#include <errno.h>
#include <stddef.h>

#define KEEP __attribute__((used, noinline))

KEEP static void *mlx5_refuse_pointer(void)
{
    errno = EOPNOTSUPP;
    return NULL;
}

KEEP static int mlx5_refuse_error(void)
{
    return EOPNOTSUPP;
}

KEEP static ptrdiff_t mlx5_refuse_minus(void)
{
    errno = EOPNOTSUPP;
    return -1;
}

KEEP static void mlx5_refuse_nothing(void)
{
}

#define ALIAS(name, to)                                                                            \
    __asm__(".globl " #name "\n.type " #name ", %function\n.set " #name ", " #to);
#define REFUSED_POINTER(name) ALIAS(name, mlx5_refuse_pointer)
#define REFUSED_ERROR(name) ALIAS(name, mlx5_refuse_error)
#define REFUSED_MINUS(name) ALIAS(name, mlx5_refuse_minus)
#define REFUSED_NOTHING(name) ALIAS(name, mlx5_refuse_nothing)
#include "fabric_sim/verbs/mlx5_refused.def"

/* The one name with two versions. */
#define VERSION(own, versioned)                                                                    \
    ALIAS(own, mlx5_refuse_error) __asm__(".symver " #own ", " versioned);
VERSION(mlx5_init_obj_1_0, "mlx5dv_init_obj@MLX5_1.0")
VERSION(mlx5_init_obj_1_2, "mlx5dv_init_obj@@MLX5_1.2")
