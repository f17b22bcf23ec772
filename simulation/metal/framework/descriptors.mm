// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The descriptor classes. Their properties are synthesized; the defaults are Apple's.
#include <cstring>

#include "simulation/metal/framework/device_objects.h"

@implementation MTLCommandQueueDescriptor
- (instancetype)init {
  self = [super init];
  if (self != nil) _maxCommandBufferCount = 64;
  return self;
}
- (void)dealloc {
  [_logState release];
  [super dealloc];
}
- (id)copyWithZone:(NSZone*)zone {
  (void)zone;
  MTLCommandQueueDescriptor* const copy = [[MTLCommandQueueDescriptor alloc] init];
  copy.maxCommandBufferCount = _maxCommandBufferCount;
  copy.logState = _logState;
  return copy;
}
@end

@implementation MTLCommandBufferDescriptor
- (instancetype)init {
  self = [super init];
  if (self != nil) _retainedReferences = YES;
  return self;
}
- (void)dealloc {
  [_logState release];
  [super dealloc];
}
- (id)copyWithZone:(NSZone*)zone {
  (void)zone;
  MTLCommandBufferDescriptor* const copy = [[MTLCommandBufferDescriptor alloc] init];
  copy.retainedReferences = _retainedReferences;
  copy.errorOptions = _errorOptions;
  copy.logState = _logState;
  return copy;
}
@end

@implementation MTLHeapDescriptor
- (instancetype)init {
  self = [super init];
  if (self != nil) {
    _storageMode = MTLStorageModePrivate;
    _hazardTrackingMode = MTLHazardTrackingModeDefault;
  }
  return self;
}
- (MTLResourceOptions)resourceOptions {
  return static_cast<MTLResourceOptions>(_cpuCacheMode |
                                         static_cast<NSUInteger>(_storageMode) << 4 |
                                         static_cast<NSUInteger>(_hazardTrackingMode) << 8);
}
- (void)setResourceOptions:(MTLResourceOptions)options {
  _cpuCacheMode = static_cast<MTLCPUCacheMode>(options & 15);
  _storageMode = static_cast<MTLStorageMode>((options >> 4) & 15);
  _hazardTrackingMode = static_cast<MTLHazardTrackingMode>((options >> 8) & 3);
}
- (id)copyWithZone:(NSZone*)zone {
  (void)zone;
  MTLHeapDescriptor* const copy = [[MTLHeapDescriptor alloc] init];
  copy.size = _size;
  copy.type = _type;
  copy.resourceOptions = [self resourceOptions];
  return copy;
}
@end

@implementation MTLCompileOptions
- (instancetype)init {
  self = [super init];
  if (self != nil) {
    _fastMathEnabled = YES;
    _mathMode = MTLMathModeFast;
    _languageVersion = MTLLanguageVersion3_2;  // the most recent one by default
  }
  return self;
}
- (void)dealloc {
  [_preprocessorMacros release];
  [_libraries release];
  [_installName release];
  [super dealloc];
}
// The newer property replaces the older one. The older one chooses the functions too (Apple, "Metal
// Shading Language Guide": -fno-fast-math "enables the high-precision variant of math functions").
- (void)setFastMathEnabled:(BOOL)is_enabled {
  _fastMathEnabled = is_enabled;
  _mathMode = is_enabled ? MTLMathModeFast : MTLMathModeSafe;
  _mathFloatingPointFunctions =
      is_enabled ? MTLMathFloatingPointFunctionsFast : MTLMathFloatingPointFunctionsPrecise;
}
- (void)setMathMode:(MTLMathMode)mode {
  _mathMode = mode;
  _fastMathEnabled = mode == MTLMathModeFast;
}
- (id)copyWithZone:(NSZone*)zone {
  (void)zone;
  MTLCompileOptions* const copy = [[MTLCompileOptions alloc] init];
  copy.preprocessorMacros = _preprocessorMacros;
  copy.mathMode = _mathMode;
  copy.mathFloatingPointFunctions = _mathFloatingPointFunctions;
  copy.languageVersion = _languageVersion;
  copy.libraryType = _libraryType;
  copy.installName = _installName;
  copy.libraries = _libraries;
  copy.preserveInvariance = _preserveInvariance;
  copy.optimizationLevel = _optimizationLevel;
  copy.compileSymbolVisibility = _compileSymbolVisibility;
  copy.allowReferencingUndefinedSymbols = _allowReferencingUndefinedSymbols;
  copy.maxTotalThreadsPerThreadgroup = _maxTotalThreadsPerThreadgroup;
  copy.requiredThreadsPerThreadgroup = _requiredThreadsPerThreadgroup;
  copy.enableLogging = _enableLogging;
  return copy;
}
@end

namespace halyard::inline v0::sim::metal {

std::size_t size_of_type(MTLDataType type) {
  const auto vector = [type](MTLDataType scalar, std::size_t size) -> std::size_t {
    if (type < scalar || type > scalar + 3) return 0;
    const std::size_t width = static_cast<std::size_t>(type - scalar) + 1;
    return size * (width == 3 ? 4 : width);
  };
  struct Scalar {
    int type;
    std::size_t size;
  };
  static constexpr Scalar kScalars[] = {{3, 4},  {16, 2}, {29, 4}, {33, 4}, {37, 2}, {41, 2},
                                        {45, 1}, {49, 1}, {53, 1}, {81, 8}, {85, 8}, {121, 2}};
  for (const Scalar& scalar : kScalars) {
    if (const std::size_t size = vector(static_cast<MTLDataType>(scalar.type), scalar.size)) {
      return size;
    }
  }
  return 0;
}

}  // namespace halyard::inline v0::sim::metal

@interface MTLFunctionConstantValues () {
 @public
  std::vector<msl::ConstantValue> values_;
}
@end

@implementation MTLFunctionConstantValues
- (void)set:(const void*)bytes type:(MTLDataType)type index:(int)index name:(std::string)name {
  const std::size_t size = metal::size_of_type(type);
  msl::ConstantValue value;
  if (size == 0 || size > value.bytes.size()) {
    metal::report("function-constant", "a function constant cannot have MTLDataType " +
                                           std::to_string(static_cast<long>(type)));
    return;
  }
  value.index = index;
  value.name = std::move(name);
  value.type = static_cast<msl::DataType>(type);
  std::memcpy(value.bytes.data(), bytes, size);
  std::erase_if(values_, [&](const msl::ConstantValue& other) {
    return other.index == value.index && other.name == value.name;
  });
  values_.push_back(std::move(value));
}
- (void)setConstantValue:(const void*)bytes type:(MTLDataType)type atIndex:(NSUInteger)index {
  [self set:bytes type:type index:static_cast<int>(index) name:{}];
}
- (void)setConstantValues:(const void*)bytes type:(MTLDataType)type withRange:(NSRange)range {
  for (NSUInteger i = 0; i < range.length; ++i) {
    [self set:static_cast<const std::byte*>(bytes) + i * metal::size_of_type(type)
         type:type
        index:static_cast<int>(range.location + i)
         name:{}];
  }
}
- (void)setConstantValue:(const void*)bytes type:(MTLDataType)type withName:(NSString*)name {
  [self set:bytes type:type index:-1 name:metal::text(name)];
}
- (void)reset {
  values_.clear();
}
- (id)copyWithZone:(NSZone*)zone {
  (void)zone;
  MTLFunctionConstantValues* const copy = [[MTLFunctionConstantValues alloc] init];
  copy->values_ = values_;
  return copy;
}
@end

@interface MTLFunctionConstant () {
 @public
  NSString* name_;
  MTLDataType type_;
  NSUInteger index_;
  BOOL required_;
}
@end

@implementation MTLFunctionConstant
- (void)dealloc {
  [name_ release];
  [super dealloc];
}
- (NSString*)name {
  return name_;
}
- (MTLDataType)type {
  return type_;
}
- (NSUInteger)index {
  return index_;
}
- (BOOL)required {
  return required_;
}
@end

namespace halyard::inline v0::sim::metal {

std::vector<msl::ConstantValue> values_of(MTLFunctionConstantValues* values) {
  if (values == nil) return {};
  return values->values_;
}

MTLFunctionConstant* new_function_constant(const msl::FunctionConstant& constant) {
  MTLFunctionConstant* const made = [[MTLFunctionConstant alloc] init];
  made->name_ = [string(constant.name) retain];
  made->type_ = static_cast<MTLDataType>(constant.type);
  made->index_ = constant.index;
  made->required_ = constant.required;
  return made;
}

}  // namespace halyard::inline v0::sim::metal

@implementation MTLFunctionDescriptor
+ (MTLFunctionDescriptor*)functionDescriptor {
  return [[[MTLFunctionDescriptor alloc] init] autorelease];
}
- (void)dealloc {
  [_name release];
  [_specializedName release];
  [_constantValues release];
  [_binaryArchives release];
  [super dealloc];
}
- (id)copyWithZone:(NSZone*)zone {
  (void)zone;
  MTLFunctionDescriptor* const copy = [[[self class] alloc] init];
  copy.name = _name;
  copy.specializedName = _specializedName;
  copy.constantValues = _constantValues;
  copy.options = _options;
  copy.binaryArchives = _binaryArchives;
  return copy;
}
@end

@implementation MTLComputePipelineDescriptor
- (void)dealloc {
  [_label release];
  [_computeFunction release];
  [_binaryArchives release];
  [_preloadedLibraries release];
  [super dealloc];
}
- (void)reset {
  self.label = nil;
  self.computeFunction = nil;
  self.binaryArchives = nil;
  self.maxTotalThreadsPerThreadgroup = 0;
  self.threadGroupSizeIsMultipleOfThreadExecutionWidth = NO;
  self.supportIndirectCommandBuffers = NO;
}
- (id)copyWithZone:(NSZone*)zone {
  (void)zone;
  MTLComputePipelineDescriptor* const copy = [[MTLComputePipelineDescriptor alloc] init];
  copy.label = _label;
  copy.computeFunction = _computeFunction;
  copy.binaryArchives = _binaryArchives;
  copy.maxTotalThreadsPerThreadgroup = _maxTotalThreadsPerThreadgroup;
  copy.threadGroupSizeIsMultipleOfThreadExecutionWidth =
      _threadGroupSizeIsMultipleOfThreadExecutionWidth;
  copy.supportIndirectCommandBuffers = _supportIndirectCommandBuffers;
  return copy;
}
@end

@implementation MTLArgumentDescriptor
+ (MTLArgumentDescriptor*)argumentDescriptor {
  return [[[MTLArgumentDescriptor alloc] init] autorelease];
}
- (id)copyWithZone:(NSZone*)zone {
  (void)zone;
  MTLArgumentDescriptor* const copy = [[MTLArgumentDescriptor alloc] init];
  copy.dataType = _dataType;
  copy.index = _index;
  copy.arrayLength = _arrayLength;
  copy.access = _access;
  copy.constantBlockAlignment = _constantBlockAlignment;
  return copy;
}
@end

@implementation MTLIndirectCommandBufferDescriptor
- (id)copyWithZone:(NSZone*)zone {
  (void)zone;
  MTLIndirectCommandBufferDescriptor* const copy =
      [[MTLIndirectCommandBufferDescriptor alloc] init];
  copy.commandTypes = _commandTypes;
  copy.inheritBuffers = _inheritBuffers;
  copy.inheritPipelineState = _inheritPipelineState;
  copy.maxKernelBufferBindCount = _maxKernelBufferBindCount;
  return copy;
}
@end

@implementation MTLResidencySetDescriptor
- (void)dealloc {
  [_label release];
  [super dealloc];
}
- (id)copyWithZone:(NSZone*)zone {
  (void)zone;
  MTLResidencySetDescriptor* const copy = [[MTLResidencySetDescriptor alloc] init];
  copy.label = _label;
  copy.initialCapacity = _initialCapacity;
  return copy;
}
@end

@implementation MTLBinaryArchiveDescriptor
- (void)dealloc {
  [_url release];
  [super dealloc];
}
- (id)copyWithZone:(NSZone*)zone {
  (void)zone;
  MTLBinaryArchiveDescriptor* const copy = [[MTLBinaryArchiveDescriptor alloc] init];
  copy.url = _url;
  return copy;
}
@end

@implementation MTLCounterSampleBufferDescriptor
- (void)dealloc {
  [_counterSet release];
  [_label release];
  [super dealloc];
}
- (id)copyWithZone:(NSZone*)zone {
  (void)zone;
  MTLCounterSampleBufferDescriptor* const copy = [[MTLCounterSampleBufferDescriptor alloc] init];
  copy.counterSet = _counterSet;
  copy.label = _label;
  copy.storageMode = _storageMode;
  copy.sampleCount = _sampleCount;
  return copy;
}
@end

@implementation MTLComputePassSampleBufferAttachmentDescriptor
- (void)dealloc {
  [_sampleBuffer release];
  [super dealloc];
}
- (id)copyWithZone:(NSZone*)zone {
  (void)zone;
  auto* const copy = [[MTLComputePassSampleBufferAttachmentDescriptor alloc] init];
  copy.sampleBuffer = _sampleBuffer;
  copy.startOfEncoderSampleIndex = _startOfEncoderSampleIndex;
  copy.endOfEncoderSampleIndex = _endOfEncoderSampleIndex;
  return copy;
}
@end

@implementation MTLBlitPassSampleBufferAttachmentDescriptor
- (void)dealloc {
  [_sampleBuffer release];
  [super dealloc];
}
- (id)copyWithZone:(NSZone*)zone {
  (void)zone;
  auto* const copy = [[MTLBlitPassSampleBufferAttachmentDescriptor alloc] init];
  copy.sampleBuffer = _sampleBuffer;
  copy.startOfEncoderSampleIndex = _startOfEncoderSampleIndex;
  copy.endOfEncoderSampleIndex = _endOfEncoderSampleIndex;
  return copy;
}
@end

namespace {

// The elements of an attachment array: made on first use, released with the array.
template <class Element>
Element* element_at(std::vector<Element*>& all, NSUInteger index) {
  if (index >= metal::kSampleAttachments) return nil;
  if (all.empty()) all.resize(metal::kSampleAttachments, nil);
  if (all[index] == nil) all[index] = [[Element alloc] init];
  return all[index];
}
template <class Element>
void set_element(std::vector<Element*>& all, NSUInteger index, Element* element) {
  if (index >= metal::kSampleAttachments) return;
  if (all.empty()) all.resize(metal::kSampleAttachments, nil);
  Element* const before = all[index];
  all[index] = [element copy];
  [before release];
}

}  // namespace

@interface MTLComputePassSampleBufferAttachmentDescriptorArray () {
  std::vector<MTLComputePassSampleBufferAttachmentDescriptor*> all_;
}
@end
@implementation MTLComputePassSampleBufferAttachmentDescriptorArray
- (void)dealloc {
  for (id one : all_) [one release];
  [super dealloc];
}
- (MTLComputePassSampleBufferAttachmentDescriptor*)objectAtIndexedSubscript:(NSUInteger)index {
  return element_at(all_, index);
}
- (void)setObject:(MTLComputePassSampleBufferAttachmentDescriptor*)attachment
    atIndexedSubscript:(NSUInteger)index {
  set_element(all_, index, attachment);
}
@end

@interface MTLBlitPassSampleBufferAttachmentDescriptorArray () {
  std::vector<MTLBlitPassSampleBufferAttachmentDescriptor*> all_;
}
@end
@implementation MTLBlitPassSampleBufferAttachmentDescriptorArray
- (void)dealloc {
  for (id one : all_) [one release];
  [super dealloc];
}
- (MTLBlitPassSampleBufferAttachmentDescriptor*)objectAtIndexedSubscript:(NSUInteger)index {
  return element_at(all_, index);
}
- (void)setObject:(MTLBlitPassSampleBufferAttachmentDescriptor*)attachment
    atIndexedSubscript:(NSUInteger)index {
  set_element(all_, index, attachment);
}
@end

@interface MTLComputePassDescriptor () {
  MTLComputePassSampleBufferAttachmentDescriptorArray* attachments_;
}
@end
@implementation MTLComputePassDescriptor
+ (MTLComputePassDescriptor*)computePassDescriptor {
  return [[[MTLComputePassDescriptor alloc] init] autorelease];
}
- (instancetype)init {
  self = [super init];
  if (self != nil) {
    attachments_ = [[MTLComputePassSampleBufferAttachmentDescriptorArray alloc] init];
  }
  return self;
}
- (void)dealloc {
  [attachments_ release];
  [super dealloc];
}
- (MTLComputePassSampleBufferAttachmentDescriptorArray*)sampleBufferAttachments {
  return attachments_;
}
- (id)copyWithZone:(NSZone*)zone {
  (void)zone;
  MTLComputePassDescriptor* const copy = [[MTLComputePassDescriptor alloc] init];
  copy.dispatchType = _dispatchType;
  for (NSUInteger i = 0; i < metal::kSampleAttachments; ++i) {
    [copy->attachments_ setObject:[attachments_ objectAtIndexedSubscript:i] atIndexedSubscript:i];
  }
  return copy;
}
@end

@interface MTLBlitPassDescriptor () {
  MTLBlitPassSampleBufferAttachmentDescriptorArray* attachments_;
}
@end
@implementation MTLBlitPassDescriptor
+ (MTLBlitPassDescriptor*)blitPassDescriptor {
  return [[[MTLBlitPassDescriptor alloc] init] autorelease];
}
- (instancetype)init {
  self = [super init];
  if (self != nil) {
    attachments_ = [[MTLBlitPassSampleBufferAttachmentDescriptorArray alloc] init];
  }
  return self;
}
- (void)dealloc {
  [attachments_ release];
  [super dealloc];
}
- (MTLBlitPassSampleBufferAttachmentDescriptorArray*)sampleBufferAttachments {
  return attachments_;
}
- (id)copyWithZone:(NSZone*)zone {
  (void)zone;
  MTLBlitPassDescriptor* const copy = [[MTLBlitPassDescriptor alloc] init];
  for (NSUInteger i = 0; i < metal::kSampleAttachments; ++i) {
    [copy->attachments_ setObject:[attachments_ objectAtIndexedSubscript:i] atIndexedSubscript:i];
  }
  return copy;
}
@end
