// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The lanes of streams of CUDA against their contract.
#include "cuda_test_util.h"
#include "drivers/cuda/device.h"
#include "lanes/lane_contract.h"
#include "stream/stream_gate.h"

namespace halyard::testing {
namespace {

template <stream::CompletionMode kMode>
struct CudaLanes : cuda::CudaTest {
  static constexpr bool kDropsWork = false;
  static std::unique_ptr<hal::DeviceImpl> open_device() {
    return cuda::Device::create({}, library(), 0, {.completion = kMode}).value();
  }
  static std::unique_ptr<Gate> open_gate(hal::DeviceImpl&) {
    const auto& its = library().devices()[1];
    const auto api = cuda::CudaApi::of(library().functions(), its, false);
    auto guard =
        stream::ContextGuard<cuda::CudaApi>::create(api, static_cast<unsigned>(its.handle));
    return std::make_unique<StreamGate<cuda::CudaApi>>(api, std::move(guard).value());
  }
};

using Modes = ::testing::Types<CudaLanes<stream::CompletionMode::kHostCallback>,
                               CudaLanes<stream::CompletionMode::kEvent>,
                               CudaLanes<stream::CompletionMode::kFlag>>;
INSTANTIATE_TYPED_TEST_SUITE_P(Cuda, LaneContract, Modes);

}  // namespace
}  // namespace halyard::testing
