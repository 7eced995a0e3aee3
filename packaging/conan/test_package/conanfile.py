"""Builds and runs the consumer of wire's own tests against the package."""

import os

from conan import ConanFile
from conan.tools.cmake import CMake, cmake_layout


class Consumer(ConanFile):
    settings = "os", "arch", "compiler", "build_type"
    generators = "CMakeToolchain", "CMakeDeps", "PkgConfigDeps", "VirtualRunEnv"

    def requirements(self):
        self.requires(self.tested_reference_str)

    def layout(self):
        cmake_layout(self)

    def build(self):
        cmake = CMake(self)
        cmake.configure(build_script_folder="../../../wire/tests/consumer")
        cmake.build()

    def test(self):
        for program in ("by_package", "by_pkg_config"):
            self.run(os.path.join(self.cpp.build.bindir, program), env="conanrun")
