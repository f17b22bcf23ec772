// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Symbol visibility. Everything is hidden unless it carries HALYARD_EXPORT.
#pragma once

#if defined(_WIN32)
#define HALYARD_EXPORT
#else
#define HALYARD_EXPORT [[gnu::visibility("default")]]
#endif

// 1 if this translation unit may throw. The library itself is built without exceptions; the inline
// functions of result.h throw in the caller's translation unit.
#if defined(__cpp_exceptions) || defined(__EXCEPTIONS)
#define HALYARD_EXCEPTIONS 1
#else
#define HALYARD_EXCEPTIONS 0
#endif
