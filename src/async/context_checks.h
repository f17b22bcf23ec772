// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks of the arguments of a Context, for the submitter and the recorder.
#pragma once

#include "async/storage.h"
#include "halyard/async/context.h"
#include "halyard/async/detail/kernel_signature.h"
#include "halyard/base/status.h"

namespace halyard::inline v0::async::detail {

// kInvalidArgument unless `storage` is memory of the context's device or a slot of its recording.
Status check_here(const Context& context, const Storage* storage, const char* user);
// The same for all arrays of a launch.
Status check_arrays(const Context& context, const KernelSignature& kernel,
                    hal::View<KernelArray> arrays);
// The same for a copy, of which one side may be memory of another device.
Status check_copied(const Context& context, const StorageRange& source, const StorageRange& target,
                    const char* user);

// Calls `use` with each storage that a launch uses and with the kind of use.
template <class F>
void for_each_use(hal::View<KernelArray> arrays, F&& use) {
  for (const KernelArray& array : arrays) {
    use(array.memory.storage, array.is_written ? Use::kWrite : Use::kRead);
  }
}

}  // namespace halyard::inline v0::async::detail
