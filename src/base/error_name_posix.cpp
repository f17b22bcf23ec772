// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/error_name.h"

#include <cerrno>
#include <cstring>

namespace halyard::inline v0::base {

// The errors of POSIX.1-2008, <errno.h>, and three that both Linux and macOS have besides. A
// system gives EWOULDBLOCK the number of EAGAIN, and Linux gives ENOTSUP that of EOPNOTSUPP.
#define HALYARD_ERRORS(X)                                                                          \
  X(E2BIG)                                                                                         \
  X(EACCES)                                                                                        \
  X(EADDRINUSE) X(EADDRNOTAVAIL) X(EAFNOSUPPORT) X(EAGAIN) X(EALREADY) X(EBADF) X(EBADMSG)         \
      X(EBUSY) X(ECANCELED) X(ECHILD) X(ECONNABORTED) X(ECONNREFUSED) X(ECONNRESET) X(EDEADLK)     \
          X(EDESTADDRREQ) X(EDOM) X(EDQUOT) X(EEXIST) X(EFAULT) X(EFBIG) X(EHOSTUNREACH) X(EIDRM)  \
              X(EILSEQ) X(EINPROGRESS) X(EINTR) X(EINVAL) X(EIO) X(EISCONN) X(EISDIR) X(ELOOP)     \
                  X(EMFILE) X(EMLINK) X(EMSGSIZE) X(EMULTIHOP) X(ENAMETOOLONG) X(ENETDOWN)         \
                      X(ENETRESET) X(ENETUNREACH) X(ENFILE) X(ENOBUFS) X(ENODEV) X(ENOENT)         \
                          X(ENOEXEC) X(ENOLCK) X(ENOLINK) X(ENOMEM) X(ENOMSG) X(ENOPROTOOPT)       \
                              X(ENOSPC) X(ENOSYS) X(ENOTCONN) X(ENOTDIR) X(ENOTEMPTY)              \
                                  X(ENOTRECOVERABLE) X(ENOTSOCK) X(EOPNOTSUPP) X(ENOTTY) X(ENXIO)  \
                                      X(EOVERFLOW) X(EOWNERDEAD) X(EPERM) X(EPIPE) X(EPROTO)       \
                                          X(EPROTONOSUPPORT) X(EPROTOTYPE) X(ERANGE) X(EROFS)      \
                                              X(ESPIPE) X(ESRCH) X(ESTALE) X(ETIMEDOUT) X(ETXTBSY) \
                                                  X(EXDEV) X(EHOSTDOWN) X(ENOTBLK) X(EUSERS)

const char* error_name(int number) noexcept {
  switch (number) {
#define HALYARD_ERROR(name) \
  case name:                \
    return #name;
    HALYARD_ERRORS(HALYARD_ERROR)
#undef HALYARD_ERROR
#if ENOTSUP != EOPNOTSUPP
    case ENOTSUP:
      return "ENOTSUP";
#endif
    default:
      return nullptr;
  }
}

const char* error_text(int number) noexcept {
  return error_name(number) != nullptr ? std::strerror(number) : nullptr;
}

#undef HALYARD_ERRORS

}  // namespace halyard::inline v0::base
