// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs kernels written in PTX on memory of the test, whose device addresses are the host's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/cuda/ptx/ptx.h"

namespace halyard::testing {

namespace ptx = sim::ptx;

// Allocations, each a mapping of its own.
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

}  // namespace halyard::testing
