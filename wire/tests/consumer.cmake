# Installs wire, then builds and runs programs that find it there; and configures a project that has wire inside it.
#   cmake -D build=BUILD_FOLDER -D source=WIRE_FOLDER -D scratch=FOLDER -D generator=NAME -D flags=CXX_FLAGS -P consumer.cmake
file(REMOVE_RECURSE ${scratch})
function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${ARGV}: ${status}\n${output}")
  endif()
endfunction()
# Installed at one place and moved to another.
run(${CMAKE_COMMAND} --install ${build} --component wire --prefix ${scratch}/installed)
file(RENAME ${scratch}/installed ${scratch}/prefix)
file(GLOB_RECURSE config ${scratch}/prefix/*/wire.pc)
get_filename_component(folder ${config} DIRECTORY)
set(ENV{PKG_CONFIG_PATH} ${folder})
run(${CMAKE_COMMAND} -G ${generator} -S ${source}/tests/consumer -B ${scratch}/build
    -DCMAKE_PREFIX_PATH=${scratch}/prefix "-DCMAKE_CXX_FLAGS=${flags}")
run(${CMAKE_COMMAND} --build ${scratch}/build)
foreach(program IN ITEMS by_package by_pkg_config)
  if(EXISTS ${scratch}/build/${program})
    run(${scratch}/build/${program})
  endif()
endforeach()
run(${CMAKE_COMMAND} -G ${generator} -S ${source}/tests/consumer/parent -B ${scratch}/parent -Dsource=${source})
