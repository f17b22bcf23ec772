// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For a 64-bit target that glibc does not know: glibc's own header takes it for 32-bit x86.
#define __WORDSIZE 64
#define __WORDSIZE_TIME64_COMPAT32 0
