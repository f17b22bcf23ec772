// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parses PTX texts and runs their kernels for a few instructions, because a module that parses may
// still do anything with its memory.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "simulation/cuda/ptx/ptx.h"

namespace ptx = halyard::sim::ptx;

namespace {

struct Nothing final : ptx::Memory {
  explicit Nothing(std::vector<std::uint64_t>& words) : words_(words) {}
  std::optional<ptx::Mapping> find(std::uint64_t address) override {
    if (address < kBegin || address >= kBegin + 8 * words_.size()) return std::nullopt;
    return ptx::Mapping{kBegin, kBegin + 8 * words_.size(),
                        reinterpret_cast<std::byte*>(words_.data()), true};
  }
  static constexpr std::uint64_t kBegin = 0x1000;
  std::vector<std::uint64_t>& words_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ptx::Parsed parsed =
      ptx::Module::parse(std::string_view(reinterpret_cast<const char*>(data), size));
  if (parsed.module == nullptr) {
    if (parsed.log.empty() || parsed.status == ptx::ParseStatus::kOk) std::abort();
    return 0;
  }
  std::vector<std::uint64_t> words(64);
  Nothing memory(words);
  const std::vector<std::uint64_t> addresses(parsed.module->variables().size(), Nothing::kBegin);
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    if (parsed.module->variables()[i].size < 4096) parsed.module->initial_bytes(i, addresses);
  }
  for (std::size_t i = 0; i < parsed.module->entries().size() && i < 4; ++i) {
    const ptx::Entry& entry = parsed.module->entries()[i];
    std::vector<std::byte> parameters(entry.parameter_bytes, std::byte{0x10});
    ptx::Launch launch;
    launch.entry = i;
    launch.grid = {2, 1, 1};
    launch.block = entry.required_block[0] != 0 ? entry.required_block : ptx::Extent{40, 1, 1};
    launch.parameters = parameters;
    launch.addresses = addresses;
    ptx::Options options;
    options.strict = true;
    options.max_instructions = 2000;
    ptx::run(*parsed.module, launch, memory, options);
  }
  return 0;
}
