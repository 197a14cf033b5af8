//! Projects of autoconf, CMake and Meson configure, build and pass their tests with our compilers.

mod toolbox;

use toolbox::{Place, tools};

const LIBRARY: &str = "#include \"half.h\"\nint half(int x) { if (x % 2) return -1; return x / 2; }\n";
const HEADER: &str = "#ifdef __cplusplus\nextern \"C\"\n#endif\nint half(int x);\n";
const MAIN: &str =
    "#include \"half.h\"\n#include <stdio.h>\nint main(void) { printf(\"%d\\n\", half(8)); return half(8) != 4; }\n";
const CPP: &str =
    "#include \"half.h\"\n#include <string>\nint main() { return std::string(4, 'x').size() != (unsigned)half(8); }\n";

fn sources() -> Place {
    let place = Place::new();
    place.write("half.c", LIBRARY);
    place.write("half.h", HEADER);
    place.write("main.c", MAIN);
    place.write("check.cpp", CPP);
    place
}

#[test]
fn autoconf_automake_and_libtool() {
    let place = sources();
    place.write(
        "configure.ac",
        "AC_INIT([half], [1.0])\nAM_INIT_AUTOMAKE([foreign subdir-objects])\nAC_PROG_CC\nAC_PROG_CXX\nAM_PROG_AR\nLT_INIT\n\
         AC_CONFIG_HEADERS([config.h])\nAC_CHECK_HEADERS([unistd.h no_such.h])\nAC_CHECK_FUNCS([fork no_such_function])\n\
         AC_CHECK_SIZEOF([long])\nAC_C_BIGENDIAN\nAC_C_INLINE\nAC_SEARCH_LIBS([sin], [m])\nAC_CONFIG_FILES([Makefile])\nAC_OUTPUT\n",
    );
    place.write(
        "Makefile.am",
        "lib_LTLIBRARIES = libhalf.la\nlibhalf_la_SOURCES = half.c half.h\nnoinst_LTLIBRARIES = libconv.la\n\
         libconv_la_SOURCES = half.c\nbin_PROGRAMS = main conv\nmain_SOURCES = main.c\nmain_LDADD = libhalf.la\n\
         conv_SOURCES = main.c\nconv_LDADD = libconv.la\ncheck_PROGRAMS = verify\nverify_SOURCES = check.cpp\n\
         verify_LDADD = libhalf.la\nTESTS = verify main conv\n",
    );
    place.shell("autoreconf -i >autoreconf.log 2>&1").fine();
    place
        .shell(
            "./configure CC=unseen-clang CXX=unseen-clang++ AR=unseen-ar NM=unseen-nm RANLIB=unseen-ranlib >log 2>&1",
        )
        .fine();
    let config = std::fs::read_to_string(place.path("config.h")).unwrap();
    for line in ["#define HAVE_UNISTD_H 1", "#define HAVE_FORK 1", "#define SIZEOF_LONG 8"] {
        assert!(config.contains(line), "{line}\n{config}");
    }
    for line in ["HAVE_NO_SUCH_H 1", "HAVE_NO_SUCH_FUNCTION 1", "#  define WORDS_BIGENDIAN 1\n# endif\n#define"] {
        assert!(!config.contains(line), "{line}");
    }
    place.shell("make -s -j3 check >log 2>&1 || { cat log test-suite.log; exit 1; }").fine();
    for file in ["conv", ".libs/main", ".libs/libhalf.so", ".libs/verify"] {
        assert!(place.instrumented(file), "{file}");
    }
    assert_eq!(place.function("conv", "half").as_deref(), Some("cover"));
    let staged = place.path("staged").display().to_string();
    place.shell(&format!("make -s install-strip DESTDIR={staged} >log 2>&1 || {{ cat log; exit 1; }}")).fine();
}

#[test]
fn cmake() {
    let place = sources();
    place.write(
        "CMakeLists.txt",
        "cmake_minimum_required(VERSION 3.16)\nproject(half C CXX)\nenable_testing()\ninclude(CheckCSourceRuns)\n\
         include(CheckIPOSupported)\ninclude(CheckFunctionExists)\ncheck_function_exists(fork HAVE_FORK)\n\
         check_function_exists(no_such_function HAVE_NOTHING)\nif(NOT HAVE_FORK OR HAVE_NOTHING)\nmessage(FATAL_ERROR probes)\nendif()\n\
         check_c_source_runs(\"int main(void) { return sizeof(void *) != 8; }\" RUNS)\nif(NOT RUNS)\nmessage(FATAL_ERROR runs)\nendif()\n\
         add_library(half STATIC half.c)\nadd_library(shared SHARED half.c)\nadd_executable(main main.c)\n\
         target_link_libraries(main half)\nadd_executable(check check.cpp)\ntarget_link_libraries(check shared)\n\
         add_test(NAME main COMMAND main)\nadd_test(NAME check COMMAND check)\n",
    );
    let toolchain = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("share/unseen.cmake");
    let toolchain = format!("-DCMAKE_TOOLCHAIN_FILE={}", toolchain.display());
    let compilers = "-DCMAKE_C_COMPILER=unseen-clang -DCMAKE_CXX_COMPILER=unseen-clang++";
    for (how, dir) in [(toolchain.as_str(), "b1"), (compilers, "b2")] {
        let lto = if dir == "b2" { "-DCMAKE_INTERPROCEDURAL_OPTIMIZATION=ON" } else { "" };
        place
            .shell(&format!(
                "cmake -S . -B {dir} {how} {lto} -DCMAKE_BUILD_TYPE=Release >log 2>&1 || {{ cat log; exit 1; }}"
            ))
            .fine();
        place.shell(&format!("cmake --build {dir} -j2 >log 2>&1 || {{ cat log; exit 1; }}")).fine();
        place.shell(&format!("cd {dir} && ctest --output-on-failure")).fine();
        for file in ["main", "libshared.so", "check"] {
            assert!(place.instrumented(&format!("{dir}/{file}")), "{dir}/{file}");
        }
        assert_eq!(place.function(&format!("{dir}/main"), "half").as_deref(), Some("cover"));
    }
    let cache = std::fs::read_to_string(place.path("b1/CMakeCache.txt")).unwrap();
    assert!(cache.contains(&format!("{}/unseen-ar", tools().display())), "the toolchain file names our archiver");
}

/// With nothing but CC and CXX, and an LLVM on the PATH that knows no bitcode of ours.
#[test]
fn cmake_without_a_toolchain_file_finds_our_tools() {
    let place = sources();
    place.write(
        "CMakeLists.txt",
        "cmake_minimum_required(VERSION 3.16)\nproject(half C CXX)\nadd_library(half STATIC half.c)\n\
         add_executable(main main.c)\ntarget_link_libraries(main half)\ninstall(TARGETS main)\n",
    );
    for tool in ["ar", "ranlib", "nm", "strip"] {
        let old = format!("old/llvm-{tool}");
        place.write(&old, "#!/bin/sh\necho \"$0 is of another LLVM\" >&2\nexit 1\n");
        place.shell(&format!("chmod +x {old}")).fine();
    }
    let log = ">log 2>&1 || { cat log; exit 1; }";
    let path = "PATH=$PWD/old:$PATH";
    place.shell(&format!("{path} CC=unseen-clang CXX=unseen-clang++ cmake -B b {log}")).fine();
    place.shell(&format!("{path} cmake --build b {log}")).fine();
    place.shell(&format!("{path} DESTDIR=$PWD/staged cmake --install b --strip --prefix /usr {log}")).fine();
    // Stripped, it still says what it is.
    assert_eq!(place.function("staged/usr/bin/main", "half").as_deref(), Some("cover"));
    let cache = std::fs::read_to_string(place.path("b/CMakeCache.txt")).unwrap();
    for tool in ["ar", "ranlib", "nm", "strip"] {
        let line = format!("CMAKE_{}:FILEPATH={}/unseen-llvm-{tool}\n", tool.to_uppercase(), tools().display());
        assert!(cache.contains(&line), "{line:?} is not in the cache");
    }
}

#[test]
fn meson() {
    let place = sources();
    place.write(
        "meson.build",
        "project('half', 'c', 'cpp', default_options: ['buildtype=release', 'cpp_std=c++17'])\n\
         cc = meson.get_compiler('c')\nassert(cc.get_id() == 'clang')\nassert(cc.sizeof('long') == 8)\n\
         assert(cc.has_function('fork'))\nassert(not cc.has_function('no_such_function'))\n\
         assert(cc.run('int main(void) { return 0; }').returncode() == 0)\n\
         half = static_library('half', 'half.c')\nshared = shared_library('shared', 'half.c')\n\
         main = executable('main', 'main.c', link_with: half)\ncheck = executable('check', 'check.cpp', link_with: shared)\n\
         test('main', main)\ntest('check', check)\n",
    );
    let set = "CC=unseen-clang CXX=unseen-clang++ AR=unseen-ar STRIP=unseen-strip";
    for (dir, options) in [("b1", ""), ("b2", "-Db_lto=true")] {
        place.shell(&format!("{set} meson setup {dir} {options} >log 2>&1 || {{ cat log; exit 1; }}")).fine();
        place
            .shell(&format!("ninja -C {dir} -j2 >log 2>&1 || {{ cat log; exit 1; }}; meson test -C {dir} --no-rebuild"))
            .fine();
        for file in ["main", "libshared.so", "check"] {
            assert!(place.instrumented(&format!("{dir}/{file}")), "{dir}/{file}");
        }
        assert_eq!(place.function(&format!("{dir}/main"), "half").as_deref(), Some("cover"));
    }
}
