# Programs that need nothing of the machine they run on (WIREBENCH_STATIC): all libraries, libc included, are linked into them.
# Included before anything is searched for. The GNU libc's getaddrinfo() would load the machine's own modules for host names, which
# the linker warns of; WIREBENCH_STATIC is a definition for programs too, so that they can forbid it.
set(WIREBENCH_FMT fmt::fmt)
if(NOT WIREBENCH_STATIC)
  return()
endif()
if(BUILD_SHARED_LIBS)
  message(FATAL_ERROR "WIREBENCH_STATIC: expected BUILD_SHARED_LIBS to be off, got ${BUILD_SHARED_LIBS}")
endif()
set(WIREBENCH_FMT fmt::fmt-header-only)  # Debian has no static library of it
set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
set(OPENSSL_USE_STATIC_LIBS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
add_compile_definitions(WIREBENCH_STATIC)
add_link_options(-static-pie)

# Writes the licences of what is linked into a static program: ours, and those of Debian's packages.
function(write_licences file)
  file(READ "${PROJECT_SOURCE_DIR}/LICENSE" text)
  string(PREPEND text "This program is under the following licence. Those of the libraries that are linked into it follow.\n\n")
  foreach(package IN ITEMS libc6 libstdc++6 libssl-dev zlib1g-dev libbrotli-dev libzstd-dev libre2-dev libfmt-dev libcli11-dev
      nlohmann-json3-dev)
    if(NOT EXISTS "/usr/share/doc/${package}/copyright")
      message(FATAL_ERROR "WIREBENCH_STATIC: expected the licence /usr/share/doc/${package}/copyright, got none; "
        "static programs are built on Debian or Ubuntu, with ${package} installed")
    endif()
    file(READ "/usr/share/doc/${package}/copyright" licence)
    string(APPEND text "\n\n--- ${package}\n\n${licence}")
  endforeach()
  file(WRITE "${file}" "${text}")
endfunction()
