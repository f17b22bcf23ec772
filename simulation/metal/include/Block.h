// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies of blocks. A block is an object: copy, retain and release do the same.
#pragma once

#include <objc/objc.h>

OBJC_EXPORT void* _Block_copy(const void* block);
OBJC_EXPORT void _Block_release(const void* block);

#define Block_copy(...) ((__typeof(__VA_ARGS__))_Block_copy((const void*)(__VA_ARGS__)))
#define Block_release(...) _Block_release((const void*)(__VA_ARGS__))
