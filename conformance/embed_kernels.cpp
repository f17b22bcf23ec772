// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// embed_kernels <file.hyk> <file.cpp> <target>...: compiles the suite's kernels and writes them as
// the source of built_in_kernels(). Targets are those of `halyard compile`. It is a program of the
// build, because the halyard command contains the suite and so cannot compile its kernels.
#include <fmt/format.h>

#include <cstdio>
#include <iterator>
#include <string>
#include <vector>

#include "compiler/compile.h"
#include "compiler/foreign.h"

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fputs("usage: embed_kernels <file.hyk> <file.cpp> <target>...\n", stderr);
    return 1;
  }
  const std::vector<std::string> targets(argv + 3, argv + argc);
  const auto image = halyard::compiler::compile(
      {.source = argv[1], .targets = halyard::compiler::named_targets(argv[1], targets)});
  if (!image.ok()) {
    std::fprintf(stderr, "%s\n", image.status().to_string().c_str());
    return 1;
  }
  std::string text =
      "#include \"conformance/suites.h\"\n\n"
      "namespace halyard::inline v0::conformance {\n"
      "namespace {\n\n"
      "alignas(64) const unsigned char kImage[] = {";
  for (std::size_t i = 0; i < image->size(); ++i) {
    fmt::format_to(std::back_inserter(text), "{}{},", i % 20 == 0 ? "\n" : "",
                   static_cast<unsigned>((*image)[i]));
  }
  text +=
      "\n};\n\n}  // namespace\n\n"
      "std::span<const std::byte> built_in_kernels() noexcept {\n"
      "  return std::as_bytes(std::span(kImage));\n"
      "}\n\n"
      "}  // namespace halyard::inline v0::conformance\n";
  std::FILE* const file = std::fopen(argv[2], "w");
  const bool written =
      file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (file == nullptr || std::fclose(file) != 0 || !written) {
    std::perror(argv[2]);
    return 1;
  }
  return 0;
}
