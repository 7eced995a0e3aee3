# What the lab's wheel brings besides the lab and its programs: a project of contestants and studies (component `project`), in the
# package's folder `project`. In a static build the contestants that every run needs come built, so that the lab needs no compiler:
# their folders hold the programs and a manifest whose build copies them.
if(NOT DEFINED SKBUILD_PLATLIB_DIR)
  return()
endif()
set(project_folder "${SKBUILD_PLATLIB_DIR}/wirebench/project")
set(no_leftovers PATTERN __pycache__ EXCLUDE PATTERN node_modules EXCLUDE PATTERN target EXCLUDE)
install(DIRECTORY studies DESTINATION "${project_folder}" COMPONENT project)
if(NOT WIREBENCH_STATIC)
  install(DIRECTORY contestants cmake wire DESTINATION "${project_folder}" COMPONENT project ${no_leftovers} PATTERN tests EXCLUDE)
  install(FILES CMakeLists.txt DESTINATION "${project_folder}" COMPONENT project)
  return()
endif()

include(ExternalProject)
set(prebuilt floor wire wire-own-records)
list(JOIN prebuilt "|" names)
install(DIRECTORY contestants DESTINATION "${project_folder}" COMPONENT project ${no_leftovers} REGEX "/contestants/cpp/(${names})$" EXCLUDE)
add_custom_target(prebuilt ALL)
foreach(name IN LISTS prebuilt)
  set(source "${PROJECT_SOURCE_DIR}/contestants/cpp/${name}")
  set(build "${PROJECT_BINARY_DIR}/prebuilt/${name}")
  file(READ "${source}/manifest.toml" manifest)
  string(FIND "${manifest}" "calls " calls)
  set(programs server)
  if(NOT calls EQUAL -1)
    list(APPEND programs client)
  endif()
  ExternalProject_Add(prebuilt-${name} SOURCE_DIR "${source}" BINARY_DIR "${build}" EXCLUDE_FROM_ALL ON BUILD_ALWAYS ON DEPENDS wire
    BUILD_COMMAND ${CMAKE_COMMAND} --build "${build}" --target ${programs}
    INSTALL_COMMAND ""
    CMAKE_ARGS -DCMAKE_BUILD_TYPE=Release "-DCMAKE_CXX_FLAGS=${CMAKE_CXX_FLAGS}" -DWIREBENCH_ROOT=${PROJECT_SOURCE_DIR}
      -DWIREBENCH_STATIC=ON -DCMAKE_PROJECT_INCLUDE=${PROJECT_SOURCE_DIR}/cmake/static.cmake -Dwire_DIR=${PROJECT_BINARY_DIR}/wire)
  add_dependencies(prebuilt prebuilt-${name})

  list(TRANSFORM programs REPLACE "(.+)" "\"{source}/\\1\"" OUTPUT_VARIABLE copied)
  list(JOIN copied ", " copied)
  string(REGEX REPLACE "\n\\[build\\].*" "" manifest "${manifest}")
  string(REGEX REPLACE "needs +=[^\n]*" "needs    = { commands = [], debian = [] }" manifest "${manifest}")
  string(REGEX REPLACE "(note +=) \"" "\\1 \"Came built with the package, its libraries linked into it. " manifest "${manifest}")
  string(APPEND manifest "\n[build]\ninputs = []\nsteps = [[\"cp\", ${copied}, \"{build}\"]]\n")
  file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/prebuilt-manifests/${name}/manifest.toml" CONTENT "${manifest}" @ONLY)
  list(TRANSFORM programs PREPEND "${build}/")
  install(PROGRAMS ${programs} DESTINATION "${project_folder}/contestants/cpp/${name}" COMPONENT project)
  install(FILES "${PROJECT_BINARY_DIR}/prebuilt-manifests/${name}/manifest.toml" DESTINATION "${project_folder}/contestants/cpp/${name}" COMPONENT project)
endforeach()
