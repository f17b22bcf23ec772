// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/code_object.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <nlohmann/json.hpp>

#include "base/format.h"

namespace halyard::inline v0::compiler {
namespace {

constexpr Elf64_Half kMachine = 224;             // EM_AMDGPU
constexpr Elf64_Word kMetadataNote = 32;         // NT_AMDGPU_METADATA
constexpr std::string_view kOwner("AMDGPU", 7);  // with its terminating 0

// Reads a T at this offset; false if the bytes are too short.
template <class T>
bool read(std::string_view bytes, std::size_t offset, T& value) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof value) return false;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return true;
}

// The metadata as MessagePack; empty if there is none.
std::string_view find_metadata(std::string_view bytes) {
  Elf64_Ehdr header;
  if (!read(bytes, 0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
      header.e_machine != kMachine || header.e_phoff > bytes.size()) {
    return {};
  }
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    if (!read(bytes, header.e_phoff + i * sizeof segment, segment)) return {};
    if (segment.p_type != PT_NOTE || segment.p_offset > bytes.size()) continue;
    std::string_view notes = bytes.substr(segment.p_offset, segment.p_filesz);
    Elf64_Nhdr note;
    while (read(notes, 0, note)) {
      // Owner and description are each padded to 4 bytes.
      const std::uint64_t start = sizeof note + (std::uint64_t{note.n_namesz} + 3) / 4 * 4;
      const std::uint64_t end = start + (std::uint64_t{note.n_descsz} + 3) / 4 * 4;
      if (end > notes.size()) break;
      if (note.n_type == kMetadataNote && notes.substr(sizeof note, note.n_namesz) == kOwner) {
        return notes.substr(start, note.n_descsz);
      }
      notes.remove_prefix(end);
    }
  }
  return {};
}

CodeObjectKernel kernel_of(const nlohmann::json& entry) {
  const auto number = [&](const char* key) { return entry.value(key, std::uint32_t{0}); };
  CodeObjectKernel kernel{.name = entry.at(".name"),
                          .arguments = {},
                          .workgroup_size = {},
                          .shared_bytes = entry.at(".group_segment_fixed_size"),
                          .argument_bytes = number(".kernarg_segment_size"),
                          .private_bytes = number(".private_segment_fixed_size"),
                          .max_items = number(".max_flat_workgroup_size"),
                          .wave_size = number(".wavefront_size"),
                          .vector_registers = number(".vgpr_count"),
                          .scalar_registers = number(".sgpr_count"),
                          .accumulation_registers = number(".agpr_count"),
                          .vector_spills = number(".vgpr_spill_count"),
                          .scalar_spills = number(".sgpr_spill_count")};
  if (const auto size = entry.find(".reqd_workgroup_size"); size != entry.end()) {
    for (std::size_t d = 0; d < 3; ++d) kernel.workgroup_size[d] = size->at(d);
  }
  for (const nlohmann::json& argument : entry.value(".args", nlohmann::json::array())) {
    kernel.arguments.push_back({argument.value(".name", ""), argument.value(".type_name", ""),
                                argument.at(".value_kind"), argument.at(".offset"),
                                argument.at(".size"), argument.value(".is_const", false)});
  }
  return kernel;
}

// How the kernel's arguments differ from the convention's; empty if they agree.
std::string difference(const CodeObjectKernel& have, const Kernel& want) {
  if (have.workgroup_size[0] != 0 && have.workgroup_size != want.workgroup_size) {
    return fmt::format("requires groups of {} items, not {}", fmt::join(have.workgroup_size, " x "),
                       fmt::join(want.workgroup_size, " x "));
  }
  std::size_t bindings = 0;
  std::uint32_t constants = 0;
  for (const CodeObjectArgument& argument : have.arguments) {
    const bool buffer = argument.kind == "global_buffer" && argument.size == 8 && constants == 0;
    if (!buffer && argument.kind != "by_value") {
      return fmt::format("has an argument of {} bytes at {} of kind {}", argument.size,
                         argument.offset, argument.kind);
    }
    const std::uint32_t start = static_cast<std::uint32_t>(8 * bindings);
    if (argument.offset < start + constants) return "has arguments that overlap";
    if (buffer) ++bindings;
    if (!buffer) constants = argument.offset + argument.size - start;
  }
  if (bindings != want.bindings.size() || constants != want.constants_bytes) {
    return fmt::format("takes {} and {} of constants, not {} and {}",
                       base::counted(bindings, "buffer"), base::counted(constants, "byte"),
                       want.bindings.size(), want.constants_bytes);
  }
  return {};
}

}  // namespace

Result<CodeObject> read_code_object(std::string_view bytes, std::string_view name) {
  const std::string_view metadata = find_metadata(bytes);
  if (metadata.empty()) {
    return error(StatusCode::kInvalidArgument, "{}: not an AMD code object with metadata", name);
  }
  try {
    CodeObject object;
    const nlohmann::json described = nlohmann::json::from_msgpack(metadata);
    object.target = described.value("amdhsa.target", "");
    for (const nlohmann::json& entry : described.at("amdhsa.kernels")) {
      object.kernels.push_back(kernel_of(entry));
    }
    return object;
  } catch (const std::exception& exception) {
    return error(StatusCode::kInvalidArgument, "{}: damaged metadata: {}", name, exception.what());
  }
}

Status check_code_object(std::string_view bytes, std::string_view name,
                         std::span<const Kernel> kernels) {
  HALYARD_ASSIGN_OR_RETURN(const CodeObject object, read_code_object(bytes, name));
  const std::vector<CodeObjectKernel>& found = object.kernels;
  for (const Kernel& kernel : kernels) {
    const auto entry = std::ranges::find(found, kernel.name, &CodeObjectKernel::name);
    if (entry == found.end()) {
      return error(StatusCode::kInvalidArgument, "{}: kernel '{}' is not in the code object", name,
                   kernel.name);
    }
    if (const std::string what = difference(*entry, kernel); !what.empty()) {
      return error(StatusCode::kInvalidArgument, "{}: kernel '{}' {}", name, kernel.name, what);
    }
  }
  return {};
}

}  // namespace halyard::inline v0::compiler
