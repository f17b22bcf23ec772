// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// HALYARD_ASAN, HALYARD_TSAN: 1 if compiled with that sanitizer, otherwise 0. g++ defines macros
// for it, clang features.
#pragma once

#ifdef __has_feature
#define HALYARD_HAS_FEATURE(feature) __has_feature(feature)
#else
#define HALYARD_HAS_FEATURE(feature) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || HALYARD_HAS_FEATURE(address_sanitizer)
#define HALYARD_ASAN 1
#else
#define HALYARD_ASAN 0
#endif

#if defined(__SANITIZE_THREAD__) || HALYARD_HAS_FEATURE(thread_sanitizer)
#define HALYARD_TSAN 1
#else
#define HALYARD_TSAN 0
#endif
