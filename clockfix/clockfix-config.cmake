# SPDX-License-Identifier: LGPL-2.1-or-later
# find_package(clockfix CONFIG) and target_link_libraries(... PkgConfig::clockfix)
include(CMakeFindDependencyMacro)
find_dependency(PkgConfig)
pkg_check_modules(clockfix REQUIRED IMPORTED_TARGET GLOBAL clockfix)
