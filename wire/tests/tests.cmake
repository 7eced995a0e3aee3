find_package(GTest REQUIRED)
include(GoogleTest)

# The tests of everything that runs on a loop are compiled once, and run twice: on epoll, and on io_uring with a loop that takes it
# when nothing is asked.
set(wire_all_tests ${wire_tests})
set(wire_loop_tests ${wire_tests})
list(FILTER wire_loop_tests INCLUDE REGEX "src/(loop|server|client|websocket|tls)/")
list(REMOVE_ITEM wire_tests ${wire_loop_tests})
set(wire_loop_test_sources ${wire_loop_tests})
add_library(wire_loop_tests OBJECT ${wire_loop_tests})
target_include_directories(wire_loop_tests PRIVATE src tests)
target_link_libraries(wire_loop_tests PUBLIC wire::wire GTest::gtest_main)
compile_tests_quickly(wire_loop_tests)
compile_in_groups(wire_loop_tests 20)
if(WIRE_WITH_TLS)
  target_link_libraries(wire_loop_tests PUBLIC OpenSSL::SSL OpenSSL::Crypto)
endif()

file(GLOB wire_fuzz_targets CONFIGURE_DEPENDS tests/fuzz/*targets.cpp)
leave_out_users(wire_fuzz_targets)
if(NOT WIRE_WITH_TLS)
  list(FILTER wire_fuzz_targets EXCLUDE REGEX "/tls_targets[.]cpp$")
endif()
# The corpus has inputs for every part: these are no part of what is linked without one.
add_library(wire_corpus_test OBJECT tests/fuzz/corpus_test.cpp ${wire_fuzz_targets})
target_include_directories(wire_corpus_test PRIVATE src tests)
target_compile_definitions(wire_corpus_test PRIVATE WIRE_SOURCE_DIR="${CMAKE_CURRENT_SOURCE_DIR}")
target_link_libraries(wire_corpus_test PUBLIC wire::wire GTest::gtest_main)
if(WIRE_WITH_TLS)
  target_link_libraries(wire_corpus_test PUBLIC OpenSSL::SSL OpenSSL::Crypto)
else()
  target_compile_definitions(wire_corpus_test PRIVATE WIRE_WITHOUT_TLS)
endif()
compile_tests_quickly(wire_corpus_test FROM wire_loop_tests)

add_executable(wire_test ${wire_tests} tests/layering_test.cpp)
target_include_directories(wire_test PRIVATE src tests)
target_compile_definitions(wire_test PRIVATE WIRE_SOURCE_DIR="${CMAKE_CURRENT_SOURCE_DIR}")
target_link_libraries(wire_test PRIVATE wire_loop_tests wire_corpus_test)
compile_tests_quickly(wire_test FROM wire_loop_tests)
compile_in_groups(wire_test 20)
add_test_in_shards(wire_test)

if(WIRE_WITH_IO_URING)
  add_executable(wire_uring_test tests/uring_environment.cpp src/loop/make_engine.cpp)
  target_compile_definitions(wire_uring_test PRIVATE WIRE_AUTOMATIC_IS_IO_URING)
  target_link_libraries(wire_uring_test PRIVATE wire_loop_tests)
  add_test_in_shards(wire_uring_test)
endif()

# TLS and its tests with another OpenSSL than the system's, which is installed in the folder WIRE_OTHER_OPENSSL: `./test openssl`. No
# other file of the library includes OpenSSL, so the rest of its objects serve here, too.
if(WIRE_WITH_TLS AND WIRE_OTHER_OPENSSL)
  set(wire_tls_sources ${wire_sources})
  list(FILTER wire_tls_sources INCLUDE REGEX "/src/tls/")
  set(wire_tls_tests ${wire_loop_test_sources})
  list(FILTER wire_tls_tests INCLUDE REGEX "/src/tls/")
  add_library(wire_other_tls OBJECT EXCLUDE_FROM_ALL ${wire_tls_sources})
  compile_in_groups(wire_other_tls 8)
  add_executable(wire_tls_test EXCLUDE_FROM_ALL ${wire_tls_tests})
  compile_tests_quickly(wire_tls_test)
  foreach(target IN ITEMS wire_other_tls wire_tls_test)
    target_include_directories(${target} SYSTEM PRIVATE ${WIRE_OTHER_OPENSSL}/include)
    target_include_directories(${target} PRIVATE include src tests)
    target_compile_features(${target} PRIVATE cxx_std_20)
  endforeach()
  target_link_libraries(wire_tls_test PRIVATE wire_other_tls
    $<FILTER:$<TARGET_OBJECTS:wire>,EXCLUDE,[.][gp]ch$|/unity_left_out_TLS_|/src/tls/> GTest::gtest_main
    ${WIRE_OTHER_OPENSSL}/lib/libssl.a ${WIRE_OTHER_OPENSSL}/lib/libcrypto.a $<TARGET_NAME_IF_EXISTS:ZLIB::ZLIB>
    $<TARGET_NAME_IF_EXISTS:wire_codecs::brotli> $<TARGET_NAME_IF_EXISTS:wire_codecs::zstd> Threads::Threads ${CMAKE_DL_LIBS})
  add_dependencies(wire_tls_test wire)
endif()

# Other ways to build wire: `./test lean` builds and runs these. The options for parts, TLS and codecs choose source files and set no
# flags of the library, so the objects that there are already make a wire without them, and its tests; and with all of them a shared
# library, for a program that uses it.
set(wire_has_all ON)
foreach(part IN LISTS wire_parts ITEMS TLS ZLIB BROTLI ZSTD)
  if(NOT WIRE_WITH_${part})
    set(wire_has_all OFF)
  endif()
endforeach()
if(wire_has_all)
  file(GLOB wire_stand_ins CONFIGURE_DEPENDS src/*_none/*.cpp)
  # A target's precompiled header counts as one of its objects, and no linker takes it.
  set(wire_no_objects "[.][gp]ch$")
  set(wire_lean_left_out "${wire_no_objects}|/unity_left_out_|/src/tls/|/src/proto/compression[.]cpp|/src/proto/compression_test[.]cpp")
  string(APPEND wire_lean_left_out "|/src/proto/br_packer|/src/proto/br_unpacker|/src/proto/zstd_packer|/src/proto/zstd_unpacker")
  foreach(part IN LISTS wire_parts)
    # CMake's expressions have at most 32 groups: there are none.
    list(TRANSFORM wire_sources_${part} REPLACE "(.+)" "|/src/\\1[.]cpp" OUTPUT_VARIABLE sources)
    list(JOIN sources "" sources)
    set(wire_left_out_${part} "${wire_no_objects}|/unity_left_out_${part}_${sources}")
    string(APPEND wire_lean_left_out "${sources}")
    find_users(${part} users ${wire_all_tests})
    foreach(test IN LISTS users)
      get_filename_component(name ${test} NAME_WE)
      get_filename_component(folder ${test} DIRECTORY)
      get_filename_component(folder ${folder} NAME)
      string(APPEND wire_lean_left_out "|/src/${folder}/${name}[.]cpp")
    endforeach()
  endforeach()
  add_executable(wire_lean_test EXCLUDE_FROM_ALL ${wire_stand_ins})
  target_include_directories(wire_lean_test PRIVATE include src)
  target_compile_features(wire_lean_test PRIVATE cxx_std_20)
  target_link_libraries(wire_lean_test PRIVATE
    $<FILTER:$<TARGET_OBJECTS:wire>,EXCLUDE,${wire_lean_left_out}> $<FILTER:$<TARGET_OBJECTS:wire_test>,EXCLUDE,${wire_lean_left_out}>
    $<FILTER:$<TARGET_OBJECTS:wire_loop_tests>,EXCLUDE,${wire_lean_left_out}> GTest::gtest_main Threads::Threads)
  add_dependencies(wire_lean_test wire wire_test)

  # Each part missing alone: the library is complete without it, and so are the other headers; the part's own name the option.
  file(GLOB wire_headers CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR}/include include/wire/*/*.hpp)
  add_custom_target(wire_without_parts COMMAND ${CMAKE_COMMAND} -D compiler=${CMAKE_CXX_COMPILER} -D source=${CMAKE_CURRENT_SOURCE_DIR}
    -D scratch=${CMAKE_CURRENT_BINARY_DIR}/parts -P ${CMAKE_CURRENT_SOURCE_DIR}/tests/parts.cmake VERBATIM)
  foreach(part IN LISTS wire_parts)
    string(TOLOWER wire_without_${part} target)
    set(headers ${wire_headers})
    set(own ${wire_headers_${part}})
    list(TRANSFORM own REPLACE "(.+)" "wire/\\1.hpp")
    list(REMOVE_ITEM headers ${own})
    list(TRANSFORM headers REPLACE "(.+)" "#include <\\1>\n")
    list(JOIN headers "" headers)
    file(CONFIGURE OUTPUT parts/${target}.cpp CONTENT "${headers}" @ONLY)
    set_source_files_properties(${CMAKE_CURRENT_BINARY_DIR}/parts/${target}.cpp PROPERTIES COMPILE_DEFINITIONS WIRE_WITHOUT_${part})
    find_stand_ins(${part} stand_ins)
    add_library(${target} SHARED EXCLUDE_FROM_ALL ${CMAKE_CURRENT_BINARY_DIR}/parts/${target}.cpp ${stand_ins})
    target_include_directories(${target} PRIVATE include src)
    target_compile_features(${target} PRIVATE cxx_std_20)
    target_link_libraries(${target} PRIVATE $<FILTER:$<TARGET_OBJECTS:wire>,EXCLUDE,${wire_left_out_${part}}>
      OpenSSL::SSL OpenSSL::Crypto ZLIB::ZLIB $<TARGET_NAME_IF_EXISTS:wire_codecs::brotli> $<TARGET_NAME_IF_EXISTS:wire_codecs::zstd>
      Threads::Threads)
    target_link_options(${target} PRIVATE LINKER:--no-undefined)
    add_dependencies(${target} wire)
    add_dependencies(wire_without_parts ${target})
  endforeach()

  # What includes wire's headers may ask for more warnings than wire, and for a newer standard.
  list(TRANSFORM wire_headers REPLACE "(.+)" "#include <\\1>\n" OUTPUT_VARIABLE headers)
  list(JOIN headers "" headers)
  foreach(standard IN ITEMS 20 23)
    set(target wire_headers_${standard})
    file(CONFIGURE OUTPUT parts/${target}.cpp CONTENT "${headers}" @ONLY)
    add_library(${target} OBJECT EXCLUDE_FROM_ALL ${CMAKE_CURRENT_BINARY_DIR}/parts/${target}.cpp)
    target_include_directories(${target} PRIVATE include)
    target_compile_options(${target} PRIVATE -Wconversion -Wshadow)
    set_target_properties(${target} PROPERTIES CXX_STANDARD ${standard} CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF)
    add_dependencies(wire_without_parts ${target})
  endforeach()

  add_library(wire_shared SHARED EXCLUDE_FROM_ALL $<TARGET_OBJECTS:wire>)
  target_include_directories(wire_shared PUBLIC include)
  target_compile_features(wire_shared PUBLIC cxx_std_20)
  target_compile_definitions(wire_shared PUBLIC WIRE_SHARED)
  target_link_libraries(wire_shared PUBLIC Threads::Threads PRIVATE OpenSSL::SSL OpenSSL::Crypto ZLIB::ZLIB
    $<TARGET_NAME_IF_EXISTS:wire_codecs::brotli> $<TARGET_NAME_IF_EXISTS:wire_codecs::zstd>)
  target_link_options(wire_shared PRIVATE LINKER:--no-undefined)
  add_executable(wire_shared_consumer EXCLUDE_FROM_ALL tests/consumer/main.cpp)
  target_link_libraries(wire_shared_consumer PRIVATE wire_shared)
endif()

# Hostile peers, each until it meets its limit; and the memory that takes.
file(GLOB wire_abuse_tests CONFIGURE_DEPENDS tests/abuse/*_test.cpp)
if(NOT WIRE_WITH_TLS)
  list(FILTER wire_abuse_tests EXCLUDE REGEX "tls_test")
endif()
add_executable(wire_abuse_test ${wire_abuse_tests})
target_include_directories(wire_abuse_test PRIVATE tests)
if(WIREBENCH_SANITIZE)
  target_compile_definitions(wire_abuse_test PRIVATE WIRE_SANITIZED)
endif()
target_link_libraries(wire_abuse_test PRIVATE wire::wire GTest::gtest_main)
compile_tests_quickly(wire_abuse_test FROM wire_loop_tests)
if(WIRE_WITH_TLS)
  target_link_libraries(wire_abuse_test PRIVATE OpenSSL::SSL OpenSSL::Crypto)
endif()
gtest_discover_tests(wire_abuse_test DISCOVERY_TIMEOUT 60)

# Mixed load for as long as one likes: `wire_soak --minutes 60`. Some seconds of it belong to the tests, most of them where
# sanitizers watch.
add_executable(wire_soak tests/soak/soak.cpp)
target_include_directories(wire_soak PRIVATE tests)
target_link_libraries(wire_soak PRIVATE wire::wire GTest::gtest)
compile_tests_quickly(wire_soak FROM wire_loop_tests)
if(WIRE_WITH_TLS)
  target_compile_definitions(wire_soak PRIVATE WIRE_SOAK_TLS)
  target_link_libraries(wire_soak PRIVATE OpenSSL::SSL OpenSSL::Crypto)
endif()
set(wire_soak_seconds 6)
if(WIREBENCH_SANITIZE)
  target_compile_definitions(wire_soak PRIVATE WIRE_SANITIZED)
  set(wire_soak_seconds 20)
endif()
add_test(NAME wire_soak_smoke COMMAND wire_soak --seconds ${wire_soak_seconds})
set_tests_properties(wire_soak_smoke PROPERTIES PROCESSORS 2 COST 20)

# The examples of the documentation: they have to compile. A test of the lab sees that the guide quotes them.
file(GLOB wire_examples CONFIGURE_DEPENDS examples/*.cpp)
leave_out_users(wire_examples)
foreach(example IN LISTS wire_examples)
  get_filename_component(name ${example} NAME_WE)
  set(target wire_example_${name})
  add_executable(${target} ${example})
  target_link_libraries(${target} PRIVATE wire::wire)
  if(NOT CMAKE_BUILD_TYPE STREQUAL "Release")
    target_compile_options(${target} PRIVATE -O0)
  endif()
  # Nearly all of the time that one takes is for these.
  if(wire_first_example)
    target_precompile_headers(${target} REUSE_FROM ${wire_first_example})
  else()
    target_precompile_headers(${target} PRIVATE <wire/server/server.hpp> <wire/server/router.hpp>
      <wire/client/client.hpp> <wire/client/websocket.hpp> <fstream> <map> <memory> <thread> <vector>)
    set(wire_first_example ${target})
  endif()
endforeach()

# Both sides of Autobahn's test suite: tests/autobahn/run.py drives it.
add_executable(wire_autobahn tests/autobahn/peer.cpp)
target_link_libraries(wire_autobahn PRIVATE wire::wire)
if(NOT CMAKE_BUILD_TYPE STREQUAL "Release")
  target_compile_options(wire_autobahn PRIVATE -O0)
endif()

# wire's side of the tests against other people's programs, which pytest runs: tests/peers/conftest.py.
if(wire_has_all)
  add_executable(wire_peer EXCLUDE_FROM_ALL tests/peers/peer.cpp tests/peers/server.cpp)
  target_link_libraries(wire_peer PRIVATE wire::wire ZLIB::ZLIB)
endif()

add_fuzzers(wire "wire::wire;OpenSSL::SSL;OpenSSL::Crypto")

set(wire_consumer_flags "")
if(WIREBENCH_SANITIZE)
  set(wire_consumer_flags "-fsanitize=${WIREBENCH_SANITIZE}")
endif()
add_test(NAME wire_consumer COMMAND ${CMAKE_COMMAND} -D build=${CMAKE_BINARY_DIR} -D source=${CMAKE_CURRENT_SOURCE_DIR}
  -D scratch=${CMAKE_CURRENT_BINARY_DIR}/consumer -D generator=${CMAKE_GENERATOR} -D flags=${wire_consumer_flags}
  -P ${CMAKE_CURRENT_SOURCE_DIR}/tests/consumer.cmake)
