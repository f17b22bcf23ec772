// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All of halyard::async but its adapters to other libraries (asio.h, dlpack.h, host_scheduler.h,
// sender.h). The guide is docs/async.md.
#pragma once

#include "halyard/async/allocate_from.h"
#include "halyard/async/arithmetic.h"
#include "halyard/async/as_result.h"
#include "halyard/async/buffers.h"
#include "halyard/async/cell.h"
#include "halyard/async/combinators.h"
#include "halyard/async/context.h"
#include "halyard/async/deadline.h"
#include "halyard/async/device.h"
#include "halyard/async/future.h"
#include "halyard/async/host_event.h"
#include "halyard/async/host_span.h"
#include "halyard/async/kernel.h"
#include "halyard/async/number.h"
#include "halyard/async/nursery.h"
#include "halyard/async/operation.h"
#include "halyard/async/operations.h"
#include "halyard/async/policy.h"
#include "halyard/async/random.h"
#include "halyard/async/recorded.h"
#include "halyard/async/reductions.h"
#include "halyard/async/runtime.h"
#include "halyard/async/schedule.h"
#include "halyard/async/shape.h"
#include "halyard/async/task.h"
#include "halyard/async/tensor.h"
