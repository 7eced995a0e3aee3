// What is said of a function that needs a part which this wire was built without: whoever calls it
// is told the option, when that is compiled. wire's CMake package and wire.pc define
// WIRE_WITHOUT_<part> where the part is missing; its own headers then end in an #error.
#pragma once

#ifdef WIRE_WITHOUT_FILES
#define WIRE_NEEDS_FILES \
    __attribute__((unavailable("this wire was built without files: WIRE_WITH_FILES=OFF")))
#else
#define WIRE_NEEDS_FILES
#endif

#ifdef WIRE_WITHOUT_COOKIES
#define WIRE_NEEDS_COOKIES \
    __attribute__((unavailable("this wire was built without cookies: WIRE_WITH_COOKIES=OFF")))
#else
#define WIRE_NEEDS_COOKIES
#endif

#ifdef WIRE_WITHOUT_MULTIPART
#define WIRE_NEEDS_MULTIPART \
    __attribute__((unavailable("this wire was built without it: WIRE_WITH_MULTIPART=OFF")))
#else
#define WIRE_NEEDS_MULTIPART
#endif
