// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/cpu_ir.h"

#include <cctype>
#include <cstddef>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace halyard::inline v0::compiler {
namespace {

constexpr std::string_view kPromise = ", !llvm.access.group !";

bool is_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' || c == '-' ||
         c == '$';
}

// The name of a local value at `at`, which is a '%'.
std::string_view name_at(std::string_view line, std::size_t at) {
  std::size_t end = at + 1;
  while (end < line.size() && is_name(line[end])) ++end;
  return line.substr(at, end - at);
}

}  // namespace

//   %x = alloca [5 x double], align 16
//   %p = getelementptr inbounds [5 x double], ptr %x, i64 0, i64 %i
//   store double %v, ptr %p, align 8, !llvm.access.group !7
void share_local_arrays(std::string& ir) {
  std::unordered_set<std::string_view> local;  // addresses within arrays and structs
  std::string result;
  result.reserve(ir.size());
  std::string_view rest = ir;
  while (!rest.empty()) {
    const std::size_t newline = rest.find('\n');
    const std::string_view line = rest.substr(0, newline);
    rest.remove_prefix(newline == rest.npos ? rest.size() : newline + 1);
    if (line.starts_with("define ")) local.clear();

    const bool defines = line.starts_with("  %");
    const std::string_view defined = defines ? name_at(line, 2) : std::string_view();
    const std::string_view value = line.substr(defines ? 2 + defined.size() : 0);
    bool uses = false;
    for (std::size_t at = value.find('%'); at != value.npos; at = value.find('%', at + 1)) {
      uses |= local.contains(name_at(value, at));
    }
    if (value.starts_with(" = alloca [") || value.starts_with(" = alloca %") ||
        (uses && value.starts_with(" = getelementptr"))) {
      local.insert(defined);
    }
    const std::size_t promise = uses ? line.find(kPromise) : line.npos;
    if (promise == line.npos) {
      result += line;
    } else {
      std::size_t end = promise + kPromise.size();
      while (end < line.size() && std::isdigit(static_cast<unsigned char>(line[end])) != 0) ++end;
      result.append(line.substr(0, promise)).append(line.substr(end));
    }
    result += '\n';
  }
  ir = std::move(result);
}

}  // namespace halyard::inline v0::compiler
