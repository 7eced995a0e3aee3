# The parts of wire that a build can leave out. Each is source files and public headers of its own: what the library is compiled with
# does not depend on it. Where one is missing, src/<part>_none has what the rest of the library calls, programs that use wire are
# compiled with WIRE_WITHOUT_<PART>, and its headers end in an #error.
#   wire_sources_<PART>  under src, without ".cpp"
#   wire_headers_<PART>  under include/wire, without ".hpp"
set(wire_parts FILES COOKIES MULTIPART TOPICS COROUTINES IO_URING)

option(WIRE_WITH_FILES "serve_files(), send_file(), download(), file_source()" ON)
set(wire_sources_FILES client/download client/file_source server/connection_file server/file_answer server/files server/send_file)
set(wire_headers_FILES client/download client/file_source server/files server/send_file)

option(WIRE_WITH_COOKIES "Cookies of the server, and the client's cookie jar" ON)
set(wire_sources_COOKIES client/cookie_jar proto/cookies server/cookies)
set(wire_headers_COOKIES client/cookie_jar proto/cookies)

option(WIRE_WITH_MULTIPART "multipart/form-data, read by the server and sent by the client" ON)
set(wire_sources_MULTIPART client/form_data proto/multipart server/multipart_form)
set(wire_headers_MULTIPART client/form_data proto/multipart)

option(WIRE_WITH_TOPICS "ws::topics: publish and subscribe" ON)
set(wire_sources_TOPICS websocket/topics)
set(wire_headers_TOPICS websocket/topics)

option(WIRE_WITH_COROUTINES "Coroutines: task, handlers and client" ON)
set(wire_sources_COROUTINES client/channel client/reply_stream server/coroutine)
set(wire_headers_COROUTINES client/coroutine client/reply_stream loop/run_in loop/stop loop/task server/coroutine)

option(WIRE_WITH_IO_URING "The io_uring engine of loops; without it there is epoll" ON)
set(wire_sources_IO_URING loop/uring loop/uring_engine loop/uring_streams)
set(wire_headers_IO_URING "")

# Sets `stand_ins` to the files of src/<part>_none.
function(find_stand_ins part stand_ins)
  string(TOLOWER ${part} folder)
  file(GLOB found CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/src/${folder}_none/*.cpp)
  set(${stand_ins} ${found} PARENT_SCOPE)
endfunction()

# Removes from the list named `sources` those of a part, or its stand-ins where the part is there.
function(choose_sources part sources)
  if(WIRE_WITH_${part})
    find_stand_ins(${part} without)
  else()
    set(without ${wire_sources_${part}})
    list(TRANSFORM without REPLACE "(.+)" "${CMAKE_CURRENT_SOURCE_DIR}/src/\\1.cpp")
  endif()
  list(REMOVE_ITEM ${sources} ${without})
  set(${sources} ${${sources}} PARENT_SCOPE)
endfunction()

# Sets `users` to those of the files that follow which include a header of the part.
function(find_users part users)
  set(found "")
  list(JOIN wire_headers_${part} "|" headers)
  if(headers)
    foreach(file IN LISTS ARGN)
      file(STRINGS ${file} included REGEX "^#include \"wire/(${headers})[.]hpp\"")
      if(included)
        list(APPEND found ${file})
      endif()
    endforeach()
  endif()
  set(${users} ${found} PARENT_SCOPE)
endfunction()

# Removes from the list named `programs` what uses a part that is missing.
function(leave_out_users programs)
  foreach(part IN LISTS wire_parts)
    if(NOT WIRE_WITH_${part})
      find_users(${part} users ${${programs}})
      list(REMOVE_ITEM ${programs} ${users})
    endif()
  endforeach()
  set(${programs} ${${programs}} PARENT_SCOPE)
endfunction()

# Sets `part` to the part that a source file or test belongs to or uses, TLS and CODINGS (gzip, br,
# zstd) among them, or to nothing.
function(find_part source part)
  set(${part} "" PARENT_SCOPE)
  if(source MATCHES "/src/tls/")
    set(${part} TLS PARENT_SCOPE)
  elseif(source MATCHES "/src/proto/(compression(_test)?|(br|zstd)_(un)?packer)[.]cpp$")
    set(${part} CODINGS PARENT_SCOPE)
  else()
    foreach(one IN LISTS wire_parts)
      string(REGEX REPLACE "^.*/src/(.*)[.]cpp$" "\\1" name ${source})
      set(users "")
      if(name MATCHES "_test$")
        find_users(${one} users ${source})
      endif()
      if(name IN_LIST wire_sources_${one} OR users)
        set(${part} ${one} PARENT_SCOPE)
      endif()
    endforeach()
  endif()
endfunction()

# Where several files are compiled in one go (CMAKE_UNITY_BUILD): `most` at a time, those of each
# part apart, in groups whose names begin with left_out_<PART>_. What links without a part leaves these
# out.
function(compile_in_groups target most)
  if(NOT CMAKE_UNITY_BUILD)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    find_part(${source} part)
    if(part)
      set(name left_out_${part})
    else()
      set(name core)
    endif()
    if(NOT DEFINED count_${name})
      set(count_${name} 0)
    endif()
    math(EXPR number "${count_${name}} / ${most}")
    math(EXPR count_${name} "${count_${name}} + 1")
    set_property(SOURCE ${source} PROPERTY UNITY_GROUP ${name}_${number})
  endforeach()
endfunction()
