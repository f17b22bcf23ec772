// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Includes all headers of hardware command queues.
#pragma once

#include "halyard/base/clock.h"
#include "halyard/base/result.h"
#include "halyard/base/status.h"
#include "halyard/hcq/allocator.h"
#if __has_include("halyard/hcq/cpu.h")  // not installed by builds without the cpu driver
#include "halyard/hcq/cpu.h"
#endif
#include "halyard/hcq/device.h"
#include "halyard/hcq/graph.h"
#include "halyard/hcq/program.h"
#include "halyard/hcq/queue.h"
#include "halyard/hcq/signal.h"
#include "halyard/hcq/symbol.h"
