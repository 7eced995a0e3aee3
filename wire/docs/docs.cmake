# The reference, from the headers' comments and the guides: build/.../wire/docs/html/index.html. Any warning fails it.
find_program(WIRE_DOXYGEN doxygen)
find_package(Python3 COMPONENTS Interpreter QUIET)
if(WIRE_DOXYGEN AND Python3_FOUND)
  configure_file(docs/Doxyfile.in docs/Doxyfile @ONLY)
  add_custom_target(wire_docs COMMAND ${WIRE_DOXYGEN} ${CMAKE_CURRENT_BINARY_DIR}/docs/Doxyfile
    WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} COMMENT "wire's reference" VERBATIM)
endif()
