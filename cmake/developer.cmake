# Warnings, sanitizers and tests, for those who work on the project. Applies to the directories added after it.
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(WIREBENCH_DEVELOPER)
  add_compile_options(-Wall -Wextra -Wpedantic)
  if(NOT CMAKE_BUILD_TYPE STREQUAL "Release")
    add_compile_options(-Werror)  # at -O3 GCC 12 warns of what is not there (-Wrestrict, -Warray-bounds)
  endif()
  enable_testing()
endif()

if(WIREBENCH_SANITIZE)
  add_compile_options(-fsanitize=${WIREBENCH_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-Wno-maybe-uninitialized)  # false in instrumented standard library code
  endif()
  add_link_options(-fsanitize=${WIREBENCH_SANITIZE})
endif()
