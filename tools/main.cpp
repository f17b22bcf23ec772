// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The halyard command: its command line and its error messages.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <functional>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "commands.h"
#include "compiler/compile.h"
#include "halyard/hal/device.h"

namespace halyard::inline v0::tools {
namespace {

using Action = std::function<Result<int>()>;

// A subcommand with its options. If a command line names it, `action` becomes `run` with them.
template <class Options>
std::pair<CLI::App*, Options*> add(CLI::App& app, Action& action, const char* name,
                                   const char* about, Result<int> (*run)(const Options&)) {
  const auto options = std::make_shared<Options>();
  CLI::App* const command = app.add_subcommand(name, about);
  command->add_flag("--json", options->json, "Print one JSON object");
  command->callback([&action, options, run] { action = [options, run] { return run(*options); }; });
  return {command, options.get()};
}

// An option that may be repeated, with one value each.
void add_list(CLI::App& command, const char* name, std::vector<std::string>& values,
              const char* form, const std::string& about) {
  command.add_option(name, values, about)->allow_extra_args(false)->take_all()->type_name(form);
}

// Options for compiling a kernel source.
void add_source_options(CLI::App& command, std::vector<std::string>& include_dirs,
                        CacheOptions& cache) {
  add_list(command, "-I,--include", include_dirs, "DIR", "Directory of the kernel's own headers");
  auto* const folder =
      command
          .add_option("--cache-dir", cache.folder,
                      "Cache of compiled sources; default $HALYARD_CACHE_DIR, else "
                      "$XDG_CACHE_HOME/halyard, else ~/.cache/halyard")
          ->type_name("DIR");
  command.add_flag("--no-cache", cache.off, "Always compile")->excludes(folder);
}

void add_devices(CLI::App& app, Action& action) {
  const auto [command, options] =
      add(app, action, "devices", "List the devices of this machine", devices);
  command
      ->add_option("--uri", options->uri, "List the devices of this URI instead: cpu://?devices=2")
      ->type_name("URI");
}

void add_compile(CLI::App& app, Action& action) {
  const auto [command, options] =
      add<CompileOptions>(app, action, "compile", "Compile a kernel file to .hyx", compile);
  command
      ->add_option(
          "source", options->source,
          "The .hyk file; or a .cu, .cl, .comp or .metal file, which its own compiler builds")
      ->required()
      ->type_name("");
  command->add_option("-o,--output", options->output, "The .hyx file; default: k.hyk to ./k.hyx")
      ->type_name("FILE");
  command
      ->add_option("--depfile", options->depfile, "Write the dependencies here, as a Makefile rule")
      ->type_name("FILE");
  std::string targets =
      "Targets, with commas between them; may be repeated. gfxN is short for hsaco-gfxN. "
      "\"default\": those without this option. For .hyk files:";
  for (const std::string_view target : compiler::known_targets()) {
    targets.append(" ").append(target);
  }
  targets +=
      ". For .cu: ptx-sm_NN; for .cl: also hsaco-gfxN; for .comp: spirv-1.5 and msl-3.0; for .metal: msl-3.0";
  add_list(*command, "--target", options->targets, "NAME", targets);
  command->get_option("--target")->delimiter(',');
  command
      ->add_option("--manifest", options->manifest,
                   "Description of the kernels of a .cu, .cl, .comp or .metal file, as JSON; "
                   "see `halyard pack`")
      ->type_name("FILE");
  add_source_options(*command, options->include_dirs, options->cache);
  command->add_option("-O", options->optimization, "Optimisation level, 0 to 3; default 3")
      ->type_name("N");
  command->add_flag("--debug", options->debug, "Keep symbols and line tables");
  command->add_flag("--checked", options->checked,
                    "On CPUs report, and on GPUs trap, indices outside tensors; on CPUs also those "
                    "outside buffers and arrays");
  command->add_flag("--checked-cpu", options->checked_cpu,
                    "--checked for the images for CPUs alone");
}

void add_inspect(CLI::App& app, Action& action) {
  const auto [command, options] =
      add(app, action, "inspect", "Verify a .hyx file and show its contents", inspect);
  command->add_option("file", options->file, "The .hyx file")->required()->type_name("");
  command
      ->add_option("--device", options->device,
                   "Also what its kernels occupy there: registers, shared memory, occupancy")
      ->type_name("URI");
}

void add_pack(CLI::App& app, Action& action) {
  const auto [command, options] =
      add(app, action, "pack", "Put images of other compilers into a .hyx file", pack);
  command->add_option("--manifest", options->manifest, "Description of the kernels, as JSON")
      ->required()
      ->type_name("FILE");
  add_list(*command, "--image", options->images, "TARGET[:CONVENTION]=FILE",
           "An image for this target; may be repeated");
  command->get_option("--image")->required();
  command->add_option("-o,--output", options->output, "The .hyx file")
      ->required()
      ->type_name("FILE");
  command->footer(
      "The manifest has the form that `halyard inspect --json` prints; at least\n"
      "{\"kernels\": [{\"name\": \"k\", \"workgroup_size\": [64]}]}.\n"
      "Example: halyard pack --manifest k.json --image x86-64-v3=k.so -o k.hyx");
}

void add_run(CLI::App& app, Action& action) {
  const auto [command, options] = add(app, action, "run", "Run a kernel on NumPy files", run);
  command->add_option("file", options->file, "The .hyx file, or a .hyk file to compile first")
      ->required()
      ->type_name("");
  command->add_option("kernel", options->kernel, "The kernel's name")->required()->type_name("");
  command->add_option("--device", options->device, "Where to run it; default cpu://")
      ->type_name("URI");
  auto* const items = command
                          ->add_option("--items", options->items,
                                       "Number of items; every array has an element for each")
                          ->type_name("X[,Y[,Z]]");
  command->add_option("--groups", options->groups, "Number of workgroups; arrays may have any size")
      ->type_name("X[,Y[,Z]]")
      ->excludes(items);
  add_list(*command, "--arg", options->args, "NAME=VALUE", "A constant");
  add_list(*command, "--in", options->ins, "NAME=FILE.npy", "A binding that the kernel reads");
  add_list(*command, "--inout", options->inouts, "NAME=IN.npy[:OUT.npy]",
           "A binding that it reads and writes; without OUT.npy, IN.npy is replaced");
  add_list(*command, "--out", options->outs, "NAME=FILE.npy[:SHAPE]",
           "A binding that it writes; SHAPE as 64,10, by default an element for each item");
  add_list(*command, "--tile", options->tiles, "NAME=LENGTHS",
           "Tile extents, as 8,128, of an output tensor whose tile the launch chooses");
  add_source_options(*command, options->include_dirs, options->cache);
  command->footer(
      "Every constant and binding that `halyard inspect` shows is given exactly once, except\n"
      "constants of tensors: the arrays determine those, and the number of workgroups.\n"
      "Example: halyard run k.hyx saxpy --items 4096 --arg a=2.0 --arg n=4096 --in x=x.npy "
      "--inout y=y.npy:z.npy");
}

void add_trace(CLI::App& app, Action& action) {
  const auto [command, options] =
      add(app, action, "trace", "Run a program and write its timeline, for ui.perfetto.dev", trace);
  command->add_option("-o,--output", options->output, "The timeline; default trace.json")
      ->type_name("FILE");
  command->add_option("--limit", options->limit, "The file's largest size; default 512")
      ->check(CLI::Range(1, 1'000'000))
      ->type_name("MIB");
  command->add_option("program", options->program, "The program and its arguments, after --")
      ->required()
      ->type_name("");
  command->footer(
      "The exit code is the program's, or 128 + the signal that ended it.\n"
      "Example: halyard trace -o digits.json -- ./digits --epochs 3");
}

#if HALYARD_HAS_VERIFY
void add_verify(CLI::App& app, Action& action) {
  const auto [command, options] =
      add(app, action, "verify", "Check a device against Halyard's contract", verify);
  command
      ->add_option("--device", options->device,
                   "The device, or several that are separated by commas; default cpu://")
      ->type_name("URI");
  command
      ->add_option("--filter", options->filter,
                   "Only the cases that match: semaphore.*, or do not: !stress.*")
      ->type_name("GLOB");
  command->add_option("--repeat", options->repeat, "Number of runs of each case; default 1")
      ->type_name("N")
      ->check(CLI::Range(1, 1000000));
  command->add_flag("--stress", options->stress,
                    "Eight times the submissions in cases that have many, on four times the "
                    "threads");
  command->add_flag("--all-modes", options->all_modes,
                    "Also with other numbers of devices and workers, other placement and "
                    "priorities, and traced");
  command
      ->add_option("--exclusions", options->exclusions,
                   "Cases that are known to fail, as JSON; one that passes fails the run")
      ->type_name("FILE");
  command->add_flag("--list", options->list, "Name the cases and run none");
  command->footer(
      "A file of exclusions: [{\"driver\": \"cpu\", \"case\": \"event.*\", \"reason\": \"...\"}].\n"
      "docs/conformance.md has the fact that each case asserts.");
}
#endif

// If stderr cannot be written either, only the exit code reports it: fmt::print would throw.
void complain(const std::string& text) {
  (void)std::fputs(("halyard: " + text + "\n").c_str(), stderr);
}

int report(const Status& status) {
  complain(status.to_string());
  return kFailed;
}

int parse_and_run(int argc, char** argv) {
  CLI::App app("Halyard runs kernels on devices, ordered by timeline semaphores.", "halyard");
  app.set_version_flag("--version", "halyard " HALYARD_VERSION);
  app.require_subcommand(1);
  app.footer("`halyard COMMAND --help` tells more. Exit codes: 0 done, 1 error.");
  Action action;
  add_devices(app, action);
  add_compile(app, action);
  add_inspect(app, action);
  add_pack(app, action);
  add_run(app, action);
  add_trace(app, action);
#if HALYARD_HAS_VERIFY
  add_verify(app, action);
#endif
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& problem) {
    if (problem.get_exit_code() == 0) return app.exit(problem);  // --help, --version
    const auto named = app.get_subcommands();
    std::string what = problem.what();
    if (named.empty() && argc > 1 && argv[1][0] != '-') {
      what = fmt::format("there is no command '{}'", argv[1]);
    }
    complain(fmt::format("{}; see halyard {}--help", what,
                         named.empty() ? "" : named.front()->get_name() + " "));
    return kFailed;
  }
  const Result<int> code = action();
  return code.ok() ? *code : report(code.status());
}

int main(int argc, char** argv) {
  int code = kFailed;
  try {
    code = parse_and_run(argc, argv);
    // All handles are gone. A device that does not close now is a defect of Halyard or a driver.
    const Status status = hal::shutdown(std::chrono::seconds(60));
    if (!status.ok()) return report(status);
  } catch (const std::system_error& problem) {  // from fmt::print
    return report(Status(StatusCode::kUnavailable, problem.what()));
  } catch (const std::bad_alloc&) {
    return report(Status(StatusCode::kResourceExhausted, "no memory"));
  } catch (const std::length_error&) {  // a size that exceeds any memory
    return report(Status(StatusCode::kResourceExhausted, "no memory"));
  } catch (const std::exception& problem) {
    return report(Status(StatusCode::kInternal, problem.what()));
  }
  // Output that cannot be written is an error too: a full disk, a closed pipe.
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    return report(Status(StatusCode::kUnavailable, "stdout: cannot write"));
  }
  return code;
}

}  // namespace
}  // namespace halyard::inline v0::tools

int main(int argc, char** argv) {
  // A write beyond the limit of a file's size is then an error, here and in the compiler.
  std::signal(SIGXFSZ, SIG_IGN);
  return halyard::tools::main(argc, argv);
}
