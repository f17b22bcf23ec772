// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stamping: notes the begin, end and commands of a traced submission with host functions between
// its native commands. Costs one host function for each command, only while tracing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

#include "base/array.h"
#include "base/atomic.h"
#include "base/format.h"
#include "drivers/stream/api.h"
#include "trace/command_note.h"
#include "trace/tracer.h"

namespace halyard::inline v0::stream {

// Belongs to one lane, and its issuer uses it. When it is destroyed, the host functions of all
// submissions have run or will never run.
template <StreamApi Api>
class Stamping {
 public:
  Stamping() noexcept = default;
  Stamping(Stamping&& other) noexcept : runs_(std::move(other.runs_)) {}
  ~Stamping() {
    while (runs_ != nullptr) runs_ = std::move(runs_->next);
  }

  // Begins a submission with up to `count` commands. All three functions do nothing if `stamps` is
  // null.
  Status begin(const Api& api, typename Api::Stream stream, trace::Stamps* stamps,
               std::size_t count) noexcept {
    run_ = nullptr;
    if (stamps == nullptr) return {};
    Run* const run = take();
    if (run == nullptr || !run->labels.make_room(count)) {
      return error(StatusCode::kResourceExhausted, "{}: no memory to trace {} commands",
                   Api::kDriver, count);
    }
    run->stamps = stamps;
    const auto stamp = [](void* argument) {
      trace::Stamps& its = *static_cast<Run*>(argument)->stamps;
      its.tracer->prepare_thread();
      its.command_begin = its.begin = its.tracer->now();
    };
    HALYARD_RETURN_IF_ERROR(api.call_host(stream, stamp, run));
    run->in_use.store(true, std::memory_order_relaxed);
    run_ = run;
    return {};
  }
  // A command was issued.
  Status note(const Api& api, typename Api::Stream stream, const trace::Label& label) noexcept {
    if (run_ == nullptr) return {};
    (void)run_->labels.push_back(label);  // there is room
    const auto stamp = [](void* argument) {
      Run& run = *static_cast<Run*>(argument);
      trace::note_command(*run.stamps, run.labels[run.noted++]);
      run.stamps->command_begin = run.stamps->tracer->now();
    };
    return api.call_host(stream, stamp, run_);
  }
  Status end(const Api& api, typename Api::Stream stream) noexcept {
    if (run_ == nullptr) return {};
    const auto stamp = [](void* argument) {
      Run& run = *static_cast<Run*>(argument);
      run.stamps->end = run.stamps->tracer->now();
      run.in_use.store(false, std::memory_order_release);
    };
    return api.call_host(stream, stamp, run_);
  }

 private:
  struct Run {
    trace::Stamps* stamps = nullptr;
    base::Array<trace::Label> labels;
    std::size_t noted = 0;  // the host functions'
    // True from the first host function to the last. If the submission failed half-way, it stays
    // true.
    base::Atomic<bool> in_use{false};
    std::unique_ptr<Run> next;
  };

  Run* take() noexcept {
    Run* run = runs_.get();
    while (run != nullptr && run->in_use.load(std::memory_order_acquire)) run = run->next.get();
    if (run == nullptr) {
      std::unique_ptr<Run> fresh(new (std::nothrow) Run);
      if (fresh == nullptr) return nullptr;
      fresh->next = std::move(runs_);
      runs_ = std::move(fresh);
      run = runs_.get();
    }
    run->labels.shrink(0);
    run->noted = 0;
    return run;
  }

  std::unique_ptr<Run> runs_;
  Run* run_ = nullptr;  // of the submission that is being issued
};

}  // namespace halyard::inline v0::stream
