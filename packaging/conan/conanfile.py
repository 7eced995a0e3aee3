"""The Conan recipe of wire, made from the sources of this checkout.

``conan create packaging/conan`` builds it, installs it into the cache, and runs a program that uses
it by ``find_package`` and by pkg-config. OpenSSL, zlib, brotli and zstd are those of the system:
where one that an option asks for is missing, Conan names the Debian package (or installs it, with
``-c tools.system.package_manager:mode=install``).
"""

import re
from pathlib import Path

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load
from conan.tools.system.package_manager import Apt

# The options, and for each the Debian package that it needs and the libraries that it links, in the
# order in which they are linked.
LIBRARIES = {
    "tls": ("libssl-dev", ["ssl", "crypto"]),
    "zlib": ("zlib1g-dev", ["z"]),
    "brotli": ("libbrotli-dev", ["brotlienc", "brotlidec", "brotlicommon"]),
    "zstd": ("libzstd-dev", ["zstd"]),
}


class Wire(ConanFile):
    name = "wire"
    description = "Lean event-driven HTTP/1.1 and WebSocket, server and client"
    license = "MIT"
    topics = ("http", "websocket", "server", "client", "tls")
    package_type = "static-library"
    settings = "os", "arch", "compiler", "build_type"
    options = {name: [True, False] for name in LIBRARIES}
    default_options = {"tls": True, "zlib": True, "brotli": False, "zstd": False}

    @property
    def _checkout(self):
        return Path(self.recipe_folder).parents[1]

    @property
    def _wanted(self):
        return [name for name in LIBRARIES if self.options.get_safe(name)]

    def set_version(self):
        text = load(self, self._checkout / "wire/CMakeLists.txt")
        self.version = re.search(r"project\(wire VERSION (\S+)", text)[1]

    def export_sources(self):
        copy(self, "LICENSE", self._checkout, self.export_sources_folder)
        for pattern in ("CMakeLists.txt", "*.cmake", "*.in", "src/*", "include/*"):
            copy(self, pattern, self._checkout / "wire", self.export_sources_folder)

    def layout(self):
        cmake_layout(self)

    def validate(self):
        check_min_cppstd(self, 20)

    def system_requirements(self):
        Apt(self).install([LIBRARIES[name][0] for name in self._wanted], check=True)

    def generate(self):
        toolchain = CMakeToolchain(self)
        for name in LIBRARIES:
            toolchain.cache_variables[f"WIRE_WITH_{name.upper()}"] = name in self._wanted
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build(target="wire")

    def package(self):
        copy(self, "LICENSE", self.source_folder, Path(self.package_folder) / "licenses")
        CMake(self).install(component="wire")

    def package_info(self):
        # find_package(wire) reads the CMake package that wire installs itself.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = ["lib/cmake/wire"]
        self.cpp_info.libs = ["wire"]
        self.cpp_info.system_libs = [
            library for name in self._wanted for library in LIBRARIES[name][1]
        ]
        self.cpp_info.system_libs.append("pthread")
