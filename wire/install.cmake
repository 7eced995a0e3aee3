# What `cmake --install` puts where: library, headers, and what find_package(wire) and pkg-config read.
include(CMakePackageConfigHelpers)

install(TARGETS wire EXPORT wire-targets COMPONENT wire
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/wire DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT wire)
export(EXPORT wire-targets NAMESPACE wire:: FILE wire-targets.cmake)  # find_package(wire) in this build folder
install(EXPORT wire-targets NAMESPACE wire:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/wire COMPONENT wire)
# What find_package(wire COMPONENTS files tls) asks for.
foreach(part IN LISTS wire_parts ITEMS TLS ZLIB BROTLI ZSTD)
  string(TOLOWER ${part} component)
  string(APPEND wire_components "set(wire_${component}_FOUND ${WIRE_WITH_${part}})\n")
endforeach()
configure_package_config_file(wire-config.cmake.in wire-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/wire)
configure_file(find_codecs.cmake find_codecs.cmake COPYONLY)  # for the build folder's package
write_basic_package_version_file(wire-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/wire-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/wire-config-version.cmake
  find_codecs.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/wire COMPONENT wire)

# wire.pc finds its prefix from where it lies, so that an installed wire can be moved.
set(wire_pc_requires "")
if(WIRE_WITH_TLS)
  list(APPEND wire_pc_requires "openssl >= 3.0")
endif()
if(WIRE_WITH_ZLIB)
  list(APPEND wire_pc_requires "zlib")
endif()
if(WIRE_WITH_BROTLI)
  list(APPEND wire_pc_requires "libbrotlidec" "libbrotlienc")
endif()
if(WIRE_WITH_ZSTD)
  list(APPEND wire_pc_requires "libzstd")
endif()
list(JOIN wire_pc_requires ", " wire_pc_requires)
foreach(part IN LISTS wire_parts)
  if(NOT WIRE_WITH_${part})
    string(APPEND wire_pc_definitions " -DWIRE_WITHOUT_${part}")
  endif()
endforeach()
if(wire_kind STREQUAL "STATIC_LIBRARY")
  set(wire_pc_static "-Wl,--gc-sections ")
else()
  # What wire itself is linked with; a program that uses it needs it only to link statically.
  set(wire_pc_private ".private")
  string(APPEND wire_pc_definitions " -DWIRE_SHARED")
endif()
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}" OR IS_ABSOLUTE "${CMAKE_INSTALL_INCLUDEDIR}")
  set(wire_pc_prefix "${CMAKE_INSTALL_PREFIX}")
else()
  file(RELATIVE_PATH wire_pc_prefix "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
  string(REGEX REPLACE "/$" "" wire_pc_prefix "${wire_pc_prefix}")
  set(wire_pc_prefix "\${pcfiledir}/${wire_pc_prefix}")
endif()
foreach(folder IN ITEMS INCLUDEDIR LIBDIR)
  set(wire_pc_${folder} "${CMAKE_INSTALL_${folder}}")
  if(NOT IS_ABSOLUTE "${wire_pc_${folder}}")
    set(wire_pc_${folder} "\${prefix}/${wire_pc_${folder}}")
  endif()
endforeach()
configure_file(wire.pc.in wire.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/wire.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT wire)
