// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Submitter: the Context that submits a tree of operations, or a part of a tree.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "halyard/async/context.h"
#include "halyard/async/detail/moment.h"
#include "halyard/async/detail/stop_tokens.h"
#include "halyard/base/export.h"

namespace halyard::inline v0::async::detail {

class WaitList;

class HALYARD_EXPORT Submitter final : public Context {
 public:
  // `runtime` may be null; schedule() needs it.
  explicit Submitter(QueueRef queue, const Runtime* runtime = nullptr);
  // The submitter of a tree that submits nothing (SubmitsNothing).
  struct ForNothing {};
  explicit Submitter(ForNothing) noexcept : Context(*this) {}
  // A part of the tree `whole` on a queue of its own; only the data orders it with the rest. The
  // end of the whole includes the end of the part. Destroyed before `whole`.
  Submitter(Context& whole, QueueRef queue);
  ~Submitter() override;

  Result<Ref<Storage>> allocate(std::uint64_t size, hal::MemoryType memory) override;
  Result<Ref<Storage>> scratch(std::uint64_t size) override;
  Status fill(Storage* target, std::uint32_t pattern, std::uint32_t pattern_size) override;
  Status update(Storage* target, hal::Bytes source) override;
  Status copy(const StorageRange& source, const StorageRange& target, const char* user) override;
  Status launch(const KernelSignature& kernel, hal::View<KernelArray> arrays,
                hal::View<hal::Constant> scalars, const hal::Grid* grid) override;
  Status execute(RefCounted& recording, hal::View<ArrayRef> slots,
                 hal::View<hal::Constant> numbers) override;
  Status join(const Moment& moment) override;

  // The moment when all that was submitted and joined is done.
  Result<Moment> end();
  // Whether all of it has ended or failed.
  bool finished() const;
  // Blocks until the end; returns the first failure.
  Status wait() const;
  // The same, but returns StopTokens::check() at once when that fails. The submitted work runs to
  // its end.
  Status wait(const StopTokens& stop);
  // Declares that nothing waits for the end. Submitted work runs to its end all the same. But an
  // allocation that waits for memory fails (hal::Semaphore::give_up), and with it the rest of the
  // tree: the tree itself might hold the memory that it waits for.
  void give_up() const noexcept;
  // As Semaphore::on_reach() of the end, always on a thread of the runtime: the thread that notices
  // the end may be submitting a tree, and may hold locks that `fn` needs.
  template <class F>
  Result<hal::Registration> on_finish(F&& fn) {
    Result<Moment> moment = end();
    if (!moment.ok()) return std::move(moment).status();
    return moment->semaphore().on_reach(moment->value(), std::forward<F>(fn),
                                        hal::CallbackThread::kRuntime);
  }

 private:
  friend class Recorder;
  static constexpr std::size_t kMaxJoined = 3;

  Result<TreeTimeline*> timeline();
  Result<TreeTimeline*> start_chain();
  template <class F>
  Status submit_after(WaitList& waits, F&& call);
  template <class Uses, class F>
  Status submit(Uses&& uses, F&& call);
  Status join_chain();
  Status check(const StopTokens& stop) const;
  void forget_joined(const WaitList& waits) noexcept;
  Status keep_open(const StorageRange& source, const StorageRange& target);
  void end_part() noexcept;

  Submitter* const whole_ = nullptr;
  Moment chain_;  // the end of the last submission
  std::array<Moment, kMaxJoined> joined_;
  std::size_t joined_count_ = 0;
  Status join_error_;  // a part could not be joined, so the end of this tree is unknown
  struct Part;
  Part* parts_ = nullptr;  // those that were destroyed
  struct KeptOpen;
  KeptOpen* kept_open_ = nullptr;  // devices of other runtimes; the whole tree's
};

}  // namespace halyard::inline v0::async::detail
