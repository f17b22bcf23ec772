// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// dyld(3)
#pragma once

#include <stdint.h>

extern "C" int _NSGetExecutablePath(char* path, uint32_t* size);
