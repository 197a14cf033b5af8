//! The allocator that the linker gets: it keeps the C library's promises, and nobody else gets it.

mod toolbox;

use toolbox::{Place, root, tools};

#[test]
fn it_does_what_the_c_library_promises() {
    let place = Place::new();
    let source = root().join("testdata/programs/c/malloc/every_function.c");
    place.shell(&format!("clang-22 -O1 -fno-builtin -pthread {} -o p", source.display())).fine();
    let library = tools().join("libunseen_malloc.so");
    assert_eq!(place.run_with("./p", &[("LD_PRELOAD", library.to_str().unwrap())]).fine().stdout, "fine\n");
}

#[test]
fn the_linker_gets_it_and_the_compiler_does_not() {
    let place = Place::new();
    place.write("main.c", "int main(void) { return 0; }\n");
    let log = |line: &str, env: &[(&str, &str)]| {
        let env: Vec<_> = env.iter().copied().chain([("UNSEEN_LOG", "on")]).collect();
        place.run_with(line, &env).fine().stderr
    };
    let linked = log("unseen-clang main.c -o prog", &[]);
    assert!(linked.contains("LD_PRELOAD=") && linked.contains("libunseen_malloc.so"), "{linked}");
    assert!(linked.contains("MIMALLOC_PURGE_DELAY=-1"), "{linked}");
    // As the dynamic loader saw it.
    let script = "LD_DEBUG=bindings LD_DEBUG_OUTPUT=$PWD/bound unseen-clang main.c -o prog || exit
        for file in bound.*; do
            grep -q 'ld.lld .0. to' $file && grep -q 'libLLVM.* to .*/libunseen_malloc.so .*`malloc.' $file && echo $file
        done | grep .";
    place.shell(script).fine();
    let compiled = log("unseen-clang -c main.c", &[]);
    assert!(!compiled.contains("LD_PRELOAD"), "{compiled}");
    // Who preloads something else, be it nothing, keeps that.
    let preloaded = log("unseen-clang main.c -o prog", &[("LD_PRELOAD", "")]);
    assert!(!preloaded.contains("LD_PRELOAD"), "{preloaded}");
}
