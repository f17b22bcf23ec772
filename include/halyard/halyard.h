// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Includes the whole explicit API.
#pragma once

#include "halyard/base/clock.h"
#include "halyard/base/half.h"
#include "halyard/base/result.h"
#include "halyard/base/status.h"
#include "halyard/hal/buffer.h"
#include "halyard/hal/buffer_view.h"
#include "halyard/hal/command_buffer.h"
#include "halyard/hal/descriptor_set.h"
#include "halyard/hal/device.h"
#include "halyard/hal/event.h"
#include "halyard/hal/executable.h"
#include "halyard/hal/executable_cache.h"
#include "halyard/hal/fence.h"
#include "halyard/hal/file.h"
#include "halyard/hal/launch.h"
#include "halyard/hal/limits.h"
#include "halyard/hal/native.h"
#include "halyard/hal/pipeline_layout.h"
#include "halyard/hal/pool.h"
#include "halyard/hal/queue.h"
#include "halyard/hal/semaphore.h"
#include "halyard/hal/shared_timeline.h"
#include "halyard/hal/submission.h"
