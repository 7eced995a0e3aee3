# Finds libbrotlidec and libzstd, which bring no CMake package everywhere: WIRE_BROTLI_FOUND, WIRE_ZSTD_FOUND, and the targets
# wire_decoders::brotli and wire_decoders::zstd. wire's own build reads this, and find_package(wire), which has it beside it.
function(wire_find_decoder name header library)
  string(TOUPPER ${name} upper)
  find_path(WIRE_${upper}_INCLUDE_DIR ${header})
  find_library(WIRE_${upper}_LIBRARY ${library})
  mark_as_advanced(WIRE_${upper}_INCLUDE_DIR WIRE_${upper}_LIBRARY)
  if(NOT WIRE_${upper}_INCLUDE_DIR OR NOT WIRE_${upper}_LIBRARY)
    set(WIRE_${upper}_FOUND OFF PARENT_SCOPE)
    return()
  endif()
  set(WIRE_${upper}_FOUND ON PARENT_SCOPE)
  if(NOT TARGET wire_decoders::${name})
    add_library(wire_decoders::${name} UNKNOWN IMPORTED)
    set_target_properties(wire_decoders::${name} PROPERTIES IMPORTED_LOCATION "${WIRE_${upper}_LIBRARY}"
      INTERFACE_INCLUDE_DIRECTORIES "${WIRE_${upper}_INCLUDE_DIR}")
  endif()
endfunction()

wire_find_decoder(brotli brotli/decode.h brotlidec)
wire_find_decoder(zstd zstd.h zstd)
