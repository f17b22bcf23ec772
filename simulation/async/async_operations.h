// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations over Context that copy, fill and update, written in the way of a user of async.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "base/format.h"
#include "halyard/async.h"
#include "simulation/random.h"

namespace halyard::inline v0::sim {

using Element = std::uint32_t;
using Contents = std::vector<Element>;
using Tensor = async::Tensor<Element>;
using Shared = async::Shared<Tensor>;
using Partition = async::Partition<Tensor>;

inline Contents draw_contents(Random& random, std::size_t size) {
  Contents contents(size);
  for (Element& element : contents) element = static_cast<Element>(random.next());
  return contents;
}

// Reads `source`, which may be shared, and returns a new tensor.
template <class Source>
struct Copied {
  using Output = Tensor;
  Result<Tensor> execute(async::Context& context) && {
    HALYARD_ASSIGN_OR_RETURN(auto storage, context.allocate(source.memory().length));
    HALYARD_RETURN_IF_ERROR(context.copy(source.memory(), storage.get()));
    return Tensor(std::move(storage), source.shape());
  }
  Source source;
};

// Fills a tensor in place.
struct Filled {
  using Output = Tensor;
  Result<Tensor> execute(async::Context& context) && {
    HALYARD_RETURN_IF_ERROR(context.fill(tensor.storage(), element, sizeof(Element)));
    return std::move(tensor);
  }
  Tensor tensor;
  Element element;
};

struct Updated {
  using Output = Tensor;
  Result<Tensor> execute(async::Context& context) && {
    HALYARD_RETURN_IF_ERROR(context.update(tensor.storage(), std::as_bytes(std::span(contents))));
    return std::move(tensor);
  }
  Tensor tensor;
  Contents contents;
};

// Reads and writes both tensors. Drops the intermediate tensor while it is still to be read.
struct Swapped {
  using Output = std::tuple<Tensor, Tensor>;
  Result<Output> execute(async::Context& context) && {
    HALYARD_ASSIGN_OR_RETURN(const auto between, context.allocate(a.storage()->buffer().size()));
    HALYARD_RETURN_IF_ERROR(context.copy(a.storage(), between.get()));
    HALYARD_RETURN_IF_ERROR(context.copy(b.storage(), a.storage()));
    HALYARD_RETURN_IF_ERROR(context.copy(between.get(), b.storage()));
    return Output(std::move(a), std::move(b));
  }
  Tensor a, b;
};

// Fails by itself, after the operation that returns the tensor. That operation continues, and the
// tensor is dropped.
struct Refused {
  using Output = Tensor;
  Result<Tensor> execute(async::Context&) && { return status; }
  Tensor tensor;
  Status status;
};

// A policy that chooses among the queues of one device.
struct OnDevice {
  async::QueueRef pick(const async::OpInfo& info) const noexcept {
    return policy.pick({info.devices, info.queues.subspan(device * queues, queues), info.inputs});
  }
  async::Policy policy;
  std::size_t device, queues;  // queues: of each device
};

}  // namespace halyard::inline v0::sim
