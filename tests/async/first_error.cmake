# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# cmake -D SOURCE=<file> -D COMPILE=<command> -P first_error.cmake: fails unless the first error of this compilation is
# the text of the source's line `// error:`. The text of its line `// names:`, if there is one, must be in the output,
# too: compilers print types before or after the error, and write them differently, so `...` stands for any text.
file(READ ${SOURCE} text)
string(REGEX MATCH "\n// error: ([^\n]*)" found "${text}")
set(error "${CMAKE_MATCH_1}")
string(REGEX MATCH "\n// names: ([^\n]*)" found "${text}")
set(names "${CMAKE_MATCH_1}")
string(REGEX REPLACE "([][+.*()^$?|])" "\\\\\\1" names "${names}")
string(REPLACE "\\.\\.\\." "[^\n]*" names "${names}")

execute_process(COMMAND ${COMPILE} ${SOURCE} OUTPUT_VARIABLE output ERROR_VARIABLE output)
string(REGEX MATCH "error: [^\n]*" first "${output}")
string(FIND "${first}" "${error}" at)
if(error STREQUAL "" OR at EQUAL -1 OR NOT output MATCHES "${names}")
  message(FATAL_ERROR "the first error is not \"${error}\", or nothing names \"${names}\":\n${output}")
endif()
