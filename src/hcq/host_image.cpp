// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hcq/host_image.h"

#include <algorithm>
#include <new>

#include "base/format.h"

namespace halyard::inline v0::hcq {
namespace {

void write_header(Packet& packet, PacketKind kind) noexcept {
  packet.header.store(static_cast<std::uint32_t>(kind), std::memory_order_relaxed);
}

}  // namespace

Result<Ref<HostImage>> HostImage::create(const detail::CommandList& list) {
  const auto no_memory = [&] {
    return error(StatusCode::kResourceExhausted, "queue: no memory to bind {} commands",
                 list.commands.size());
  };
  auto image = Ref<HostImage>::adopt(new (std::nothrow) HostImage);
  if (!image) return no_memory();
  image->count_.store(list.packets, std::memory_order_relaxed);
  image->packets_.reset(new (std::nothrow) Packet[list.packets]);
  if (list.args_blocks() != 0) {
    image->args_.reset(new (std::nothrow) ArgsBlock[list.args_blocks()]);
    if (image->args_ == nullptr) return no_memory();
  }
  if (image->packets_ == nullptr) return no_memory();
  image->profile_ = list.profile;
  image->entries_.reserve(list.commands.size());
  std::size_t next = 0;
  for (std::size_t i = 0; i < list.commands.size(); ++i) {
    const detail::Command& command = list.commands[i];
    if (command.times != nullptr) {
      Packet& before = image->packets_[next++];
      Packet& after = image->packets_[next + 1];
      before.words[0] = word(&command.times->begin);
      after.words[0] = word(&command.times->end);
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

void HostImage::write(const detail::CommandList& list, std::size_t index) noexcept {
  const detail::Command& command = list.commands[index];
  Entry& entry = entries_[index];
  Packet& packet = packets_[entry.packet];
  std::copy_n(command.words, kPacketWords, packet.words);
  if (command.args_count != 0) {
    packet.words[1] = word(args() + command.args_begin);
    packet.words[2] = word(args() + command.args_begin + command.buffer_count);
  }
  entry.keeps = command.keeps;
  write_header(packet, command.kind);
}

void HostImage::update(const detail::CommandList& list, std::size_t begin,
                       std::size_t end) noexcept {
  const bool last = end == list.commands.size();
  if (list.all_changed) {
    for (std::size_t i = begin; i < end; ++i) write(list, i);
    if (last) std::copy(list.args.begin(), list.args.end(), args());
    return;
  }
  for (const detail::Place& place : list.changed) {
    if (place.word == detail::Place::kArgs) {
      if (last) args()[place.index] = list.args[place.index];
      continue;
    }
    if (place.index < begin || place.index >= end) continue;
    const detail::Command& command = list.commands[place.index];
    Entry& entry = entries_[place.index];
    packets_[entry.packet].words[place.word] = command.words[place.word];
    if (entry.keeps != command.keeps) entry.keeps = command.keeps;
  }
}

void HostImage::set_end(std::size_t end) noexcept {
  std::size_t count = 0;
  if (end != 0) count = entries_[end - 1].packet + (entries_[end - 1].timed ? 2 : 1);
  count_.store(count, std::memory_order_relaxed);
}

}  // namespace halyard::inline v0::hcq
