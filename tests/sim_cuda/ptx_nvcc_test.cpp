// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels in CUDA C++ as nvcc compiles them: nvcc/kernels.cu, whose PTX is nvcc/kernels.ptx.
#include <algorithm>
#include <fstream>
#include <iterator>

#include "sim_cuda/ptx_test_util.h"

namespace halyard::testing {
namespace {

__extension__ typedef unsigned __int128 U128;

class PtxNvcc : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(module_) << module_.log(); }

  template <class T>
  std::uint64_t put(const std::vector<T>& values) {
    const std::uint64_t address = module_.memory.add(values.size() * sizeof(T));
    std::memcpy(reinterpret_cast<void*>(address), values.data(), values.size() * sizeof(T));
    return address;
  }
  template <class T>
  std::vector<T> get(std::uint64_t address, std::size_t count) {
    std::vector<T> values(count);
    std::memcpy(values.data(), reinterpret_cast<const void*>(address), count * sizeof(T));
    return values;
  }
  // Runs the kernel without checks and with checks, which must find nothing.
  void run(std::string_view kernel, std::uint32_t blocks, std::uint32_t threads,
           const std::vector<std::byte>& parameters, bool is_strict = false) {
    ptx::Options options;
    options.strict = is_strict;
    options.max_instructions = 1'000'000;
    const ptx::Outcome outcome =
        module_.run(kernel, {blocks, 1, 1}, {threads, 1, 1}, parameters, options);
    EXPECT_EQ(outcome.kind, ptx::OutcomeKind::kOk) << outcome.message;
    for (const ptx::Finding& finding : outcome.findings) ADD_FAILURE() << finding.message;
  }
  // `count` numbers in [-most, most].
  static std::vector<std::int32_t> numbers(std::size_t count, std::int32_t most) {
    std::mt19937 engine(1);
    std::vector<std::int32_t> values(count);
    for (std::int32_t& each : values) {
      each =
          static_cast<std::int32_t>(engine() % (2 * static_cast<std::uint32_t>(most) + 1)) - most;
    }
    return values;
  }

 private:
  static ptx::Parsed parse() {
    std::ifstream file(HALYARD_PTX_NVCC);
    return ptx::Module::parse(std::string{std::istreambuf_iterator<char>(file), {}});
  }
  PtxModule module_{parse()};
};

TEST_F(PtxNvcc, DividesBy64Bits) {
  std::mt19937_64 engine(1);
  std::vector<U128> dividends(64);
  std::vector<std::uint64_t> divisors(64);
  for (std::size_t i = 0; i < 64; ++i) {
    dividends[i] = (U128{engine()} << 64 | engine()) >> (engine() % 128);
    divisors[i] = (engine() >> (engine() % 64)) | 1;
  }
  const std::uint64_t a = put(dividends), b = put(divisors), out = put(std::vector<U128>(64));
  run("divide", 2, 32, pack_parameters(a, b, out));
  const auto quotients = get<U128>(out, 64);
  for (std::size_t i = 0; i < 64; ++i) {
    EXPECT_TRUE(quotients[i] == dividends[i] / divisors[i]) << i << ", divisor " << divisors[i];
  }
}

TEST_F(PtxNvcc, GroupsReduceAndScan) {
  const auto in = numbers(128, 50);
  const std::vector<std::int32_t> zeros(128);
  const std::uint64_t sums = put(zeros), scans = put(zeros), labels = put(zeros),
                      positives = put(zeros);
  run("groups", 2, 64, pack_parameters(put(in), sums, scans, labels, positives), true);
  std::vector<std::int32_t> expected[4];
  for (std::int32_t i = 0; i < 128; ++i) {
    const std::int32_t warp = i / 32 * 32, tile = i / 8 * 8;
    std::int32_t sum = 0, scan = 0, alike = 0, least = 32, together = 0, rank = 0;
    for (std::int32_t j = tile; j < tile + 8; ++j) {
      sum += in[j];
      scan += j < i ? in[j] : 0;
    }
    for (std::int32_t j = warp; j < warp + 32; ++j) {
      if (j % 3 == i % 3) {
        ++alike;
        least = std::min(least, j % 32);
      }
      together += in[j] > 0 ? 1 : 0;
      rank += in[j] > 0 && j < i ? 1 : 0;
    }
    expected[0].push_back(sum);
    expected[1].push_back(scan);
    expected[2].push_back(100 * alike + least);
    expected[3].push_back(in[i] > 0 ? 100 * together + rank : 0);
  }
  EXPECT_EQ(get<std::int32_t>(sums, 128), expected[0]);
  EXPECT_EQ(get<std::int32_t>(scans, 128), expected[1]);
  EXPECT_EQ(get<std::int32_t>(labels, 128), expected[2]);
  EXPECT_EQ(get<std::int32_t>(positives, 128), expected[3]);
}

TEST_F(PtxNvcc, CallsVirtualFunctionsOfObjectsOnTheHeap) {
  const std::uint64_t out = put(std::vector<std::int32_t>(64));
  run("areas", 2, 32, pack_parameters(out), true);
  std::vector<std::int32_t> expected;
  for (std::int32_t i = 0; i < 64; ++i) expected.push_back(i % 2 == 0 ? i * i : 2 * i);
  EXPECT_EQ(get<std::int32_t>(out, 64), expected);
}

TEST_F(PtxNvcc, Recurses) {
  const std::uint64_t out = put(std::vector<std::int32_t>(64));
  run("recursion", 2, 32, pack_parameters(out), true);
  constexpr std::int32_t kNumbers[] = {0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144};
  std::vector<std::int32_t> expected;
  for (std::size_t i = 0; i < 64; ++i) expected.push_back(kNumbers[i % 13]);
  EXPECT_EQ(get<std::int32_t>(out, 64), expected);
}

TEST_F(PtxNvcc, PassesStructuresByValue) {
  struct alignas(16) Mixed {
    char c = -3;
    double d = 0.25;
    std::int16_t s[3] = {1000, -7, 30};
    alignas(16) float v[4] = {1, 2, 3.5, 4};
  };
  const std::uint64_t out = put(std::vector<double>(32));
  run("structs", 1, 32, pack_parameters(Mixed{}, out), true);
  std::vector<double> expected;
  for (int i = 0; i < 32; ++i) expected.push_back(-3 + 0.5 + 2 * (1000 - 7 + 30 + i) + 7);
  EXPECT_EQ(get<double>(out, 32), expected);
}

TEST_F(PtxNvcc, BranchesByATable) {
  const auto in = numbers(128, 1'000'000);
  const std::uint64_t out = put(std::vector<std::int32_t>(128));
  run("choices", 2, 64, pack_parameters(put(in), out), true);
  std::vector<std::int32_t> expected;
  for (const std::int32_t v : in) {
    const std::int32_t choices[] = {v * 3, v - 7, v ^ 0x55, v * 4 + 11, v + 11, -v, v / 3, v % 9};
    expected.push_back(choices[v & 7]);
  }
  EXPECT_EQ(get<std::int32_t>(out, 128), expected);
}

TEST_F(PtxNvcc, LanesOfAWarpTakeALockInTurn) {
  const std::uint64_t state = put(std::vector<std::int32_t>(1)),
                      total = put(std::vector<std::int32_t>(1));
  run("lock", 3, 64, pack_parameters(state, total));
  EXPECT_EQ(get<std::int32_t>(total, 1).front(), 192);
}

TEST_F(PtxNvcc, WaitsForPhasesOfABarrierInMemory) {
  const std::uint64_t out = put(std::vector<std::int32_t>(64));
  run("rounds", 1, 64, pack_parameters(out));
  std::vector<std::int32_t> expected;
  for (std::int32_t i = 0; i < 64; ++i) expected.push_back((i + 5) % 64 + 5);
  EXPECT_EQ(get<std::int32_t>(out, 64), expected);
}

}  // namespace
}  // namespace halyard::testing
