# Debian packages by CPack: `wireload`, and `libwire-dev` with the static library, headers, CMake package and wire.pc. They come
# from a static build, so wireload depends on nothing.
if(NOT WIREBENCH_STATIC)
  return()
endif()
set(CPACK_GENERATOR DEB)
set(CPACK_COMPONENTS_ALL wireload wire)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_CONTACT "The wirebench authors <wirebench@localhost>")
set(CPACK_PACKAGE_VERSION "${PROJECT_VERSION}")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)

set(CPACK_DEBIAN_WIRELOAD_PACKAGE_NAME wireload)
set(CPACK_DEBIAN_WIRELOAD_PACKAGE_SECTION web)
set(CPACK_COMPONENT_WIRELOAD_DESCRIPTION "load generator for HTTP and WebSocket
 It checks every reply, counts errors by kind, and reports its own cost
 beside what it measures, in closed or open loop.")
set(CPACK_DEBIAN_WIRE_PACKAGE_NAME libwire-dev)
set(CPACK_DEBIAN_WIRE_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_WIRE_PACKAGE_DEPENDS "libssl-dev, zlib1g-dev, libbrotli-dev, libzstd-dev")
set(CPACK_COMPONENT_WIRE_DESCRIPTION "lean event-driven HTTP/1.1 and WebSocket library
 Server and client in C++20, with TLS, found by find_package(wire) or by
 pkg-config. This package has the headers and the static library.")

# What a package of Debian's has besides what is installed.
set(CPACK_PRE_BUILD_SCRIPTS "${PROJECT_SOURCE_DIR}/cmake/debian_files.cmake")
set(CPACK_WIREBENCH_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
include(CPack)
