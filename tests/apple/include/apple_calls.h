// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Declarations that Apple's C library has and glibc lacks, after the manuals of macOS: pthread(3),
// issetugid(2), getprogname(3), stat(2). Included before everything else.
#pragma once

// glibc's headers for another processor than x86 with 64 bits, and its two-argument form.
#define __regparm__(count) unused
#define pthread_setname_np pthread_setname_np_of_glibc
#include <pthread.h>
#undef pthread_setname_np
#undef __regparm__

#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#define st_mtimespec st_mtim

extern "C" {
int issetugid(void);
const char* getprogname(void);
int pthread_setname_np(const char* name);
int pthread_threadid_np(pthread_t thread, uint64_t* number);
int pthread_cond_timedwait_relative_np(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                       const timespec* left);
}
