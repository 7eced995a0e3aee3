# wire::wire for the contestants that use it. The build of the environment has made it from the same sources. Where compiler, flags and options are those of this
# build too, it is taken from there, which saves most of this contestant's build. Else it is built here.
# With -Dwire_DIR=FOLDER it is taken from there in any case.
function(environment_with_the_same_flags result)
  set(${result} "" PARENT_SCOPE)
  # TLS and zlib are on, the rest is as the root project has it by default.
  set(ours "${WIREBENCH_ROOT}|${CMAKE_BUILD_TYPE}|${CMAKE_CXX_FLAGS}|${CMAKE_CXX_FLAGS_RELEASE}|ON|ON||OFF|")
  file(REAL_PATH "${CMAKE_CXX_COMPILER}" compiler)
  file(GLOB caches "${WIREBENCH_ROOT}/build/native/*/CMakeCache.txt")
  foreach(cache IN LISTS caches)
    get_filename_component(folder "${cache}" DIRECTORY)
    load_cache("${folder}" READ_WITH_PREFIX its_ CMAKE_HOME_DIRECTORY CMAKE_CXX_COMPILER CMAKE_BUILD_TYPE CMAKE_CXX_FLAGS
      CMAKE_CXX_FLAGS_RELEASE WIRE_WITH_TLS WIRE_WITH_ZLIB WIREBENCH_SANITIZE WIREBENCH_DEVELOPER BUILD_SHARED_LIBS)
    file(REAL_PATH "${its_CMAKE_CXX_COMPILER}" its_compiler)
    string(CONCAT its "${its_CMAKE_HOME_DIRECTORY}|${its_CMAKE_BUILD_TYPE}|${its_CMAKE_CXX_FLAGS}|${its_CMAKE_CXX_FLAGS_RELEASE}|"
      "${its_WIRE_WITH_TLS}|${its_WIRE_WITH_ZLIB}|${its_WIREBENCH_SANITIZE}|${its_WIREBENCH_DEVELOPER}|${its_BUILD_SHARED_LIBS}")
    if(its STREQUAL ours AND its_compiler STREQUAL compiler AND EXISTS "${folder}/wire/wire-targets.cmake")
      set(${result} "${folder}" PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

if(wire_DIR)
  find_package(wire REQUIRED NO_DEFAULT_PATH)
  return()
endif()
environment_with_the_same_flags(environment)
if(environment)
  # Nothing is left to do where ./wirebench was started, since that brings the environment up to date, under the same lock.
  find_program(FLOCK flock REQUIRED)
  execute_process(RESULT_VARIABLE status
    COMMAND ${FLOCK} "${WIREBENCH_ROOT}/build/.bootstrap.lock" ${CMAKE_COMMAND} --build ${environment} --target wire --parallel 1)
endif()
if(environment AND status EQUAL 0)
  find_package(wire REQUIRED NO_DEFAULT_PATH HINTS "${environment}/wire")
else()
  add_subdirectory(${WIREBENCH_ROOT}/wire wire EXCLUDE_FROM_ALL)
endif()
