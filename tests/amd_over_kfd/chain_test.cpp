// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Commands that need the results of others, in whatever order the devices run them: on one queue,
// and on queues that wait for each other's signals.
#include "amd_over_kfd/amd_over_kfd_fixture.h"

namespace halyard::testing {
namespace {

using ::testing::IsEmpty;

class ChainOverKfdTest : public AmdOverKfdTest {
 protected:
  static constexpr std::uint32_t kGroups = 4, kBytes = 4 * kGroups * kLanes, kRounds = 3,
                                 kKernels = 8;

  void restart(std::uint64_t seed, std::uint32_t compute_type) {
    start({.seed = seed});
    begin();
    kernel_ = load(exchange());
    scratch_ = scratch();
    compute_ = compute_type == abi::kAql ? create_aql() : create(abi::kPm4);
    amd::set_queue_scratch(std::span<std::byte, 256>(compute_.pointers.host, 256), scratch_);
  }
  void append_kernel(hcq::WordList& list, std::uint64_t arguments) {
    amd::Launch kernel_launch = launch(kGroups);
    kernel_launch.arguments = arguments;
    check(compute_.type == abi::kAql
              ? amd::append_dispatch(list, kernel_, kernel_launch)
              : amd::Pm4Encoder(list, generation()).exec(kernel_, kernel_launch, scratch_));
  }

  // Kernels, each of which reads the output of the one before it.
  void run_kernels(std::uint64_t seed, std::uint32_t compute_type) {
    restart(seed, compute_type);
    arguments_.quad(64) = output_.address;
    arguments_.quad(72) = input_.address;
    CommandWords list;
    for (unsigned i = 0; i != kKernels / 2; ++i) {
      append_kernel(list, arguments_.address);
      append_kernel(list, arguments_.address + 64);
    }
    submit(compute_, list);
    EXPECT_THAT(run(), IsEmpty());
    for (std::uint32_t i = 0; i != kBytes / 4; ++i) {
      ASSERT_EQ(input_.word(4 * i), 100 + i + kKernels) << "seed " << seed;
    }
  }

  // A copy to the kernel's input, the kernel, and a copy of its output back.
  void run_chain(std::uint64_t seed, std::uint32_t compute_type) {
    restart(seed, compute_type);
    KfdBuffer host = allocate(4096);
    KfdQueue copies = create(abi::kSdma);
    for (std::uint32_t i = 0; i != kBytes / 4; ++i) host.word(4 * i) = i;

    for (std::uint32_t round = 1; round <= kRounds; ++round) {
      CommandWords copy_list, compute_list;
      amd::SdmaEncoder sdma(copy_list, generation());
      check(sdma.copy(input_.address, host.address, kBytes));
      check(sdma.signal(signal(0), round));
      check(sdma.wait(signal(1), round));
      check(sdma.copy(host.address, output_.address, kBytes));
      check(sdma.signal(signal(2), round));

      amd::Pm4Encoder pm4(compute_list, generation());
      check(pm4.wait(signal(0), round));
      pm4.barrier();
      append_kernel(compute_list, arguments_.address);
      check(pm4.signal(signal(1), round));

      if (seed % 2 == 0) submit(copies, copy_list);
      submit(compute_, compute_list);
      if (seed % 2 != 0) submit(copies, copy_list);
    }
    EXPECT_THAT(run(), IsEmpty());
    EXPECT_EQ(value(2), kRounds);
    for (std::uint32_t i = 0; i != kBytes / 4; ++i) {
      ASSERT_EQ(host.word(4 * i), (kRounds % 2 == 0 ? i : i ^ 1) + kRounds) << "seed " << seed;
    }
  }

  amd::Kernel kernel_;
  amd::Scratch scratch_;
  KfdQueue compute_;
};

TEST_F(ChainOverKfdTest, KernelKernel) {
  HALYARD_NEEDS_ASSEMBLER();
  for (std::uint64_t seed = 0; seed != 40; ++seed) run_kernels(seed, abi::kPm4);
}

TEST_F(ChainOverKfdTest, DispatchDispatch) {
  HALYARD_NEEDS_ASSEMBLER();
  for (std::uint64_t seed = 0; seed != 40; ++seed) run_kernels(seed, abi::kAql);
}

TEST_F(ChainOverKfdTest, CopyKernelCopy) {
  HALYARD_NEEDS_ASSEMBLER();
  for (std::uint64_t seed = 0; seed != 40; ++seed) run_chain(seed, abi::kPm4);
}

TEST_F(ChainOverKfdTest, CopyDispatchCopy) {
  HALYARD_NEEDS_ASSEMBLER();
  for (std::uint64_t seed = 0; seed != 40; ++seed) run_chain(seed, abi::kAql);
}

}  // namespace
}  // namespace halyard::testing
