/* SPDX-License-Identifier: Apache-2.0 */
/* A lock that is only tried, never waited for; atomic, so that it also holds without a GIL. */
#ifndef EXCLUSIVE_H
#define EXCLUSIVE_H

#if defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>
typedef volatile long exclusive;

static inline int exclusive_try_acquire(exclusive *flag)
{
    return _InterlockedExchange(flag, 1) == 0;
}

static inline void exclusive_release(exclusive *flag)
{
    (void)_InterlockedExchange(flag, 0);
}
#else
typedef int exclusive;

static inline int exclusive_try_acquire(exclusive *flag)
{
    return __atomic_exchange_n(flag, 1, __ATOMIC_ACQUIRE) == 0;
}

static inline void exclusive_release(exclusive *flag)
{
    __atomic_store_n(flag, 0, __ATOMIC_RELEASE);
}
#endif

#endif
