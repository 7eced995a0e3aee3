find_package(GTest REQUIRED)
include(GoogleTest)

add_executable(wireload_test ${wireload_tests})
target_link_libraries(wireload_test PRIVATE wireload_core GTest::gtest_main ZLIB::ZLIB)
gtest_discover_tests(wireload_test PROPERTIES TIMEOUT 60)
