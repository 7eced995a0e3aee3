find_package(GTest REQUIRED)
include(GoogleTest)

# The tests of everything that runs on a loop are compiled once, and run twice: on epoll, and on io_uring with a loop that takes it
# when nothing is asked.
set(wire_loop_tests ${wire_tests})
list(FILTER wire_loop_tests INCLUDE REGEX "src/(loop|server|client|websocket|tls)/")
list(REMOVE_ITEM wire_tests ${wire_loop_tests})
set(wire_loop_test_sources ${wire_loop_tests})
add_library(wire_loop_tests OBJECT ${wire_loop_tests})
target_include_directories(wire_loop_tests PRIVATE src tests)
target_link_libraries(wire_loop_tests PUBLIC wire::wire GTest::gtest_main)
compile_tests_quickly(wire_loop_tests)
if(WIRE_WITH_TLS)
  target_link_libraries(wire_loop_tests PUBLIC OpenSSL::SSL OpenSSL::Crypto)
endif()

add_executable(wire_test ${wire_tests} tests/layering_test.cpp tests/fuzz/corpus_test.cpp tests/fuzz/targets.cpp tests/fuzz/field_targets.cpp tests/fuzz/proxy_targets.cpp tests/fuzz/client_targets.cpp)
target_include_directories(wire_test PRIVATE src tests)
target_compile_definitions(wire_test PRIVATE WIRE_SOURCE_DIR="${CMAKE_CURRENT_SOURCE_DIR}")
target_link_libraries(wire_test PRIVATE wire_loop_tests)
compile_tests_quickly(wire_test FROM wire_loop_tests)
gtest_discover_tests(wire_test DISCOVERY_TIMEOUT 60)

add_executable(wire_uring_test tests/uring_environment.cpp src/loop/make_engine.cpp)
target_compile_definitions(wire_uring_test PRIVATE WIRE_AUTOMATIC_IS_IO_URING)
target_link_libraries(wire_uring_test PRIVATE wire_loop_tests)
gtest_discover_tests(wire_uring_test TEST_PREFIX io_uring. DISCOVERY_TIMEOUT 60)

# TLS alone, for another OpenSSL than the system's: `./test openssl` builds it with -D OPENSSL_ROOT_DIR.
if(WIRE_WITH_TLS)
  set(wire_tls_tests ${wire_loop_test_sources})
  list(FILTER wire_tls_tests INCLUDE REGEX "src/tls/")
  add_executable(wire_tls_test EXCLUDE_FROM_ALL ${wire_tls_tests})
  target_include_directories(wire_tls_test PRIVATE src tests)
  target_link_libraries(wire_tls_test PRIVATE wire::wire GTest::gtest_main OpenSSL::SSL OpenSSL::Crypto)
  compile_tests_quickly(wire_tls_test)
endif()

# Other ways to build wire: `./test lean` builds and runs these. The switches for TLS and zlib choose source files and set no flags, so the
# objects that there are already make a wire without either, and its tests; and with both a shared library, for a program that uses it.
if(WIRE_WITH_TLS AND WIRE_WITH_ZLIB)
  # A target's precompiled header counts as one of its objects, and no linker takes it.
  set(with_neither "EXCLUDE,/src/tls/|/src/[a-z]+_none/|/src/proto/(compression(_test)?|(br|zstd)_(un)?packer)[.]cpp|[.][gp]ch$")
  file(GLOB wire_stand_ins CONFIGURE_DEPENDS src/*_none/*.cpp)
  add_executable(wire_lean_test EXCLUDE_FROM_ALL ${wire_stand_ins})
  target_include_directories(wire_lean_test PRIVATE include src)
  target_compile_features(wire_lean_test PRIVATE cxx_std_20)
  target_link_libraries(wire_lean_test PRIVATE
    $<FILTER:$<TARGET_OBJECTS:wire>,${with_neither}> $<FILTER:$<TARGET_OBJECTS:wire_test>,${with_neither}>
    $<FILTER:$<TARGET_OBJECTS:wire_loop_tests>,${with_neither}> GTest::gtest_main Threads::Threads)
  add_dependencies(wire_lean_test wire wire_test)

  add_library(wire_shared SHARED EXCLUDE_FROM_ALL $<TARGET_OBJECTS:wire>)
  target_include_directories(wire_shared PUBLIC include)
  target_compile_features(wire_shared PUBLIC cxx_std_20)
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

# Mixed load for as long as one likes: `wire_soak --minutes 60`. Twenty seconds of it belong to the tests.
add_executable(wire_soak tests/soak/soak.cpp)
target_include_directories(wire_soak PRIVATE tests)
target_link_libraries(wire_soak PRIVATE wire::wire GTest::gtest)
if(WIRE_WITH_TLS)
  target_compile_definitions(wire_soak PRIVATE WIRE_SOAK_TLS)
  target_link_libraries(wire_soak PRIVATE OpenSSL::SSL OpenSSL::Crypto)
endif()
if(WIREBENCH_SANITIZE)
  target_compile_definitions(wire_soak PRIVATE WIRE_SANITIZED)
endif()
add_test(NAME wire_soak_smoke COMMAND wire_soak --seconds 20)
set_tests_properties(wire_soak_smoke PROPERTIES PROCESSORS 2 COST 20)

# The examples of the documentation: they have to compile. A test of the lab sees that the guide quotes them.
file(GLOB wire_examples CONFIGURE_DEPENDS examples/*.cpp)
foreach(example IN LISTS wire_examples)
  get_filename_component(name ${example} NAME_WE)
  add_executable(wire_example_${name} ${example})
  target_link_libraries(wire_example_${name} PRIVATE wire::wire)
endforeach()

# Both sides of Autobahn's test suite: tests/autobahn/run.py drives it.
add_executable(wire_autobahn tests/autobahn/peer.cpp)
target_link_libraries(wire_autobahn PRIVATE wire::wire)

# wire's side of the tests against other people's programs, which pytest runs: tests/peers/conftest.py.
if(WIRE_WITH_TLS AND WIRE_WITH_ZLIB)
  add_executable(wire_peer EXCLUDE_FROM_ALL tests/peers/peer.cpp tests/peers/server.cpp)
  target_link_libraries(wire_peer PRIVATE wire::wire ZLIB::ZLIB)
endif()

add_fuzzers(wire wire::wire)

set(wire_consumer_flags "")
if(WIREBENCH_SANITIZE)
  set(wire_consumer_flags "-fsanitize=${WIREBENCH_SANITIZE}")
endif()
add_test(NAME wire_consumer COMMAND ${CMAKE_COMMAND} -D build=${CMAKE_BINARY_DIR} -D source=${CMAKE_CURRENT_SOURCE_DIR}
  -D scratch=${CMAKE_CURRENT_BINARY_DIR}/consumer -D generator=${CMAKE_GENERATOR} -D flags=${wire_consumer_flags}
  -P ${CMAKE_CURRENT_SOURCE_DIR}/tests/consumer.cmake)
