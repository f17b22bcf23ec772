// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// EncodedList: a command list as words of a hardware queue, in memory from which the device
// executes them. A change writes the places of the changed fields only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "halyard/base/ref.h"
#include "halyard/base/result.h"
#include "hcq/command_list.h"
#include "hcq/queue_encoder.h"
#include "hcq/word_list.h"

namespace halyard::inline v0::hcq {

class EncodedList final : public detail::BoundList {
 public:
  // `encoder` outlives the list, which takes all its memory from `memory`. Errors: those of the
  // two.
  static Result<Ref<EncodedList>> create(const detail::CommandList& list, QueueEncoder& encoder,
                                         std::unique_ptr<WordList::BlockMemory> memory);

  void update(const detail::CommandList& list, std::size_t begin,
              std::size_t end) noexcept override;
  void set_end(std::size_t end) noexcept override;
  void show_times(const detail::CommandList& list) const noexcept override;

  // The segments that the queue executes, in this order; it fetches each as a whole.
  std::span<const DeviceSpan> segments() const noexcept { return segments_; }

 private:
  // Profiles keep it too.
  struct Memory : RefCounted {
    explicit Memory(std::unique_ptr<WordList::BlockMemory> blocks_) noexcept
        : blocks(std::move(blocks_)) {}
    const std::unique_ptr<WordList::BlockMemory> blocks;
  };
  struct Entry {
    std::uint32_t segment;  // where its words begin
    std::uint32_t word;
    std::uint32_t first_place;  // of WordList::places()
    Ref<RefCounted> keeps;
  };
  // The kernel arguments of a command, from `begin` in CommandList::args on.
  struct Arguments {
    std::uint32_t begin;
    DeviceSpan block;
  };

  EncodedList(QueueEncoder& encoder, Ref<Memory> memory) noexcept
      : encoder_(encoder), memory_(std::move(memory)), words_(memory_->blocks.get()) {}
  Status encode(const detail::CommandList& list);
  Status encode(const detail::CommandList& list, const detail::Command& command);
  Result<DeviceSpan> block(std::size_t size, std::size_t alignment);
  void write(const detail::CommandList& list, std::size_t command, detail::Field field) noexcept;
  void copy_out(std::size_t segment, std::size_t offset, std::size_t size) noexcept;
  void write_argument(const detail::CommandList& list, std::uint32_t index) noexcept;

  QueueEncoder& encoder_;
  const Ref<Memory> memory_;
  WordList words_;                              // as they would be without set_end()
  std::vector<DeviceSpan> own_;                 // the segments of words_
  std::vector<DeviceSpan> segments_;            // the same, and those of bound lists in it
  std::vector<Entry> entries_;                  // of each command
  std::vector<Arguments> arguments_;            // ascending
  std::vector<detail::Profile::Cells*> times_;  // of each profiled command
};

}  // namespace halyard::inline v0::hcq
