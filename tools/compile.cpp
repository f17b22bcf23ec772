// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/compile.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/format.h"
#include "commands.h"
#include "compiler/foreign.h"
#include "file.h"
#include "json.h"
#include "source.h"

namespace halyard::inline v0::tools {

namespace {

// "k.hyx: k.hyk my\ header.h", as make and ninja read it.
std::string rule_of(const std::string& output, const std::vector<std::string>& inputs) {
  std::string rule;
  const auto add = [&](const std::string& path) {
    for (const char c : path) {
      if (c == ' ' || c == '#') rule += '\\';
      if (c == '$') rule += '$';
      rule += c;
    }
  };
  add(output);
  rule += ':';
  for (const std::string& input : inputs) {
    rule += ' ';
    add(input);
  }
  return rule + '\n';
}

}  // namespace

Result<int> compile(const CompileOptions& options) {
  namespace fs = std::filesystem;
  std::string output = options.output;
  if (output.empty())
    output = fs::path(options.source).filename().replace_extension("hyx").string();
  // Otherwise a source named k.hyx would be replaced by its own result.
  std::error_code ignored;
  if (fs::equivalent(options.source, output, ignored)) {
    return error(StatusCode::kInvalidArgument, "{}: source and output are one file", output);
  }

  compiler::CompileOptions what;
  what.source = options.source;
  what.manifest = options.manifest;
  what.targets = compiler::named_targets(options.source, options.targets);
  what.include_dirs = options.include_dirs;
  what.optimization = options.optimization;
  what.debug = options.debug;
  what.checked = options.checked;
  what.checked_cpu = options.checked_cpu;
  std::vector<std::string> inputs;
  what.inputs = &inputs;
  HALYARD_ASSIGN_OR_RETURN(const CompiledSource compiled, compile_source(what, options.cache));
  HALYARD_RETURN_IF_ERROR(write_file(output, {std::span(compiled.bytes)}));
  if (!options.depfile.empty()) {
    const std::string rule = rule_of(output, inputs);
    HALYARD_RETURN_IF_ERROR(write_file(options.depfile, {std::as_bytes(std::span(rule))}));
  }

  fmt::print(stderr, "{}", compiled.warnings);
  if (options.json) {
    print_json({{"file", output},
                {"bytes", compiled.bytes.size()},
                {"targets", what.targets},
                {"warnings", compiled.warnings},
                {"cache", compiled.cache}});
  }
  return kDone;
}

}  // namespace halyard::inline v0::tools
