# Run by CPack on what it is about to pack: adds the files that a package of Debian's has, and compresses its manual pages.
function(write_compressed file text)
  file(WRITE "${file}" "${text}")
  execute_process(COMMAND gzip -9n "${file}" COMMAND_ERROR_IS_FATAL ANY)
endfunction()

string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)  # of SOURCE_DATE_EPOCH, where that is set
foreach(component IN ITEMS WIRELOAD WIRE)
  string(TOLOWER ${component} folder)
  set(root "${CPACK_TEMPORARY_DIRECTORY}/${folder}/usr")
  if(NOT IS_DIRECTORY "${root}")
    continue()
  endif()
  set(package "${CPACK_DEBIAN_${component}_PACKAGE_NAME}")
  set(doc "${root}/share/doc/${package}")
  write_compressed("${doc}/changelog" "${package} (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium

  * Version ${CPACK_PACKAGE_VERSION}; the project's CHANGELOG.md says what is in it.

 -- ${CPACK_PACKAGE_CONTACT}  ${date}
")
  file(GLOB pages "${root}/share/man/man1/*.1")
  foreach(page IN LISTS pages)
    execute_process(COMMAND gzip -9n "${page}" COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
  if(component STREQUAL "WIRE")
    configure_file("${CPACK_WIREBENCH_LICENSE}" "${doc}/copyright" COPYONLY)
  else()
    file(RENAME "${root}/share/zsh/site-functions" "${root}/share/zsh/vendor-completions")
    # One program for every release of Debian and Ubuntu.
    file(WRITE "${root}/share/lintian/overrides/${package}" "${package}: statically-linked-binary\n${package}: embedded-library\n")
  endif()
  file(CHMOD_RECURSE "${root}/share" FILE_PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ
    DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
endforeach()
