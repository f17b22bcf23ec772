// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// sysctl(3)
#pragma once

#include <stddef.h>

extern "C" int sysctlbyname(const char* name, void* old, size_t* old_size, void* fresh,
                            size_t fresh_size);
