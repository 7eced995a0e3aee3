# wire_bench, beside whichever peers are installed (Debian: libhttp-parser-dev, libboost-dev, libwslay-dev).
find_package(benchmark QUIET)
if(NOT benchmark_FOUND)
  message(STATUS "wire_bench: no google-benchmark (Debian: libbenchmark-dev)")
  return()
endif()

add_executable(wire_bench bench/main.cpp bench/http.cpp bench/websocket.cpp bench/digests.cpp)
target_link_libraries(wire_bench PRIVATE wire::wire benchmark::benchmark)
if(NOT CMAKE_BUILD_TYPE STREQUAL "Release")
  target_compile_options(wire_bench PRIVATE -O0)  # there it only has to compile
endif()

find_path(WIRE_BENCH_HTTP_PARSER_INCLUDE http_parser.h)
find_library(WIRE_BENCH_HTTP_PARSER_LIBRARY http_parser)
if(WIRE_BENCH_HTTP_PARSER_INCLUDE AND WIRE_BENCH_HTTP_PARSER_LIBRARY)
  target_compile_definitions(wire_bench PRIVATE WIRE_BENCH_HTTP_PARSER)
  target_include_directories(wire_bench SYSTEM PRIVATE ${WIRE_BENCH_HTTP_PARSER_INCLUDE})
  target_link_libraries(wire_bench PRIVATE ${WIRE_BENCH_HTTP_PARSER_LIBRARY})
endif()

find_path(WIRE_BENCH_BOOST_INCLUDE boost/beast/http/basic_parser.hpp)
if(WIRE_BENCH_BOOST_INCLUDE)
  target_compile_definitions(wire_bench PRIVATE WIRE_BENCH_BEAST)
  target_include_directories(wire_bench SYSTEM PRIVATE ${WIRE_BENCH_BOOST_INCLUDE})
endif()

find_path(WIRE_BENCH_WSLAY_INCLUDE wslay/wslay.h)
find_library(WIRE_BENCH_WSLAY_LIBRARY wslay)
if(WIRE_BENCH_WSLAY_INCLUDE AND WIRE_BENCH_WSLAY_LIBRARY)
  target_compile_definitions(wire_bench PRIVATE WIRE_BENCH_WSLAY)
  target_include_directories(wire_bench SYSTEM PRIVATE ${WIRE_BENCH_WSLAY_INCLUDE})
  target_link_libraries(wire_bench PRIVATE ${WIRE_BENCH_WSLAY_LIBRARY})
endif()
