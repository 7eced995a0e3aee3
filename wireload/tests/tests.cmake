find_package(GTest REQUIRED)
include(GoogleTest)

add_executable(wireload_test ${wireload_tests} tests/fuzz/corpus_test.cpp tests/fuzz/targets.cpp tests/fuzz/input_targets.cpp
  tests/fuzz/connection_targets.cpp)
target_include_directories(wireload_test PRIVATE tests/fuzz "${PROJECT_SOURCE_DIR}/wire/tests")
target_compile_definitions(wireload_test PRIVATE WIRELOAD_SOURCE_DIR="${CMAKE_CURRENT_SOURCE_DIR}")
target_link_libraries(wireload_test PRIVATE wireload_core GTest::gtest_main ZLIB::ZLIB)
compile_tests_quickly(wireload_test FROM wire_loop_tests)
set_target_properties(wireload_test PROPERTIES UNITY_BUILD_BATCH_SIZE 20)
add_test_in_shards(wireload_test)
add_dependencies(tested_programs wireload truth_server)

add_fuzzers(wireload wireload_core)

# End to end, against servers of the standard library. The project's own environment comes first because it has the package
# hdrhistogram, with which another implementation reads our histograms.
find_program(WIRELOAD_PYTHON NAMES python3 HINTS "${PROJECT_SOURCE_DIR}/.venv/bin" NO_CMAKE_PATH REQUIRED)
# The sanitizers need memory of their own, and keep some of what was given back.
set(wireload_most_memory 48)
if(WIREBENCH_SANITIZE)
  set(wireload_most_memory 512)
endif()
set(wireload_environment "WIRELOAD=$<TARGET_FILE:wireload>" "TRUTH_SERVER=$<TARGET_FILE:truth_server>"
  "WIRELOAD_MOST_MEMORY_MIB=${wireload_most_memory}")
# The suite hostile has servers that answer with anything.
foreach(suite IN ITEMS http requests checks broken hostile engine websocket websocket_broken broadcast deflate output screen open_loop
    open_loop_failures turns parts tls quota docs)
  add_test(NAME wireload_${suite} COMMAND ${WIRELOAD_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/${suite}_test.py)
  set_tests_properties(wireload_${suite} PROPERTIES TIMEOUT 240 ENVIRONMENT "${wireload_environment}")
endforeach()

# The same loads where each goes through io_uring, also with a few connections.
foreach(suite IN ITEMS http requests checks broken websocket websocket_broken broadcast deflate tls hostile)
  add_test(NAME wireload_${suite}_io_uring COMMAND ${WIRELOAD_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/${suite}_test.py)
  set_tests_properties(wireload_${suite}_io_uring PROPERTIES TIMEOUT 240 SKIP_RETURN_CODE 77 ENVIRONMENT
    "${wireload_environment};WIRELOAD_ENGINE=io_uring")
endforeach()

# The longest first: the short ones fill what is left beside them.
set_tests_properties(wireload_hostile wireload_hostile_io_uring PROPERTIES COST 100)
set_tests_properties(wireload_broken wireload_broken_io_uring wireload_open_loop wireload_http wireload_http_io_uring
  PROPERTIES COST 15)

# The sanitizers' own memory would be measured with it.
if(NOT WIREBENCH_SANITIZE)
  add_test(NAME wireload_memory COMMAND ${WIRELOAD_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/memory_test.py)
  set_tests_properties(wireload_memory PROPERTIES TIMEOUT 600 RUN_SERIAL ON ENVIRONMENT
    "WIRELOAD=$<TARGET_FILE:wireload>;TRUTH_SERVER=$<TARGET_FILE:truth_server>")
endif()
