# Warnings, sanitizers and tests, for those who work on the project. Applies to the directories added after it.
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(WIREBENCH_DEVELOPER)
  add_compile_options(-Wall -Wextra -Wpedantic -Werror)
  # GCC 12 sees overlapping copies in std::string's operator+ from -O2 on, where there are none (GCC bug 105651).
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    add_compile_options(-Wno-restrict)
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
