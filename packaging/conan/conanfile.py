"""The recipe of wire for Conan 2: `conan create packaging/conan` from a checkout.

OpenSSL, zlib, brotli and libzstd are the system's; `conan` says which packages to install.
"""

from __future__ import annotations

import re
from pathlib import Path

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy
from conan.tools.system.package_manager import Apt


class Wire(ConanFile):
    name = "wire"
    license = "MIT"
    description = "Lean event-driven HTTP/1.1 and WebSocket: server and client, with TLS"
    topics = ("http", "websocket", "server", "client")
    package_type = "library"
    settings = "os", "compiler", "build_type", "arch"
    options = {"shared": [True, False]}  # noqa: RUF012  # as Conan wants them
    default_options = {"shared": False}  # noqa: RUF012

    def set_version(self) -> None:
        text = (Path(self.recipe_folder) / "../../wire/CMakeLists.txt").read_text(encoding="utf-8")
        self.version = re.search(r"^project\(wire VERSION (\S+)", text, re.MULTILINE)[1]

    def export_sources(self) -> None:
        root = Path(self.recipe_folder) / "../.."
        copy(self, "*", root / "wire", Path(self.export_sources_folder) / "wire")
        copy(self, "LICENSE", root, self.export_sources_folder)

    def validate(self) -> None:
        check_min_cppstd(self, 20)

    def system_requirements(self) -> None:
        Apt(self).install(["libssl-dev", "zlib1g-dev", "libbrotli-dev", "libzstd-dev"], check=True)

    def layout(self) -> None:
        cmake_layout(self, src_folder="wire")

    def generate(self) -> None:
        CMakeToolchain(self).generate()
        CMakeDeps(self).generate()

    def build(self) -> None:
        cmake = CMake(self)
        cmake.configure()
        cmake.build(target="wire")

    def package(self) -> None:
        CMake(self).install(component="wire")
        licences = Path(self.package_folder) / "licenses"
        copy(self, "LICENSE", Path(self.source_folder).parent, licences)

    def package_info(self) -> None:
        # The package's own find_package(wire) and wire.pc know what it is linked with.
        self.cpp_info.builddirs = ["lib/cmake/wire"]
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.libs = ["wire"]
        self.cpp_info.system_libs = ["pthread"]
