// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Words of the host unit, the compute class and the copy class. Golden words are those that
// tinygrad a9069c17 writes (NVComputeQueue and NVCopyQueue of ops_nv.py), unless a test says
// otherwise.
#include "drivers/nv/methods.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "drivers/nv/compute.h"
#include "drivers/nv/copy_engine.h"
#include "words.h"

namespace halyard::nv {
namespace {

using hcq::FieldPlace;
using hcq::FieldRole;
using hcq::Operand;
using hcq::WordList;

// A list with one command.
struct List : WordList {
  List() { begin_command(); }
};

// The words that `encode` appends, or the error.
std::string encoded(const std::function<Status(WordList&)>& encode) {
  List list;
  const Status status = encode(list);
  if (!status.ok()) {
    EXPECT_TRUE(list.words().empty() && list.places().empty());
    return std::string(status.message());
  }
  return hex(list);
}

struct Varied {
  FieldRole role;
  std::uint64_t limit;
};

// Encodes random values, changes one of them in its places, and compares with a fresh encoding.
void expect_update_is_fresh(
    const std::vector<Varied>& fields,
    const std::function<Status(WordList&, const std::vector<std::uint64_t>&)>& encode) {
  std::mt19937_64 random(7);
  const auto draw = [&](const Varied& field) { return random() % field.limit / 8 * 8; };
  for (int round = 0; round < 200; ++round) {
    std::vector<std::uint64_t> values;
    for (const Varied& field : fields) values.push_back(draw(field));
    List list;
    ASSERT_TRUE(encode(list, values).ok());
    const std::size_t changed = random() % fields.size();
    values[changed] = draw(fields[changed]);
    for (const FieldPlace& place : list.places())
      if (place.field.role == fields[changed].role) list.write(place, values[changed]);
    List fresh;
    ASSERT_TRUE(encode(fresh, values).ok());
    ASSERT_EQ(hex(list), hex(fresh));
  }
}

TEST(Methods, Header_EachKind_HasItsOpcodeInTheTopBits) {
  const auto header = [](MethodKind kind) {
    return method_header(kind, Subchannel::kCopy, 0x300, 5);
  };
  EXPECT_EQ(header(MethodKind::kIncrementing), 0x200580c0u);
  EXPECT_EQ(header(MethodKind::kNonIncrementing), 0x600580c0u);
  EXPECT_EQ(header(MethodKind::kImmediate), 0x800580c0u);
  EXPECT_EQ(header(MethodKind::kIncrementOnce), 0xa00580c0u);
}

TEST(Methods, AppendMethod_GoodInput_IsHeaderAndData) {
  const std::array<std::uint32_t, 2> two{7, 8};
  EXPECT_EQ(encoded([&](WordList& list) {
              return append_method(list, MethodKind::kIncrementOnce, Subchannel::kCompute, 0x1b4,
                                   two);
            }),
            "a002206d 7 8");
  EXPECT_EQ(encoded([&](WordList& list) {
              return append_method(list, MethodKind::kImmediate, Subchannel::kCompute, 0x298,
                                   std::span(two).first(1));
            }),
            "800720a6");
}

TEST(Methods, AppendMethod_BadInput_IsRefusedWithWords) {
  const std::vector<std::uint32_t> many(0x2000);
  const std::array<std::uint32_t, 1> large{0x2000};
  const auto refused = [&](MethodKind kind, std::uint32_t method,
                           std::span<const std::uint32_t> data) {
    return encoded([&](WordList& list) {
      return append_method(list, kind, Subchannel::kCompute, method, data);
    });
  };
  EXPECT_EQ(refused(MethodKind::kIncrementing, 0x102, large),
            "method 0x102: not a multiple of 4 below 0x4000, as offsets of methods are");
  EXPECT_EQ(refused(MethodKind::kIncrementing, 0x4000, large),
            "method 0x4000: not a multiple of 4 below 0x4000, as offsets of methods are");
  EXPECT_EQ(refused(MethodKind::kNonIncrementing, 0x100, many),
            "method 0x100: 8192 words of data are more than 8191");
  EXPECT_EQ(refused(MethodKind::kImmediate, 0x100, large),
            "method 0x100: immediate datum 0x2000 is over 0x1fff");
  EXPECT_EQ(refused(MethodKind::kImmediate, 0x100, {}), "method 0x100: 0 immediate data, not one");
}

TEST(Methods, BindClass_OfAda_IsSetObject) {
  EXPECT_EQ(encoded([](WordList& list) { return bind_class(list, Subchannel::kCopy, 0xc7b5); }),
            "20018000 c7b5");
  EXPECT_EQ(encoded([](WordList& list) { return bind_class(list, Subchannel::kCopy, 0x1'0000); }),
            "class 0x10000: a class has a number of 16 bits");
}

TEST(Methods, WaitSemaphore_IsACircularAcquireAndEndsTheSegment) {
  List list;
  ASSERT_TRUE(wait_semaphore(list, kSemaphore, 5).ok());
  ASSERT_TRUE(wait_semaphore(list, kSemaphore, 5, true).ok());
  EXPECT_EQ(hex(list), "20050017 1000 1 5 0 1000003 20050017 1000 1 5 0 1001003");
  EXPECT_EQ(list.segment_count(), 3u);
  EXPECT_EQ(list.segment(0).size(), 6u);
  EXPECT_TRUE(list.segment(2).empty());
}

TEST(Methods, ReleaseSemaphore_WaitsForIdleAndWritesTheTime) {
  EXPECT_EQ(encoded([](WordList& list) {
              return release_semaphore(list, kSemaphore, 6, Interrupt::kNonStall);
            }),
            "20050017 1000 1 6 0 3100001 20010008 0");
  EXPECT_EQ(encoded([](WordList& list) {
              return release_semaphore(list, kSemaphore, 0x7'0000'0006, Interrupt::kNone);
            }),
            "20050017 1000 1 6 7 3100001");
  EXPECT_EQ(encoded([](WordList& list) { return write_timestamp(list, kSemaphore); }),
            "20050017 1000 1 0 0 3100001");
}

TEST(Methods, Semaphore_BadAddressOrValue_IsRefused) {
  EXPECT_EQ(encoded([](WordList& list) { return wait_semaphore(list, 0x1008, 1); }),
            "semaphore at 0x1008: not a multiple of 16");
  EXPECT_EQ(encoded([](WordList& list) {
              return release_semaphore(list, kCommandAddressLimit, 1, Interrupt::kNone);
            }),
            "semaphore at 0x10000000000: its address has more than 40 bits");
  EXPECT_EQ(encoded([](WordList& list) { return write_timestamp(list, 4); }),
            "semaphore at 0x4: not a multiple of 16");
  EXPECT_EQ(encoded([](WordList& list) {
              return release_semaphore_by_copy(list, kSemaphore, 0x1'0000'0000, PayloadBits::k32,
                                               Interrupt::kNone);
            }),
            "semaphore value 0x100000000: more than 32 bits");
}

TEST(Methods, WriteValue_WritesFourOrEightBytes) {
  EXPECT_EQ(encoded([](WordList& list) { return write_value(list, 0x3'0000'1004, 9, 4); }),
            "20050017 1004 3 9 0 100001");
  EXPECT_EQ(encoded([](WordList& list) { return write_value(list, 0x1008, 0x1'0000'0009, 8); }),
            "20050017 1008 0 9 1 1100001");
  EXPECT_EQ(encoded([](WordList& list) { return write_value(list, 0x1000, 9, 2); }),
            "write of 2 bytes: not 4 or 8");
  EXPECT_EQ(encoded([](WordList& list) { return write_value(list, 0x1004, 9, 8); }),
            "write to 0x1004: not a multiple of 8");
  EXPECT_EQ(encoded([](WordList& list) { return write_value(list, kCommandAddressLimit, 9, 8); }),
            "write to 0x10000000000: the address has more than 40 bits");
  EXPECT_EQ(encoded([](WordList& list) { return write_value(list, 0x1000, 0x1'0000'0000, 4); }),
            "write of 0x100000000: more than 4 bytes");
}

// MEM_OP_A to D of clc46f.h.
TEST(Methods, MemoryBarrier_IsAMembarOfItsScope) {
  List list;
  memory_barrier(list, BarrierScope::kSystem);
  memory_barrier(list, BarrierScope::kDevice);
  EXPECT_EQ(hex(list), "2004000a 0 0 0 28000000 2004000a 0 0 1 28000000");
}

TEST(Methods, GpEntry_IsAddressLengthAndSync) {
  EXPECT_EQ(gp_entry(0x3'0000'0040, 18, GpFetch::kAhead).value(),
            0x3'0000'0040u | 18ull << 42 | 1ull << 41);
  EXPECT_EQ(gp_entry(0x40, 0x1f'ffff, GpFetch::kAfterPreceding).value(),
            0x40u | 0x1f'ffffull << 42 | 1ull << 41 | 1ull << 63);
}

TEST(Methods, GpEntry_BadSegment_IsRefused) {
  const auto code = [](std::uint64_t address, std::uint64_t words) {
    return gp_entry(address, words, GpFetch::kAhead).status().code();
  };
  EXPECT_EQ(code(0x42, 1), StatusCode::kInvalidArgument);
  EXPECT_EQ(code(kCommandAddressLimit, 1), StatusCode::kOutOfRange);
  EXPECT_EQ(code(0x40, 0), StatusCode::kOutOfRange);
  EXPECT_EQ(code(0x40, 0x20'0000), StatusCode::kOutOfRange);
}

TEST(Methods, WriteGpEntries_SegmentsBehindWaits_AreFetchedAfterThem) {
  List list;
  ASSERT_TRUE(wait_semaphore(list, kSemaphore, 5).ok());
  invalidate_shader_caches(list);
  ASSERT_TRUE(wait_semaphore(list, kSemaphore, 6).ok());
  std::array<std::uint64_t, 3> entries{};
  EXPECT_EQ(write_gp_entries(list, 0x1000, entries).value(), 2u);  // the last segment is empty
  EXPECT_EQ(entries[0], gp_entry(0x1000, 6, GpFetch::kAhead).value());
  EXPECT_EQ(entries[1], gp_entry(0x1018, 8, GpFetch::kAfterPreceding).value());
}

TEST(Compute, SetUp_OfAda_IsClassWindowsAndLocalMemory) {
  const LocalMemory local{.address = 0x2'0000'0000, .bytes_per_tpc = 0x90000};
  EXPECT_EQ(encoded([&](WordList& list) {
              return set_up_compute(list, {.class_id = 0xc9c0,
                                           .shared_window = 0x7294'0000'0000,
                                           .local_window = 0x7293'0000'0000,
                                           .local_memory = local});
            }),
            "20012000 c9c0 200221ec 7293 0 200220a8 7294 0 200221e4 2 0 200320b9 0 90000 ff");
  EXPECT_EQ(encoded([&](WordList& list) { return set_local_memory(list, local); }),
            "200221e4 2 0 200320b9 0 90000 ff");
}

// The methods that libcuda-research found to suffice on an H100: SET_OBJECT, 0x298, 0x1424, 0x244
// and the two windows.
TEST(Compute, SetUp_OfHopper_InvalidatesCaches) {
  EXPECT_EQ(encoded([](WordList& list) {
              return set_up_compute(list, {.class_id = 0xcbc0,
                                           .shared_window = 0x4'0000'0000,
                                           .local_window = 0xff00'0000'0000,
                                           .invalidate_caches = true});
            }),
            "20012000 cbc0 800020a6 80002509 80002091 200221ec ff00 0 200220a8 4 0");
}

TEST(Compute, SetUp_BadWindowsOrMemory_IsRefused) {
  const ComputeSetup good{.class_id = 0xcbc0,
                          .shared_window = 0x1'0000'0000,
                          .local_window = 0x2'0000'0000,
                          .local_memory = {.address = 0x20000, .bytes_per_tpc = 0x8000}};
  const auto refused = [&](auto change) {
    ComputeSetup setup = good;
    change(setup);
    return encoded([&](WordList& list) { return set_up_compute(list, setup); });
  };
  EXPECT_EQ(refused([](ComputeSetup& s) { s.shared_window += 0x1000; }),
            "shared window at 0x100001000: not a multiple of 4 GiB");
  EXPECT_EQ(refused([](ComputeSetup& s) { s.local_window = kAddressLimit; }),
            "local window at 0x2000000000000: 0, or more than 49 bits");
  EXPECT_EQ(refused([](ComputeSetup& s) { s.shared_window = 0; }),
            "shared window at 0x0: 0, or more than 49 bits");
  EXPECT_EQ(refused([](ComputeSetup& s) { s.local_window = s.shared_window; }),
            "the shared and the local window are both at 0x100000000");
  EXPECT_EQ(refused([](ComputeSetup& s) { s.class_id = 0; }),
            "class 0x0: a class has a number of 16 bits");
  EXPECT_EQ(refused([](ComputeSetup& s) { s.local_memory.address = 0x10000; }),
            "local memory at 0x10000: not a multiple of 0x20000");
  EXPECT_EQ(refused([](ComputeSetup& s) { s.local_memory.address = 0; }),
            "local memory at 0x0: 0, or more than 40 bits");
  EXPECT_EQ(refused([](ComputeSetup& s) { s.local_memory.bytes_per_tpc = 1ull << 40; }),
            "local memory of 1099511627776 bytes for a TPC: more than 40 bits");
  EXPECT_EQ(refused([](ComputeSetup& s) { s.local_memory.max_sms = 512; }),
            "local memory for 512 SMs: more than 9 bits");
}

TEST(Compute, LocalMemoryBytesPerTpc_RoundsWarpsAndTpcs) {
  EXPECT_EQ(local_memory_bytes_per_tpc(0x240, 48, 2),
            0x1b0000u);  // 48 warps of 0x4800 bytes, twice
  EXPECT_EQ(local_memory_bytes_per_tpc(1, 1, 1), 0x8000u);
  EXPECT_EQ(local_memory_bytes_per_tpc(17, 33, 1), 0x10000u);  // 1024 bytes for a warp, not 544
}

TEST(Compute, InvalidateShaderCaches_IsInstructionsDataAndConstants) {
  List list;
  invalidate_shader_caches(list);
  EXPECT_EQ(hex(list), "200125a6 1011");
}

TEST(Compute, Launch_SendsTheAddressThenTheAction) {
  EXPECT_EQ(encoded([](WordList& list) { return launch(list, 0x2'0002'0200); }),
            "200120ad 2000202 200120b0 9");
  EXPECT_EQ(encoded([](WordList& list) {
              return launch(list, 0x200, LaunchAction::kInvalidatePrefetchCopySchedule);
            }),
            "200120ad 2 200120b0 a");
  EXPECT_EQ(encoded([](WordList& list) { return launch(list, 0x2'0002'0280); }),
            "QMD at 0x200020280: not a multiple of 256");
  EXPECT_EQ(encoded([](WordList& list) { return launch(list, kCommandAddressLimit); }),
            "QMD at 0x10000000000: 0, or more than 40 bits");
}

// SET_REPORT_SEMAPHORE_A to D, as libcuda-research's launch has them; 0x158 to 0x168 of clcbc0.h.
TEST(Compute, ReleaseSemaphore_HasRegistersForEachSize) {
  const auto release = [](PayloadBits bits, Interrupt interrupt) {
    return encoded([&](WordList& list) {
      return release_semaphore_by_compute(list, kSemaphore, 6, bits, interrupt);
    });
  };
  EXPECT_EQ(release(PayloadBits::k32, Interrupt::kNone), "200426c0 1 1000 6 0");
  EXPECT_EQ(release(PayloadBits::k32, Interrupt::kNonStall), "200426c0 1 1000 6 100000");
  EXPECT_EQ(release(PayloadBits::k64, Interrupt::kNone), "20052056 6 0 1000 1 1000");
  EXPECT_EQ(release(PayloadBits::k64, Interrupt::kNonStall), "20052056 6 0 1000 1 1004");
}

TEST(CopyEngine, Copy_UpToTheLimit_IsOneLaunch) {
  EXPECT_EQ(encoded([](WordList& list) { return copy(list, 0x2'0000'2000, 0x2'0000'1000, 4096); }),
            "20048100 2 1000 2 2000 20018106 1000 200180c0 182");
  EXPECT_EQ(encoded([](WordList& list) { return copy(list, 0x2000, 0x1000, 0); }), "");
  EXPECT_EQ(encoded([](WordList& list) { return copy(list, kAddressLimit - 8, 0x1000, 16); }),
            "copy: the target at 0x1fffffffffff8 of 16 bytes ends above 2^49");
  EXPECT_EQ(encoded([](WordList& list) { return copy(list, 0x1000, 0x1000, 0 - 16ull); }),
            "copy: the target at 0x1000 of 2^64 - 16 bytes ends above 2^49");
}

// {source, target, bytes} of the launches.
std::vector<std::array<std::uint64_t, 3>> launches(const WordList& list) {
  std::vector<std::array<std::uint64_t, 3>> found;
  const auto words = list.words();
  EXPECT_EQ(words.size() % 9, 0u);
  for (std::size_t i = 0; i + 9 <= words.size(); i += 9) {
    EXPECT_EQ(words[i], 0x20048100u);
    EXPECT_EQ(words[i + 5], 0x20018106u);
    EXPECT_EQ(words[i + 7], 0x200180c0u);
    EXPECT_EQ(words[i + 8], 0x182u);
    found.push_back({std::uint64_t{words[i + 1]} << 32 | words[i + 2],
                     std::uint64_t{words[i + 3]} << 32 | words[i + 4], words[i + 6]});
  }
  return found;
}

TEST(CopyEngine, Copy_OverTheLimit_CoversEachByteOnce) {
  std::mt19937_64 random(11);
  std::vector<std::uint64_t> sizes{1, kMaxCopyBytes - 1, kMaxCopyBytes, kMaxCopyBytes + 1,
                                   3 * kMaxCopyBytes};
  for (int i = 0; i < 50; ++i) sizes.push_back(random() % (9 * kMaxCopyBytes) + 1);
  for (const std::uint64_t size : sizes) {
    const std::uint64_t source = random() % (kAddressLimit - size);
    const std::uint64_t target = random() % (kAddressLimit - size);
    List list;
    ASSERT_TRUE(copy(list, target, source, size).ok());
    std::uint64_t done = 0;
    for (const auto& [from, to, bytes] : launches(list)) {
      ASSERT_EQ(from, source + done);
      ASSERT_EQ(to, target + done);
      ASSERT_LE(bytes, kMaxCopyBytes);
      ASSERT_NE(bytes, 0u);
      done += bytes;
    }
    ASSERT_EQ(done, size);
  }
}

TEST(CopyEngine, Copy_InSeveralLaunches_MovesWithItsTarget) {
  List list;
  ASSERT_TRUE(copy(list, 0x9'0000'0000, 0x1'0000'0000, 2 * kMaxCopyBytes + 5).ok());
  for (const FieldPlace& place : list.places()) {
    EXPECT_NE(place.field.role, FieldRole::kSize);
    if (place.field.role == FieldRole::kTarget) list.write(place, place.field.value(0xc'1000'0000));
  }
  List fresh;
  ASSERT_TRUE(copy(fresh, 0xc'1000'0000, 0x1'0000'0000, 2 * kMaxCopyBytes + 5).ok());
  EXPECT_EQ(hex(list), hex(fresh));
}

TEST(CopyEngine, Copy_OfASymbolicSize_HasAPlaceForIt) {
  hcq::SymbolTable symbols;
  List list;
  ASSERT_TRUE(copy(list, 0x2000, 0x1000, symbols.add(64)).ok());
  for (const FieldPlace& place : list.places())
    if (place.field.role == FieldRole::kSize) list.write(place, 64);
  EXPECT_EQ(hex(list), "20048100 0 1000 0 2000 20018106 40 200180c0 182");
}

TEST(CopyEngine, ReleaseSemaphore_HasOneOrTwoWords) {
  const auto release = [](PayloadBits bits, Interrupt interrupt) {
    return encoded([&](WordList& list) {
      return release_semaphore_by_copy(list, kSemaphore, 6, bits, interrupt);
    });
  };
  EXPECT_EQ(release(PayloadBits::k32, Interrupt::kNone), "20038090 1 1000 6 200180c0 14");
  EXPECT_EQ(release(PayloadBits::k32, Interrupt::kNonStall), "20038090 1 1000 6 200180c0 54");
  // SET_SEMAPHORE_PAYLOAD_UPPER and LAUNCH_DMA bit 27 of clc8b5.h.
  EXPECT_EQ(release(PayloadBits::k64, Interrupt::kNone), "20048090 1 1000 6 0 200180c0 8000014");
}

TEST(Updates, SemaphoreValues_EqualFreshWords) {
  using Encode = Status (*)(WordList&, std::uint64_t);
  const Encode encoders[] = {
      [](WordList& list, std::uint64_t value) { return wait_semaphore(list, kSemaphore, value); },
      [](WordList& list, std::uint64_t value) {
        return release_semaphore(list, kSemaphore, value, Interrupt::kNonStall);
      },
      [](WordList& list, std::uint64_t value) {
        return release_semaphore_by_compute(list, kSemaphore, value, PayloadBits::k64,
                                            Interrupt::kNone);
      },
      [](WordList& list, std::uint64_t value) {
        return release_semaphore_by_copy(list, kSemaphore, value, PayloadBits::k64,
                                         Interrupt::kNone);
      }};
  for (const Encode encode : encoders)
    expect_update_is_fresh({{FieldRole::kSignal, ~std::uint64_t{0}}},
                           [&](WordList& list, const std::vector<std::uint64_t>& values) {
                             return encode(list, values[0]);
                           });
}

TEST(Updates, CopiesAndWrites_EqualFreshWords) {
  expect_update_is_fresh({{FieldRole::kTarget, kAddressLimit / 2},
                          {FieldRole::kSource, kAddressLimit / 2},
                          {FieldRole::kSize, kMaxCopyBytes}},
                         [](WordList& list, const std::vector<std::uint64_t>& v) {
                           return copy(list, v[0], v[1], v[2]);
                         });
  expect_update_is_fresh(
      {{FieldRole::kTarget, kCommandAddressLimit}, {FieldRole::kValue, ~std::uint64_t{0}}},
      [](WordList& list, const std::vector<std::uint64_t>& v) {
        return write_value(list, v[0], v[1], 8);
      });
  expect_update_is_fresh(
      {{FieldRole::kTarget, kCommandAddressLimit}, {FieldRole::kValue, std::uint64_t{1} << 32}},
      [](WordList& list, const std::vector<std::uint64_t>& v) {
        return write_value(list, v[0], v[1], 4);
      });
}

}  // namespace
}  // namespace halyard::nv
