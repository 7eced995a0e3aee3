// WIRE_EXPORT marks what a shared wire exports; everything else in it is hidden. For a static wire
// it means nothing. wire's CMake package and wire.pc define WIRE_SHARED where wire is shared, for
// the library and for the programs that use it: both sides then agree on one type information of
// each class. A class is marked when a member of it is defined in the library, or virtual.
#pragma once

#ifdef WIRE_SHARED
#define WIRE_EXPORT [[gnu::visibility("default")]]
#else
#define WIRE_EXPORT
#endif
