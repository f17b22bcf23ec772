// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MTLDevice: libraries, pipelines, argument encoders and archives.
#include <dispatch/dispatch.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <utility>

#include "simulation/metal/framework/device_objects.h"

namespace {

// The first words of the files and data that newLibraryWithURL: and newLibraryWithData: accept
// instead of a metallib, whose code only Apple's GPUs run. The line continues with options of
// Apple's compiler; then follows text in the Metal Shading Language.
constexpr std::string_view kTextLibrary = "MTLB halyard text";

// Reads the options of that line. Returns false, and the option, if an option is unknown.
bool read_flags(std::string_view line, MTLCompileOptions* options, std::string_view* unknown) {
  while (!line.empty()) {
    const std::size_t length = std::min(line.find(' '), line.size());
    const std::string_view flag = line.substr(0, length);
    line.remove_prefix(std::min(length + 1, line.size()));
    const std::size_t prefix = flag.starts_with("-std=macos-metal") ? 16 : 10;
    if (flag == "-ffast-math" || flag == "-fno-fast-math") {
      [options setFastMathEnabled:flag == "-ffast-math"];
    } else if ((prefix == 16 || flag.starts_with("-std=metal")) && flag.size() == prefix + 3 &&
               flag[prefix + 1] == '.') {
      const auto digit = [&](std::size_t at) {
        return static_cast<NSUInteger>(flag[prefix + at] - '0');
      };
      [options setLanguageVersion:static_cast<MTLLanguageVersion>((digit(0) << 16) + digit(2))];
    } else if (!flag.empty()) {
      *unknown = flag;
      return false;
    }
  }
  return true;
}

bool read_file(const std::string& path, std::string* text) {
  std::FILE* const file = std::fopen(path.c_str(), "re");
  if (file == nullptr) return false;
  char part[4096];
  for (std::size_t count = 0; (count = std::fread(part, 1, sizeof(part), file)) != 0;) {
    text->append(part, count);
  }
  std::fclose(file);
  return true;
}

bool has_archive(NSArray* archives, SimulatedMetalFunction* function) {
  for (NSUInteger i = 0; i < [archives count]; ++i) {
    if ([static_cast<SimulatedMetalBinaryArchive*>([archives objectAtIndex:i]) contains:function]) {
      return true;
    }
  }
  return false;
}

}  // namespace

namespace halyard::inline v0::sim::metal {

SimulatedMetalLibrary* new_library(SimulatedMetalDevice* device, const std::string& source,
                                   MTLCompileOptions* compile, NSError** error) {
  if (state().is_child.load() || device->device_->is_removed.load() || is_nil(Class::kLibrary)) {
    set_error(error, library_error(MTLLibraryErrorInternal, "the device compiles nothing"));
    return nil;
  }
  const Options& all = options();
  msl::CompileOptions chosen;
  chosen.strict = all.strict;
  chosen.perturb_fast_functions = all.strict;
  if (compile != nil) {
    chosen.math_mode = static_cast<msl::MathMode>([compile mathMode]);
    chosen.precise_functions =
        [compile mathFloatingPointFunctions] == MTLMathFloatingPointFunctionsPrecise;
    chosen.language_version = static_cast<std::uint32_t>([compile languageVersion]);
    NSDictionary* const macros = [compile preprocessorMacros];
    NSArray* const names = [macros allKeys];
    for (NSUInteger i = 0; i < [names count]; ++i) {
      NSString* const macro = [names objectAtIndex:i];
      id const value = [macros objectForKey:macro];
      NSString* const value_text =
          [value isKindOfClass:[NSString class]] ? value : [value stringValue];
      chosen.macros.emplace_back(text(macro), text(value_text));
    }
    std::ranges::sort(chosen.macros);
  }
  msl::Library::Result result = msl::Library::compile(source, chosen);
  if (result.library == nullptr) {
    set_error(error, library_error(MTLLibraryErrorCompileFailure, result.log));
    return nil;
  }
  if (!result.log.empty() || all.compile_warnings) {
    // The library is valid; the error only contains warnings.
    set_error(error, library_error(MTLLibraryErrorCompileWarning,
                                   result.log.empty() ? "program_source: warning" : result.log));
  }
  SimulatedMetalLibrary* const made = [[SimulatedMetalLibrary alloc] init];
  made->device_ = [device retain];
  made->library_ = std::move(result.library);
  made->source_key_ = std::hash<std::string>{}(source);
  count_created(Class::kLibrary);
  return made;
}

}  // namespace halyard::inline v0::sim::metal

@implementation SimulatedMetalDevice (Compiler)
- (id<MTLLibrary>)newLibraryWithSource:(NSString*)source
                               options:(MTLCompileOptions*)options
                                 error:(NSError**)error {
  return metal::new_library(self, metal::text(source), options, error);
}
- (void)newLibraryWithSource:(NSString*)source
                     options:(MTLCompileOptions*)options
           completionHandler:(MTLNewLibraryCompletionHandler)handler {
  NSString* const copied_source = [source copy];
  MTLCompileOptions* const copied_options = [options copy];
  dispatch_async(dispatch_get_global_queue(0, 0), ^{
    NSError* error = nil;
    id<MTLLibrary> const made = [self newLibraryWithSource:copied_source
                                                   options:copied_options
                                                     error:&error];
    handler(made, error);
    [made release];
    [copied_source release];
    [copied_options release];
  });
}
- (id<MTLLibrary>)newLibraryWithText:(const std::string&)text error:(NSError**)error {
  const std::size_t end_of_line = text.find('\n');
  if (text.starts_with(kTextLibrary) && end_of_line != std::string::npos) {
    MTLCompileOptions* const options = [[[MTLCompileOptions alloc] init] autorelease];
    const std::string_view line =
        std::string_view(text).substr(kTextLibrary.size(), end_of_line - kTextLibrary.size());
    std::string_view unknown;
    if (!read_flags(line, options, &unknown)) {
      metal::set_error(error, metal::library_error(MTLLibraryErrorUnsupported,
                                                   "unknown option " + std::string(unknown) +
                                                       " in the first line of a text library"));
      return nil;
    }
    return metal::new_library(self, text.substr(end_of_line + 1), options, error);
  }
  metal::set_error(
      error, metal::library_error(MTLLibraryErrorUnsupported,
                                  "a compiled metallib holds code for Apple's GPUs, which the "
                                  "simulation does not execute: make the library from source"));
  return nil;
}
- (id<MTLLibrary>)newLibraryWithURL:(NSURL*)url error:(NSError**)error {
  return [self newLibraryWithFile:[url path] error:error];
}
- (id<MTLLibrary>)newLibraryWithFile:(NSString*)path error:(NSError**)error {
  std::string text;
  if (!read_file(metal::text(path), &text)) {
    metal::set_error(
        error, metal::library_error(MTLLibraryErrorFileNotFound, "no file " + metal::text(path)));
    return nil;
  }
  return [self newLibraryWithText:text error:error];
}
- (id<MTLLibrary>)newLibraryWithData:(dispatch_data_t)data error:(NSError**)error {
  const void* bytes = nullptr;
  std::size_t length = 0;
  dispatch_data_t const map = dispatch_data_create_map(data, &bytes, &length);
  const std::string text(static_cast<const char*>(bytes), length);
  dispatch_release(map);
  return [self newLibraryWithText:text error:error];
}
- (id<MTLLibrary>)newDefaultLibrary {
  return [self newDefaultLibraryWithBundle:[NSBundle mainBundle] error:nil];
}
// The file default.metallib, Xcode's name, in the bundle's resources or, for a program without a
// bundle, in its folder.
- (id<MTLLibrary>)newDefaultLibraryWithBundle:(NSBundle*)bundle error:(NSError**)error {
  const std::string path = metal::text([bundle resourcePath]) + "/default.metallib";
  return [self newLibraryWithFile:metal::string(path) error:error];
}

- (id<MTLComputePipelineState>)newComputePipelineStateWithFunction:(id<MTLFunction>)function
                                                             error:(NSError**)error {
  return metal::new_pipeline(self, function, 0, false, false, nil, error);
}
- (id<MTLComputePipelineState>)
    newComputePipelineStateWithFunction:(id<MTLFunction>)function
                                options:(MTLPipelineOption)options
                             reflection:(MTLComputePipelineReflection**)reflection
                                  error:(NSError**)error {
  (void)options;
  SimulatedMetalPipeline* const made =
      metal::new_pipeline(self, function, 0, false, false, nil, error);
  if (reflection != nullptr) *reflection = [made reflection];
  return made;
}
- (id<MTLComputePipelineState>)
    newComputePipelineStateWithDescriptor:(MTLComputePipelineDescriptor*)descriptor
                                  options:(MTLPipelineOption)options
                               reflection:(MTLComputePipelineReflection**)reflection
                                    error:(NSError**)error {
  SimulatedMetalFunction* const function =
      static_cast<SimulatedMetalFunction*>([descriptor computeFunction]);
  if ((options & MTLPipelineOptionFailOnBinaryArchiveMiss) != 0 && function != nil &&
      !has_archive([descriptor binaryArchives], function)) {
    metal::set_error(error, metal::library_error(MTLLibraryErrorInternal,
                                                 "the function is in none of the archives"));
    return nil;
  }
  SimulatedMetalPipeline* const made =
      metal::new_pipeline(self, function, [descriptor maxTotalThreadsPerThreadgroup],
                          [descriptor threadGroupSizeIsMultipleOfThreadExecutionWidth],
                          [descriptor supportIndirectCommandBuffers], [descriptor label], error);
  if (reflection != nullptr) *reflection = [made reflection];
  return made;
}
- (void)newComputePipelineStateWithFunction:(id<MTLFunction>)function
                                    options:(MTLPipelineOption)options
                          completionHandler:
                              (MTLNewComputePipelineStateWithReflectionCompletionHandler)handler {
  [function retain];
  dispatch_async(dispatch_get_global_queue(0, 0), ^{
    NSError* error = nil;
    MTLComputePipelineReflection* reflection = nil;
    id<MTLComputePipelineState> const made = [self newComputePipelineStateWithFunction:function
                                                                               options:options
                                                                            reflection:&reflection
                                                                                 error:&error];
    handler(made, reflection, error);
    [made release];
    [function release];
  });
}
- (void)newComputePipelineStateWithDescriptor:(MTLComputePipelineDescriptor*)descriptor
                                      options:(MTLPipelineOption)options
                            completionHandler:
                                (MTLNewComputePipelineStateWithReflectionCompletionHandler)handler {
  MTLComputePipelineDescriptor* const copied = [descriptor copy];
  dispatch_async(dispatch_get_global_queue(0, 0), ^{
    NSError* error = nil;
    MTLComputePipelineReflection* reflection = nil;
    id<MTLComputePipelineState> const made = [self newComputePipelineStateWithDescriptor:copied
                                                                                 options:options
                                                                              reflection:&reflection
                                                                                   error:&error];
    handler(made, reflection, error);
    [made release];
    [copied release];
  });
}
- (void)newComputePipelineStateWithFunction:(id<MTLFunction>)function
                          completionHandler:(MTLNewComputePipelineStateCompletionHandler)handler {
  [function retain];
  dispatch_async(dispatch_get_global_queue(0, 0), ^{
    NSError* error = nil;
    id<MTLComputePipelineState> const made = [self newComputePipelineStateWithFunction:function
                                                                                 error:&error];
    handler(made, error);
    [made release];
    [function release];
  });
}

- (id<MTLArgumentEncoder>)newArgumentEncoderWithArguments:
    (NSArray<MTLArgumentDescriptor*>*)arguments {
  std::vector<MTLArgumentDescriptor*> sorted;
  for (NSUInteger i = 0; i < [arguments count]; ++i) {
    sorted.push_back([arguments objectAtIndex:i]);
  }
  std::ranges::sort(sorted, {}, [](MTLArgumentDescriptor* one) { return [one index]; });
  std::vector<EncodedMember> members;
  std::size_t length = 0;
  for (MTLArgumentDescriptor* const one : sorted) {
    const bool is_pointer = [one dataType] == MTLDataTypePointer;
    const std::size_t size = is_pointer ? 8 : metal::size_of_type([one dataType]);
    if (size == 0) {
      metal::report("argument-encoder", "newArgumentEncoderWithArguments: MTLDataType " +
                                            std::to_string([one dataType]) + " is not simulated");
      return nil;
    }
    const std::size_t alignment =
        std::max<std::size_t>(std::min<std::size_t>(size, 16), [one constantBlockAlignment]);
    const NSUInteger count = std::max<NSUInteger>([one arrayLength], 1);
    for (NSUInteger i = 0; i < count; ++i) {
      length = (length + alignment - 1) / alignment * alignment;
      members.push_back({static_cast<std::uint32_t>([one index] + i),
                         static_cast<std::uint32_t>(length), static_cast<std::uint32_t>(size),
                         is_pointer, "argument"});
      length += size;
    }
  }
  if (members.empty()) return nil;
  return [SimulatedMetalArgumentEncoder newWithDevice:self
                                              members:std::move(members)
                                               length:length
                                            alignment:8];
}

- (id<MTLBinaryArchive>)newBinaryArchiveWithDescriptor:(MTLBinaryArchiveDescriptor*)descriptor
                                                 error:(NSError**)error {
  if (metal::state().is_child.load() || metal::is_nil(metal::Class::kBinaryArchive)) {
    metal::set_error(error, metal::archive_error(MTLBinaryArchiveErrorInternalError, "no memory"));
    return nil;
  }
  SimulatedMetalBinaryArchive* const made = [[SimulatedMetalBinaryArchive alloc] init];
  made->device_ = [self retain];
  metal::count_created(metal::Class::kBinaryArchive);
  if ([descriptor url] != nil && ![made load:[descriptor url]]) {
    metal::set_error(error, metal::archive_error(MTLBinaryArchiveErrorInvalidFile,
                                                 "not an archive of the simulated framework: " +
                                                     metal::text([[descriptor url] path])));
    [made release];
    return nil;
  }
  return made;
}
@end
