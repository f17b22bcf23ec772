// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs kernels written in PTX on memory of the test. Device addresses equal host addresses.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <list>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "simulation/cuda/ptx/ptx.h"

namespace halyard::testing {

namespace ptx = sim::ptx;

// Allocations, each with its own mapping.
class PtxMemory : public ptx::Memory {
 public:
  std::uint64_t add(std::size_t bytes) {
    // 8-byte units, so that any type is aligned.
    auto& block = blocks_.emplace_back((bytes + 7) / 8);
    const auto address = reinterpret_cast<std::uint64_t>(block.data());
    add_mapping({address, address + bytes, reinterpret_cast<std::byte*>(block.data()), true});
    return address;
  }
  void add_mapping(const ptx::Mapping& mapping) { mappings_.push_back(mapping); }
  std::uint64_t allocate(std::uint64_t bytes) override { return add(bytes); }
  bool release(std::uint64_t) override { return true; }  // freed with the memory
  std::optional<ptx::Mapping> find(std::uint64_t address) override {
    for (const ptx::Mapping& each : mappings_) {
      if (address >= each.begin && address < each.end) return each;
    }
    return std::nullopt;
  }

 private:
  std::list<std::vector<std::uint64_t>> blocks_;
  std::vector<ptx::Mapping> mappings_;
};

// A module with its variables in memory.
class PtxModule {
 public:
  explicit PtxModule(const ptx::Parsed& parsed) : module_(parsed.module), log_(parsed.log) {
    if (module_ == nullptr) return;
    for (const ptx::Variable& each : module_->variables())
      addresses_.push_back(memory.add(each.size));
    for (std::size_t i = 0; i < addresses_.size(); ++i) {
      const std::vector<std::byte> bytes = module_->initial_bytes(i, addresses_);
      std::memcpy(reinterpret_cast<void*>(addresses_[i]), bytes.data(), bytes.size());
    }
  }

  explicit operator bool() const { return module_ != nullptr; }
  const std::string& log() const { return log_; }
  const ptx::Module& module() const { return *module_; }
  std::span<const std::uint64_t> addresses() const { return addresses_; }

  ptx::Outcome run(std::string_view entry, ptx::Extent grid, ptx::Extent block,
                   std::span<const std::byte> parameters, const ptx::Options& options = {},
                   std::uint32_t dynamic_shared_bytes = 0) {
    ptx::Launch launch;
    launch.entry = module_->find_entry(entry).value();
    launch.grid = grid;
    launch.block = block;
    launch.dynamic_shared_bytes = dynamic_shared_bytes;
    launch.parameters = parameters;
    launch.addresses = addresses_;
    return ptx::run(*module_, launch, memory, options);
  }

  PtxMemory memory;

 private:
  std::shared_ptr<const ptx::Module> module_;
  std::string log_;
  std::vector<std::uint64_t> addresses_;
};

// Bytes of an entry's parameters, each aligned to its size.
template <class... Values>
std::vector<std::byte> pack_parameters(const Values&... values) {
  std::vector<std::byte> bytes;
  const auto add = [&](const auto& value) {
    const std::size_t at = (bytes.size() + sizeof(value) - 1) / sizeof(value) * sizeof(value);
    bytes.resize(at + sizeof(value));
    std::memcpy(&bytes[at], &value, sizeof(value));
  };
  (add(values), ...);
  return bytes;
}

inline std::string ptx_text(std::string_view functions) {
  return ".version 7.8\n.target sm_80\n.address_size 64\n" + std::string(functions);
}

// The inputs of a lane, as 64 bits.
using LaneInputs = std::vector<std::array<std::uint64_t, 3>>;

// Runs `body` on each of `inputs`, a lane for each, and returns %y. The body finds its inputs in
// %l0 to %l2 as 64 bits, %a0 to %a2 as 32, %h0 to %h2 as 16, %f0 to %f2 and %d0 to %d2 as floats
// and doubles of the same bits, and may use %p<8>, %r<20>, %rd<20>, %f<20>, %d<20> and %h<20>. It
// writes %y, or %x (32 bits), or %z (16 bits).
inline std::vector<std::uint64_t> run_lanes(std::string_view body, const LaneInputs& inputs,
                                            const ptx::Options& options = {}) {
  std::string text = R"(.visible .entry lanes(.param .u64 in, .param .u64 out, .param .u32 size) {
.reg .pred %p<8>; .reg .b32 %r<20>, %a<3>, %x; .reg .b64 %rd<20>, %l<3>, %y, %io<4>;
.reg .f32 %f<20>; .reg .f64 %d<20>; .reg .b16 %h<20>, %z; .reg .pred %done; .reg .b32 %id, %n, %c;
mov.u32 %id, %ntid.x; mov.u32 %c, %ctaid.x; mov.u32 %n, %tid.x; mad.lo.u32 %id, %id, %c, %n;
ld.param.u32 %n, [size]; setp.ge.u32 %done, %id, %n; @%done ret;
ld.param.u64 %io0, [in]; mul.wide.u32 %io1, %id, 24; add.u64 %io0, %io0, %io1;
)";
  for (const char i : {'0', '1', '2'}) {
    text.append("ld.global.b64 %l")
        .append(1, i)
        .append(", [%io0+")
        .append(std::to_string(8 * (i - '0')))
        .append("];\n");
    text.append("cvt.u32.u64 %a").append(1, i).append(", %l").append(1, i).append(";\n");
    text.append("cvt.u16.u64 %h").append(1, i).append(", %l").append(1, i).append(";\n");
    text.append("mov.b32 %f").append(1, i).append(", %a").append(1, i).append(";\n");
    text.append("mov.b64 %d").append(1, i).append(", %l").append(1, i).append(";\n");
  }
  text += "mov.u64 %y, 0; mov.u32 %x, 0; mov.u16 %z, 0;\n";
  text += body;
  text += R"(
cvt.u64.u32 %io2, %x; or.b64 %y, %y, %io2; cvt.u64.u16 %io2, %z; or.b64 %y, %y, %io2;
ld.param.u64 %io0, [out]; mul.wide.u32 %io1, %id, 8; add.u64 %io0, %io0, %io1;
st.global.b64 [%io0], %y; ret; })";
  PtxModule module(ptx::Module::parse(ptx_text(text)));
  EXPECT_TRUE(module) << module.log() << body;
  std::vector<std::uint64_t> results(inputs.size());
  if (!module || inputs.empty()) return results;
  const std::uint64_t in = module.memory.add(inputs.size() * 24);
  const std::uint64_t out = module.memory.add(inputs.size() * 8);
  std::memcpy(reinterpret_cast<void*>(in), inputs.data(), inputs.size() * 24);
  const auto count = static_cast<std::uint32_t>(inputs.size());
  const ptx::Outcome outcome = module.run("lanes", {(count + 127) / 128, 1, 1}, {128, 1, 1},
                                          pack_parameters(in, out, count), options);
  EXPECT_EQ(outcome.kind, ptx::OutcomeKind::kOk) << outcome.message;
  std::memcpy(results.data(), reinterpret_cast<const void*>(out), results.size() * 8);
  return results;
}

// Random bits, small numbers, and the ends of ranges, in every combination of places.
inline LaneInputs mixed_inputs(std::size_t random = 200) {
  constexpr std::uint64_t kSpecial[] = {0,
                                        1,
                                        2,
                                        31,
                                        32,
                                        33,
                                        0x7f,
                                        0x80,
                                        0xff,
                                        0x7fff,
                                        0x8000,
                                        0xffff,
                                        0x7fffffff,
                                        0x80000000,
                                        0xffffffff,
                                        0x100000000,
                                        0x7fffffffffffffff,
                                        0x8000000000000000,
                                        ~std::uint64_t{0}};
  LaneInputs inputs;
  for (const std::uint64_t a : kSpecial) {
    for (const std::uint64_t b : kSpecial) inputs.push_back({a, b, kSpecial[(a ^ b) % 19]});
  }
  std::mt19937_64 engine(1);
  for (std::size_t i = 0; i < random; ++i) {
    inputs.push_back({engine(), engine(), engine() >> (engine() % 64)});
  }
  return inputs;
}

// Compares `body` with `expected(a, b, c)` on all inputs.
template <class F>
void expect_lanes(std::string_view body, F expected, const LaneInputs& inputs = mixed_inputs()) {
  SCOPED_TRACE(std::string(body));
  const std::vector<std::uint64_t> results = run_lanes(body, inputs);
  int shown = 0;
  for (std::size_t i = 0; i < inputs.size() && shown < 5; ++i) {
    const auto& [a, b, c] = inputs[i];
    const std::uint64_t want = expected(a, b, c);
    if (results[i] == want) continue;
    ++shown;
    ADD_FAILURE() << std::hex << "of " << a << ", " << b << ", " << c << ": " << results[i]
                  << ", expected " << want;
  }
}

}  // namespace halyard::testing
