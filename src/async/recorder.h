// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Recorder: the Context that adds a tree of operations to a recording (recorded.h).
#pragma once

#include <cstdint>

#include "halyard/async/context.h"

namespace halyard::inline v0::async::detail {

// Its scratch() and join() are those of `whole`, whose tree is executing this.
class Recorder final : public Context {
 public:
  Recorder(Context& whole, TreeRecording& recording);

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
};

}  // namespace halyard::inline v0::async::detail
