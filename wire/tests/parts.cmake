# Whether a program that uses a part of wire which is missing is told so by the compiler, with the option's name.
#   cmake -D compiler=CXX -D source=WIRE_FOLDER -D scratch=FOLDER -P parts.cmake
include(${source}/parts.cmake)

# Expects that `code` does not compile without `part`, and is told why.
function(expect_refused part code)
  file(WRITE ${scratch}/refused.cpp "${code}\n")
  execute_process(COMMAND ${compiler} -std=c++20 -fsyntax-only -DWIRE_WITHOUT_${part} -I ${source}/include ${ARGN} ${scratch}/refused.cpp
    RESULT_VARIABLE status OUTPUT_QUIET ERROR_VARIABLE said)
  if(status EQUAL 0)
    message(FATAL_ERROR "this compiles with WIRE_WITH_${part}=OFF:\n${code}")
  elseif(NOT said MATCHES "WIRE_WITH_${part}=")
    message(FATAL_ERROR "with WIRE_WITH_${part}=OFF this is refused without the option's name:\n${code}\n${said}")
  endif()
endfunction()

foreach(part IN LISTS wire_parts)
  foreach(header IN LISTS wire_headers_${part})
    expect_refused(${part} "#include <wire/${header}.hpp>" -E -o ${scratch}/refused.i)
  endforeach()
endforeach()
expect_refused(FILES "#include <wire/server/server.hpp>\nvoid f(wire::http::response r) { r.send_file(\"a\"); }")
expect_refused(COOKIES "#include <wire/server/response.hpp>\nvoid f(wire::http::response& r, const wire::http::set_cookie& c) { r.cookie(c); }")
expect_refused(COOKIES "#include <wire/server/forms.hpp>\nvoid f(const wire::http::request& r) { (void)wire::http::cookies(r); }")
expect_refused(MULTIPART "#include <wire/server/forms.hpp>\nvoid f(const wire::http::request& r) { (void)wire::http::multipart_form(r); }")
