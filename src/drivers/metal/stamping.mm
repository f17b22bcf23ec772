// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/metal/stamping.h"

#include "base/format.h"

namespace halyard::inline v0::metal {

Status Stamping::begin(trace::Stamps& stamps, std::uint32_t commands) {
  stamps_ = nullptr;
  commands_.shrink(0);
  if (!commands_.make_room(commands)) {
    return error(StatusCode::kResourceExhausted, "metal: no memory to trace {} commands", commands);
  }
  stamps_ = &stamps;
  return {};
}

void Stamping::command(std::uint32_t buffer, const trace::Label& label) noexcept {
  if (stamps_ != nullptr) (void)commands_.push_back({buffer, label});  // there is room
}

void Stamping::collect(std::span<const Submission> buffers) noexcept {
  if (stamps_ == nullptr) return;
  trace::Stamps& stamps = *stamps_;
  stamps_ = nullptr;
  for (const Command& command : commands_) {
    trace::Record record;
    record.kind = trace::Record::Kind::kCommand;
    record.track = stamps.track;
    record.name = command.label.name;
    record.group = command.label.group;
    record.id = stamps.id;
    record.begin = buffers[command.buffer].started_at();
    record.end = buffers[command.buffer].ended_at();
    record.at = stamps.tracer->now();
    trace::note(*stamps.tracer, record);
  }
  stamps.begin = buffers.front().started_at();
  stamps.end = buffers.back().ended_at();
}

}  // namespace halyard::inline v0::metal
