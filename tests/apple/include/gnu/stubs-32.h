// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions that glibc lacks on this target: none of them is used.
