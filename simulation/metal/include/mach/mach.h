// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The types of Mach that headers of Metal programs name.
#pragma once

#include <mach/mach_time.h>
#include <stdint.h>

typedef int kern_return_t;
typedef unsigned int mach_port_t;
typedef mach_port_t task_id_token_t;
#define KERN_SUCCESS 0
