# wire from the sources of this checkout, as an overlay port: vcpkg install wire --overlay-ports=packaging/vcpkg
get_filename_component(checkout "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

vcpkg_check_features(OUT_FEATURE_OPTIONS features
  FEATURES
    tls WIRE_WITH_TLS
    zlib WIRE_WITH_ZLIB
    brotli WIRE_WITH_BROTLI
    zstd WIRE_WITH_ZSTD)

vcpkg_cmake_configure(SOURCE_PATH "${checkout}/wire" OPTIONS ${features})
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/wire)
vcpkg_fixup_pkgconfig()

file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include")
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${checkout}/LICENSE")
