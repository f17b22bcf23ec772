// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NSString: UTF-8 in a std::string, or the compiler's data of a literal.
#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#import <Foundation/Foundation.h>
#import <objc/runtime.h>

namespace {

bool is_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto first = static_cast<unsigned char>(text[i]);
    const std::size_t length = first < 0x80 ? 1 : first >= 0xf0 && first < 0xf5 ? 4
                               : first >= 0xe0 && first < 0xf0                  ? 3
                               : first >= 0xc2 && first < 0xe0                  ? 2
                                                                                : 0;
    if (length == 0 || i + length > text.size()) return false;
    for (std::size_t k = 1; k < length; ++k) {
      if ((static_cast<unsigned char>(text[i + k]) & 0xc0) != 0x80) return false;
    }
    i += length;
  }
  return true;
}

std::string from_latin1(std::string_view text) {
  std::string utf8;
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (code < 0x80) {
      utf8 += c;
    } else {
      utf8 += static_cast<char>(0xc0 | code >> 6);
      utf8 += static_cast<char>(0x80 | (code & 0x3f));
    }
  }
  return utf8;
}

void append_utf8(std::string& text, std::uint32_t code) {
  if (code < 0x80) {
    text += static_cast<char>(code);
  } else if (code < 0x800) {
    text += static_cast<char>(0xc0 | code >> 6);
    text += static_cast<char>(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    text += static_cast<char>(0xe0 | code >> 12);
    text += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    text += static_cast<char>(0x80 | (code & 0x3f));
  } else {
    text += static_cast<char>(0xf0 | code >> 18);
    text += static_cast<char>(0x80 | (code >> 12 & 0x3f));
    text += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    text += static_cast<char>(0x80 | (code & 0x3f));
  }
}
std::u16string to_utf16(std::string_view text) {
  std::u16string units;
  for (std::size_t i = 0; i < text.size();) {
    const auto first = static_cast<unsigned char>(text[i]);
    const int more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : first >= 0xc0 ? 1 : 0;
    std::uint32_t code = more == 0 ? first : first & (0x3f >> more);
    for (int k = 1; k <= more; ++k) {
      code = code << 6 | (static_cast<unsigned char>(text[i + static_cast<std::size_t>(k)]) & 0x3f);
    }
    i += static_cast<std::size_t>(more) + 1;
    if (code >= 0x10000) {
      units += static_cast<char16_t>(0xd800 + ((code - 0x10000) >> 10));
      units += static_cast<char16_t>(0xdc00 + ((code - 0x10000) & 0x3ff));
    } else {
      units += static_cast<char16_t>(code);
    }
  }
  return units;
}
std::string from_utf16(const char16_t* units, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    std::uint32_t code = units[i];
    if (code >= 0xd800 && code < 0xdc00 && i + 1 < count) {
      code = 0x10000 + ((code - 0xd800) << 10) + (units[++i] - 0xdc00u);
    }
    append_utf8(text, code);
  }
  return text;
}

// Returns false if the bytes are not valid in the encoding.
bool decode(const void* bytes, std::size_t size, NSStringEncoding encoding, std::string& text) {
  const std::string_view raw(static_cast<const char*>(bytes), size);
  switch (encoding) {
    case NSISOLatin1StringEncoding: text = from_latin1(raw); return true;
    case NSUTF16StringEncoding:
      text = from_utf16(static_cast<const char16_t*>(bytes), size / 2);
      return size % 2 == 0;
    default: text = raw; return is_utf8(raw);
  }
}

std::string format_text(NSString* format, va_list arguments) {
  std::string text;
  const char* at = [format UTF8String];
  va_list left;
  va_copy(left, arguments);
  while (*at != 0) {
    if (*at != '%') {
      text += *at++;
      continue;
    }
    std::string one = "%";
    for (++at; *at != 0 && std::strchr("0123456789.+- #*'hlqjztL", *at) != nullptr; ++at) {
      if (*at == '*') {
        one += std::to_string(va_arg(left, int));
      } else {
        one += *at == 'q' ? std::string("ll") : std::string(1, *at);
      }
    }
    const char kind = *at != 0 ? *at++ : '%';
    const bool is_long = one.find_first_of("lzjt") != std::string::npos;
    char buffer[512];
    const auto print = [&](auto value) {
      const int size = std::snprintf(buffer, sizeof buffer, one.c_str(), value);
      if (size < static_cast<int>(sizeof buffer)) {
        text.append(buffer, static_cast<std::size_t>(size));
        return;
      }
      std::string longer(static_cast<std::size_t>(size) + 1, 0);
      std::snprintf(longer.data(), longer.size(), one.c_str(), value);
      text.append(longer.data(), static_cast<std::size_t>(size));
    };
    switch (kind) {
      case '%': text += '%'; break;
      case '@': {
        const id object = va_arg(left, id);
        text += object != nil ? [[object description] UTF8String] : "(null)";
        break;
      }
      case 's':
        one += 's';
        if (const char* const its = va_arg(left, const char*)) print(its);
        else text += "(null)";
        break;
      case 'p': one += 'p'; print(va_arg(left, void*)); break;
      case 'c': one += 'c'; print(va_arg(left, int)); break;
      case 'D': case 'U': case 'O': case 'd': case 'i': case 'u': case 'x': case 'X': case 'o':
        one += kind == 'D' ? 'd' : kind == 'U' ? 'u' : kind == 'O' ? 'o' : kind;
        if (is_long) print(va_arg(left, long));
        else print(va_arg(left, int));
        break;
      default:
        one += kind;
        if (one.find('L') != std::string::npos) print(va_arg(left, long double));
        else print(va_arg(left, double));
    }
  }
  va_end(left);
  return text;
}

}  // namespace

@interface HalyardString : NSMutableString {
 @public
  std::string text_;
}
@end

static HalyardString* make(std::string text) {
  HalyardString* const made = [HalyardString alloc];
  made->text_ = std::move(text);
  return made;
}

@implementation NSString
// alloc of the abstract class returns an uninitialized object of the concrete class.
+ (instancetype)alloc {
  if (self == [NSString class] || self == [NSMutableString class]) return (id)[HalyardString alloc];
  return [super alloc];
}
+ (instancetype)string {
  return [make("") autorelease];
}
+ (instancetype)stringWithString:(NSString*)string {
  return [make([string UTF8String]) autorelease];
}
+ (instancetype)stringWithUTF8String:(const char*)text {
  return [[[self alloc] initWithUTF8String:text] autorelease];
}
+ (instancetype)stringWithCString:(const char*)text encoding:(NSStringEncoding)encoding {
  return [[[self alloc] initWithCString:text encoding:encoding] autorelease];
}
+ (instancetype)stringWithFormat:(NSString*)format, ... {
  va_list arguments;
  va_start(arguments, format);
  HalyardString* const made = make(format_text(format, arguments));
  va_end(arguments);
  return [made autorelease];
}
+ (instancetype)stringWithContentsOfFile:(NSString*)path
                                encoding:(NSStringEncoding)encoding
                                   error:(NSError**)error {
  std::ifstream file([path UTF8String], std::ios::binary);
  std::string text;
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  if (file.good() || file.eof()) {
    if (decode(bytes.data(), bytes.size(), encoding, text)) return [make(text) autorelease];
  }
  if (error != nullptr) {
    *error = [NSError errorWithDomain:NSCocoaErrorDomain code:260 userInfo:nil];
  }
  return nil;
}
- (instancetype)initWithString:(NSString*)string {
  [self release];
  return (id)make([string UTF8String]);
}
- (instancetype)initWithUTF8String:(const char*)text {
  return [self initWithCString:text encoding:NSUTF8StringEncoding];
}
- (instancetype)initWithCString:(const char*)text encoding:(NSStringEncoding)encoding {
  return [self initWithBytes:text length:std::strlen(text) encoding:encoding];
}
- (instancetype)initWithBytes:(const void*)bytes
                       length:(NSUInteger)length
                     encoding:(NSStringEncoding)encoding {
  [self release];
  std::string text;
  return decode(bytes, length, encoding, text) ? (id)make(std::move(text)) : nil;
}
- (instancetype)initWithBytesNoCopy:(void*)bytes
                             length:(NSUInteger)length
                           encoding:(NSStringEncoding)encoding
                       freeWhenDone:(BOOL)freed {
  const id made = [self initWithBytes:bytes length:length encoding:encoding];
  if (freed && made != nil) std::free(bytes);
  return made;
}
- (instancetype)initWithData:(NSData*)data encoding:(NSStringEncoding)encoding {
  return [self initWithBytes:[data bytes] length:[data length] encoding:encoding];
}
- (instancetype)initWithFormat:(NSString*)format, ... {
  va_list arguments;
  va_start(arguments, format);
  const id made = [self initWithFormat:format arguments:arguments];
  va_end(arguments);
  return made;
}
- (instancetype)initWithFormat:(NSString*)format arguments:(va_list)arguments {
  [self release];
  return (id)make(format_text(format, arguments));
}
- (id)copyWithZone:(NSZone*)zone {
  return make([self UTF8String]);
}
- (id)mutableCopyWithZone:(NSZone*)zone {
  return make([self UTF8String]);
}

- (const char*)UTF8String {
  return "";
}
- (NSUInteger)length {
  return to_utf16([self UTF8String]).size();
}
- (unichar)characterAtIndex:(NSUInteger)index {
  return to_utf16([self UTF8String]).at(index);
}
+ (NSStringEncoding)defaultCStringEncoding {
  return NSUTF8StringEncoding;
}
- (const char*)cStringUsingEncoding:(NSStringEncoding)encoding {
  if (encoding == NSUTF8StringEncoding || encoding == NSASCIIStringEncoding) return [self UTF8String];
  return static_cast<const char*>([[self dataUsingEncoding:encoding] bytes]);
}
- (BOOL)getCString:(char*)buffer maxLength:(NSUInteger)size encoding:(NSStringEncoding)encoding {
  const char* const text = [self UTF8String];
  if (std::strlen(text) + 1 > size) return NO;
  std::strcpy(buffer, text);
  return YES;
}
- (NSUInteger)lengthOfBytesUsingEncoding:(NSStringEncoding)encoding {
  return encoding == NSUTF16StringEncoding ? 2 * [self length] : std::strlen([self UTF8String]);
}
- (NSData*)dataUsingEncoding:(NSStringEncoding)encoding {
  const char* const text = [self UTF8String];
  if (encoding == NSUTF16StringEncoding) {
    const std::u16string units = to_utf16(text);
    return [NSData dataWithBytes:units.data() length:2 * units.size()];
  }
  return [NSData dataWithBytes:text length:std::strlen(text)];
}
- (BOOL)isEqual:(id)object {
  return self == object || ([object isKindOfClass:[NSString class]] && [self isEqualToString:object]);
}
- (BOOL)isEqualToString:(NSString*)string {
  return string != nil && std::strcmp([self UTF8String], [string UTF8String]) == 0;
}
- (NSUInteger)hash {
  return std::hash<std::string_view>()([self UTF8String]);
}
- (NSComparisonResult)compare:(NSString*)string {
  const int order = std::strcmp([self UTF8String], [string UTF8String]);
  return order < 0 ? NSOrderedAscending : order > 0 ? NSOrderedDescending : NSOrderedSame;
}
- (BOOL)hasPrefix:(NSString*)prefix {
  return std::string_view([self UTF8String]).starts_with([prefix UTF8String]);
}
- (BOOL)hasSuffix:(NSString*)suffix {
  return std::string_view([self UTF8String]).ends_with([suffix UTF8String]);
}
- (BOOL)containsString:(NSString*)part {
  return std::strstr([self UTF8String], [part UTF8String]) != nullptr;
}
- (NSString*)stringByAppendingString:(NSString*)string {
  return [make(std::string([self UTF8String]) + [string UTF8String]) autorelease];
}
- (NSString*)stringByAppendingFormat:(NSString*)format, ... {
  va_list arguments;
  va_start(arguments, format);
  HalyardString* const made = make([self UTF8String] + format_text(format, arguments));
  va_end(arguments);
  return [made autorelease];
}
- (NSString*)stringByAppendingPathComponent:(NSString*)name {
  std::string path = [self UTF8String];
  if (!path.empty() && path.back() != '/') path += '/';
  return [make(path + [name UTF8String]) autorelease];
}
- (NSString*)stringByStandardizingPath {
  std::string path = [self UTF8String];
  const char* const home = std::getenv("HOME");
  if ((path == "~" || path.starts_with("~/")) && home != nullptr) path.replace(0, 1, home);
  const bool is_absolute = path.starts_with('/');
  std::vector<std::string> parts;
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    std::string part = path.substr(at, end - at);
    at = end + 1;
    if (part.empty() || part == ".") continue;
    if (part == ".." && is_absolute) {
      if (!parts.empty()) parts.pop_back();
    } else {
      parts.push_back(std::move(part));
    }
  }
  std::string result = is_absolute ? "/" : "";
  for (const std::string& part : parts) {
    if (!result.empty() && result.back() != '/') result += '/';
    result += part;
  }
  return [make(result) autorelease];
}
- (NSString*)lastPathComponent {
  const std::string path = [self UTF8String];
  return [make(path.substr(path.rfind('/') + 1)) autorelease];
}
- (NSArray*)componentsSeparatedByString:(NSString*)separator {
  NSMutableArray* const parts = [NSMutableArray array];
  const std::string text = [self UTF8String], between = [separator UTF8String];
  std::size_t begin = 0;
  for (std::size_t end; (end = text.find(between, begin)) != std::string::npos && !between.empty();
       begin = end + between.size()) {
    [parts addObject:[make(text.substr(begin, end - begin)) autorelease]];
  }
  [parts addObject:[make(text.substr(begin)) autorelease]];
  return parts;
}
- (NSString*)stringByReplacingOccurrencesOfString:(NSString*)part withString:(NSString*)with {
  std::string text = [self UTF8String];
  const std::string old = [part UTF8String], its = [with UTF8String];
  for (std::size_t at = 0; !old.empty() && (at = text.find(old, at)) != std::string::npos;) {
    text.replace(at, old.size(), its);
    at += its.size();
  }
  return [make(std::move(text)) autorelease];
}
- (int)intValue {
  return std::atoi([self UTF8String]);
}
- (NSInteger)integerValue {
  return std::atol([self UTF8String]);
}
- (double)doubleValue {
  return std::atof([self UTF8String]);
}
- (BOOL)boolValue {
  const char first = *[self UTF8String];
  return std::strchr("YyTt123456789", first) != nullptr && first != 0;
}
- (NSString*)description {
  return self;
}
@end

@implementation NSMutableString
- (void)appendString:(NSString*)string {
  [self doesNotRecognizeSelector:_cmd];
}
- (void)appendFormat:(NSString*)format, ... {
  va_list arguments;
  va_start(arguments, format);
  HalyardString* const made = make(format_text(format, arguments));
  va_end(arguments);
  [self appendString:made];
  [made release];
}
- (void)setString:(NSString*)string {
  [self doesNotRecognizeSelector:_cmd];
}
@end

@implementation HalyardString
- (instancetype)init {
  return self;
}
- (const char*)UTF8String {
  return text_.c_str();
}
- (void)appendString:(NSString*)string {
  text_ += [string UTF8String];
}
- (void)setString:(NSString*)string {
  text_ = [string UTF8String];
}
@end

// The compiler's data for @"...": ASCII bytes, otherwise UTF-16 (clang, CGObjCMac).
@interface NSConstantString : NSString {
  int flags_;
  const char* bytes_;
  unsigned long length_;
}
@end
@implementation NSConstantString
- (const char*)UTF8String {
  constexpr int kIsUtf16 = 0x7d0;
  if ((flags_ & 0xffff) != kIsUtf16) return bytes_;
  return [make(from_utf16(reinterpret_cast<const char16_t*>(bytes_), length_)) autorelease]
      ->text_.c_str();
}
- (instancetype)retain {
  return self;
}
- (oneway void)release {
}
- (instancetype)autorelease {
  return self;
}
- (id)copyWithZone:(NSZone*)zone {
  return self;
}
@end
asm(".globl __CFConstantStringClassReference\n"
    ".set __CFConstantStringClassReference, OBJC_CLASS_$_NSConstantString\n");

void NSLog(NSString* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::fprintf(stderr, "%s\n", format_text(format, arguments).c_str());
  va_end(arguments);
}
NSString* NSStringFromClass(Class of) {
  return of != Nil ? [NSString stringWithUTF8String:class_getName(of)] : nil;
}
NSString* NSStringFromSelector(SEL selector) {
  return selector != nullptr ? [NSString stringWithUTF8String:sel_getName(selector)] : nil;
}
SEL NSSelectorFromString(NSString* name) { return sel_registerName([name UTF8String]); }
Class NSClassFromString(NSString* name) { return objc_getClass([name UTF8String]); }
