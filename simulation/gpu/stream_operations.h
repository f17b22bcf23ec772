// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations of API calls on streams and events. The State is locked.
#pragma once

#include <vector>

#include "simulation/gpu/stream.h"

namespace halyard::inline v0::sim::gpu {

// In the call's context.
Result create_stream(Call& call, Stream* stream, unsigned flags, int priority);
Result end_stream(Stream handle);
Result synchronize_stream(Call& call, Stream handle);
Result query_stream(Stream handle);
Result wait_event(Stream handle, Event event_handle, unsigned flags);
Result launch_host_function(Stream handle, HostFunction function, void* data);
Result add_callback(Stream handle, StreamCallback callback, void* data, unsigned flags);

// Submits waits for values and writes of values.
Result add_mem_ops(Stream handle, std::vector<MemOp> operations);
Result add_mem_op(Stream stream, std::uint32_t operation, DevicePointer address,
                  std::uint64_t value, unsigned flags);

// In the call's context.
Result create_event(Call& call, Event* event, unsigned flags);
Result end_event(Event handle);
Result record_event(Event handle, Stream stream_handle);
Result query_event(Event handle);
Result synchronize_event(Call& call, Event handle);
Result elapsed_time(float* milliseconds, Event from_handle, Event to_handle);

}  // namespace halyard::inline v0::sim::gpu
