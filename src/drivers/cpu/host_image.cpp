// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/cpu/host_image.h"

#include <algorithm>
#include <new>

#include "base/format.h"
#include "drivers/cpu/encoder.h"

namespace halyard::inline v0::cpu {
namespace {

void write_header(Packet& packet, PacketKind kind) noexcept {
  packet.header.store(static_cast<std::uint32_t>(kind), std::memory_order_relaxed);
}

}  // namespace

Result<Ref<HostImage>> HostImage::create(const hcq::detail::CommandList& list) {
  const auto no_memory = [&] {
    return error(StatusCode::kResourceExhausted, "queue: no memory to bind {} commands",
                 list.commands.size());
  };
  auto image = Ref<HostImage>::adopt(new (std::nothrow) HostImage);
  if (!image) return no_memory();
  image->count_.store(list.steps, std::memory_order_relaxed);
  image->packets_.reset(new (std::nothrow) Packet[list.steps]);
  if (list.args_blocks() != 0) {
    image->args_.reset(new (std::nothrow) ArgsBlock[list.args_blocks()]);
    if (image->args_ == nullptr) return no_memory();
  }
  if (image->packets_ == nullptr) return no_memory();
  image->profile_ = list.profile;
  image->entries_.reserve(list.commands.size());
  std::size_t next = 0;
  for (std::size_t i = 0; i < list.commands.size(); ++i) {
    const hcq::detail::Command& command = list.commands[i];
    if (command.times != nullptr) {
      Packet& before = image->packets_[next++];
      Packet& after = image->packets_[next + 1];
      before.words[0] = word(&command.times->own.begin);
      after.words[0] = word(&command.times->own.end);
      write_header(before, PacketKind::kTimestamp);
      write_header(after, PacketKind::kTimestamp);
    }
    image->entries_.push_back({next, command.times != nullptr, {}});
    next += command.times == nullptr ? 1 : 2;
    image->write(list, i);
  }
  std::copy(list.args.begin(), list.args.end(), image->args());
  return image;
}

void HostImage::write(const hcq::detail::CommandList& list, std::size_t index) noexcept {
  const hcq::detail::Command& command = list.commands[index];
  Entry& entry = entries_[index];
  Packet& packet = packets_[entry.packet];
  write_header(packet,
               encode(command, command.args_count == 0 ? nullptr : args() + command.args_begin,
                      packet.words));
  if (entry.keeps != command.object) entry.keeps = command.object;
}

void HostImage::update(const hcq::detail::CommandList& list, std::size_t begin,
                       std::size_t end) noexcept {
  const bool last = end == list.commands.size();
  if (list.all_changed) {
    for (std::size_t i = begin; i < end; ++i) write(list, i);
    if (last) std::copy(list.args.begin(), list.args.end(), args());
    return;
  }
  for (const hcq::detail::Place& place : list.changed) {
    if (place.field == hcq::detail::kArgs) {
      if (last) args()[place.index] = list.args[place.index];
    } else if (place.index >= begin && place.index < end) {
      write(list, place.index);
    }
  }
}

void HostImage::set_end(std::size_t end) noexcept {
  std::size_t count = 0;
  if (end != 0) count = entries_[end - 1].packet + (entries_[end - 1].timed ? 2 : 1);
  count_.store(count, std::memory_order_relaxed);
}

}  // namespace halyard::inline v0::cpu
