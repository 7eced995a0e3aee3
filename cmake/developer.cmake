# Warnings, sanitizers and tests, for those who work on the project. Applies to the directories added after it.
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(WIREBENCH_DEVELOPER)
  add_compile_options(-Wall -Wextra -Wpedantic)
  if(NOT CMAKE_BUILD_TYPE STREQUAL "Release")
    add_compile_options(-Werror)  # at -O3 GCC 12 warns of what is not there (-Wrestrict, -Warray-bounds)
  endif()
  enable_testing()
  # The programs that ctest runs, and no other: the rest, such as examples, has to compile in one build only.
  add_custom_target(tested_programs)
endif()

# Several files in one go (the preset dev): half of the time that they take alone is for the headers. GCC warns there of a class
# with members of a type that only its file knows, which is meant.
if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(-Wno-subobject-linkage)
endif()

if(WIREBENCH_SANITIZE)
  add_compile_options(-fsanitize=${WIREBENCH_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-Wno-maybe-uninitialized)  # false in instrumented standard library code
  elseif(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    add_compile_options(-fno-sanitize=function)  # Clang 14 cannot put what it needs before coroutines
  endif()
  add_link_options(-fsanitize=${WIREBENCH_SANITIZE})
endif()

# Compiles a target's tests quickly, with GoogleTest precompiled: they are most of what a developer waits for. They are not optimised,
# while what they test is as its build type says. `from`: an earlier target whose precompiled headers serve for this one too.
function(compile_tests_quickly target)
  cmake_parse_arguments(PARSE_ARGV 1 tests "" "FROM" "")
  if(NOT CMAKE_BUILD_TYPE STREQUAL "Release")
    target_compile_options(${target} PRIVATE -O0)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE --param=ggc-min-heapsize=1048576)  # KiB before GCC collects its garbage
  endif()
  if(tests_FROM)
    target_precompile_headers(${target} REUSE_FROM ${tests_FROM})
  else()
    target_precompile_headers(${target} PRIVATE <gtest/gtest.h> <algorithm> <array> <atomic> <charconv> <chrono> <deque> <fstream>
      <functional> <future> <map> <memory> <mutex> <optional> <span> <sstream> <string> <string_view> <thread> <unordered_map>
      <utility> <variant> <vector>)
  endif()
endfunction()

# Files that read a command line and do no work of their own: what they take to compile is nearly all for optimising CLI11.
function(compile_for_size)
  set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS "$<IF:$<CONFIG:Release>,-Os,-O0>")
endfunction()

# Runs a program of GoogleTest's in a few processes beside each other: one for each test would take longer to start and stop than
# most tests take, and the tests wait more than they compute. build/<preset>/shards has the result of each test, for `./test`.
set(tests_shards 6)
function(add_test_in_shards target)
  add_dependencies(tested_programs ${target})
  foreach(shard RANGE 1 ${tests_shards})
    math(EXPR index "${shard} - 1")
    add_test(NAME ${target}.${shard}
      COMMAND ${target} --gtest_brief=1 --gtest_output=xml:${CMAKE_BINARY_DIR}/shards/${target}.${shard}.xml)
    set_tests_properties(${target}.${shard} PROPERTIES TIMEOUT 600 COST 60
      ENVIRONMENT "GTEST_TOTAL_SHARDS=${tests_shards};GTEST_SHARD_INDEX=${index}")
  endforeach()
endfunction()

# The libFuzzer programs <prefix>_fuzz_<name>, one for each folder of tests/fuzz/corpus and the function of that name in
# tests/fuzz/*targets.cpp. They and what they link are instrumented; `fuzzers` builds all. `./test fuzz` runs them.
if(WIREBENCH_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "libFuzzer is a part of Clang: configure a new build folder with CXX=clang++ (or clang++-14 and so on)")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)
  add_custom_target(fuzzers)
endif()
function(add_fuzzers prefix library)
  if(NOT WIREBENCH_FUZZ)
    return()
  endif()
  file(GLOB sources CONFIGURE_DEPENDS tests/fuzz/*targets.cpp)
  add_library(${prefix}_fuzz_targets OBJECT ${sources})
  target_include_directories(${prefix}_fuzz_targets PRIVATE "${wirebench_SOURCE_DIR}/wire/src" "${wirebench_SOURCE_DIR}/wire/tests")
  target_link_libraries(${prefix}_fuzz_targets PUBLIC ${library})
  file(GLOB names CONFIGURE_DEPENDS RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}/tests/fuzz/corpus" tests/fuzz/corpus/*)
  foreach(name IN LISTS names)
    add_executable(${prefix}_fuzz_${name} tests/fuzz/fuzz_main.cpp)
    target_compile_definitions(${prefix}_fuzz_${name} PRIVATE FUZZ_TARGET=${name})
    target_link_options(${prefix}_fuzz_${name} PRIVATE -fsanitize=fuzzer)
    target_link_libraries(${prefix}_fuzz_${name} PRIVATE ${prefix}_fuzz_targets)
    add_dependencies(fuzzers ${prefix}_fuzz_${name})
  endforeach()
endfunction()
