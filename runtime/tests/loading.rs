//! Executables and shared objects in one process: one runtime where the dynamic linker lets it be one, several where not.

mod support;
use std::path::PathBuf;
use support::{Bench, Counts, End, Store};
use unseen_abi::hooks;

/// A shared object with module id `ID` that hits what it is told, and says where its hook is.
const PLUGIN: &str = "
    #include \"module.h\"
    __attribute__((visibility(\"default\"))) void plugin_hit(unsigned i) { hit(i); }
    __attribute__((visibility(\"default\"))) void *plugin_hook(void) { return (void *)&__unseen_abi_v1; }";

const PLUGIN_FLAGS: [&str; 4] = ["-shared", "-fPIC", "-Wl,-z,defs", "-DID=0xcc"];

/// What every host begins with.
const HOST: &str = "
    #include <dlfcn.h>
    #include <pthread.h>
    #include <stdio.h>
    #include <stdlib.h>
    #include <sys/wait.h>
    #include <unistd.h>
    typedef void hit_function(unsigned);
    typedef void *hook_function(void);
    static void *load(const char *path) {
      void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
      if (!plugin) { puts(dlerror()); exit(98); }
      return plugin;
    }
    static void plugin_hit(void *plugin, unsigned i) { ((hit_function *)dlsym(plugin, \"plugin_hit\"))(i); }
    static void *plugin_hook(void *plugin) { return ((hook_function *)dlsym(plugin, \"plugin_hook\"))(); }
    /* The child hits 2 in the plug-in (if there is one) and ends. */
    static void fork_and_wait(void *plugin) {
      int status, pid = fork();
      if (pid == 0) { if (plugin) plugin_hit(plugin, 2); _exit(0); }
      if (waitpid(pid, &status, 0) != pid || status) exit(97);
    }";

/// The flags that make an executable export its hooks: what whoever links executables must pass.
fn export_hooks() -> Vec<String> {
    hooks::BASIC.iter().map(|hook| format!("-Wl,--export-dynamic-symbol={}", hook.symbol)).collect()
}

fn build(bench: &Bench, main: &str, flags: &[String]) -> PathBuf {
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    bench.build("host", &format!("{HOST}\n{main}"), &flags)
}

/// Paths and hits, in the order in which the files were made.
fn found(counts: &[Counts]) -> Vec<(&str, Vec<usize>)> {
    counts.iter().map(|c| (c.path.file_name().unwrap().to_str().unwrap(), c.hits())).collect()
}

#[test]
fn an_executable_and_its_libraries_have_one_runtime() {
    let bench = Bench::new();
    let library = bench.build("libplugin.so", PLUGIN, &PLUGIN_FLAGS);
    let main = "
        #include \"module.h\"
        void *plugin_hook(void);
        void plugin_hit(unsigned);
        int main(void) {
          hit(1);
          plugin_hit(3);
          return plugin_hook() == (void *)&__unseen_abi_v1;
        }";
    for flags in [vec![], export_hooks()] {
        let mut flags = flags;
        flags.push(library.display().to_string());
        flags.push(format!("-Wl,-rpath,{}", library.parent().unwrap().display()));
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let host = bench.build("host", main, &flags);
        let store = Store::new();
        store.run(&host, End::Exit(1));
        assert_eq!(found(&store.counts()), [("libplugin.so", vec![3]), ("host", vec![1])]);
    }
}

/// Loads a plug-in, forks with it, unloads it, forks without it.
const LOADING: &str = "
    #include \"module.h\"
    int main(int argc, char **argv) {
      (void)argc;
      hit(1);
      void *plugin = load(argv[1]);
      plugin_hit(plugin, 5);
      int is_same = plugin_hook(plugin) == (void *)&__unseen_abi_v1;
      fork_and_wait(plugin);
      if (dlclose(plugin)) return 96;
      if (dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD)) return 95;
      fork_and_wait(0);
      hit(4);
      return is_same;
    }";

#[test]
fn a_plug_in_uses_the_runtime_that_the_executable_exports() {
    let bench = Bench::new();
    let plugin = bench.build("plugin.so", PLUGIN, &PLUGIN_FLAGS);
    let host = build(&bench, LOADING, &export_hooks());
    let store = Store::new();
    support::run(store.command(host).arg(plugin), End::Exit(1));
    // The second child finds only the executable.
    let mut counts = store.counts();
    assert_eq!(counts.len(), 5);
    counts.sort_by_key(|c| (c.pid, c.path.clone()));
    let hits =
        [("host", vec![1, 4]), ("plugin.so", vec![5]), ("host", vec![]), ("plugin.so", vec![2]), ("host", vec![])];
    assert_eq!(found(&counts), hits);
}

#[test]
fn a_plug_in_with_its_own_runtime_records_as_well() {
    let bench = Bench::new();
    let script = bench.path("hide.map");
    std::fs::write(&script, "{ global: plugin_*; local: *; };").unwrap();
    let script = format!("-Wl,--version-script={}", script.display());
    let plain = bench.build("plain.so", PLUGIN, &PLUGIN_FLAGS);
    let hidden = bench.build("hidden.so", PLUGIN, &[&PLUGIN_FLAGS[..], &[&script]].concat());
    let symbolic = bench.build("symbolic.so", PLUGIN, &[&PLUGIN_FLAGS[..], &["-Wl,-Bsymbolic"]].concat());
    let closed = build(&bench, LOADING, &[]);
    let open = bench.path("open");
    std::fs::copy(&closed, bench.path("closed")).unwrap();
    std::fs::copy(build(&bench, LOADING, &export_hooks()), &open).unwrap();
    for (host, plugin) in [("closed", plain), ("open", hidden), ("open", symbolic)] {
        let store = Store::new();
        support::run(store.command(bench.path(host)).arg(&plugin), End::Exit(0));
        let mut counts = store.counts();
        let name = plugin.file_name().unwrap().to_str().unwrap();
        counts.sort_by_key(|c| (c.pid, c.id != support::id(0xab)));
        let hits = [(host, vec![1, 4]), (name, vec![5]), (host, vec![]), (name, vec![2]), (host, vec![])];
        assert_eq!(found(&counts), hits, "{host} {name}");
    }
}

#[test]
fn a_plug_in_in_a_host_without_instrumentation_leaves_nothing_behind() {
    let bench = Bench::new();
    let plugin = bench.build("plugin.so", PLUGIN, &PLUGIN_FLAGS);
    // Its runtime goes with it: a fork handler that stayed would be a jump into nothing.
    let host = build(
        &bench,
        "int main(int argc, char **argv) {
          (void)argc;
          for (int i = 0; i < 3; i++) {
            void *plugin = load(argv[1]);
            plugin_hit(plugin, 7);
            fork_and_wait(plugin);
            dlclose(plugin);
            if (dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD)) return 95;
            fork_and_wait(0);
          }
          return 0;
        }",
        &[],
    );
    let store = Store::new();
    support::run(store.command(host).arg(plugin), End::Exit(0));
    let mut hits: Vec<_> = store.counts().iter().map(Counts::hits).collect();
    hits.sort();
    assert_eq!(hits, [[2], [2], [2], [7], [7], [7]]);
}

#[test]
fn a_plug_in_that_comes_back_is_recorded_again() {
    let bench = Bench::new();
    let plugin = bench.build("plugin.so", PLUGIN, &PLUGIN_FLAGS);
    let host = build(
        &bench,
        "#include \"module.h\"
        int main(int argc, char **argv) {
          (void)argc;
          for (unsigned i = 0; i < 9; i++) { void *plugin = load(argv[1]); plugin_hit(plugin, i); dlclose(plugin); }
          return 0;
        }",
        &export_hooks(),
    );
    let store = Store::new();
    support::run(store.command(host).arg(plugin), End::Exit(0));
    let counts = store.counts();
    let hits: Vec<_> = counts[1..].iter().map(Counts::hits).collect();
    assert_eq!(hits, (0..9).map(|i| vec![i]).collect::<Vec<_>>());
}

#[test]
fn threads_load_plug_ins_and_fork_at_once() {
    let bench = Bench::new();
    let plugin = bench.build("plugin.so", PLUGIN, &PLUGIN_FLAGS);
    let mut plugins = Vec::new();
    for i in 0..8 {
        let copy = bench.path(&format!("plugin{i}.so"));
        std::fs::copy(&plugin, &copy).unwrap();
        plugins.push(copy);
    }
    let host = build(
        &bench,
        "#include \"module.h\"
        static void *thread(void *path) {
          for (int i = 0; i < 10; i++) {
            void *plugin = load(path);
            plugin_hit(plugin, 6);
            __unseen_cover_reset();
            plugin_hit(plugin, 5);
            int status, pid = fork();
            if (pid == 0) _exit(0);
            if (waitpid(pid, &status, 0) != pid || status) abort();
            dlclose(plugin);
          }
          return 0;
        }
        int main(int argc, char **argv) {
          pthread_t ids[8];
          for (int i = 1; i < argc; i++) pthread_create(&ids[i - 1], 0, thread, argv[i]);
          for (int i = 1; i < argc; i++) pthread_join(ids[i - 1], 0);
          return 0;
        }",
        &export_hooks(),
    );
    let store = Store::new();
    support::run(store.command(host).args(plugins), End::Exit(0));
    let counts = store.counts();
    // Of the host: itself and 80 children. Of plug-ins: 80 times loaded, and whatever a child found loaded.
    assert_eq!(counts.iter().filter(|c| c.id == support::id(0xab)).count(), 81);
    let host = counts.iter().find(|c| c.id == support::id(0xab)).unwrap().pid;
    assert_eq!(counts.iter().filter(|c| c.id != support::id(0xab) && c.pid == host).count(), 80);
    assert_eq!(store.dropped(), []);
    assert_eq!(store.events().len(), counts.len());
}

#[test]
fn a_plug_in_loaded_behind_a_filter_is_let_be() {
    let bench = Bench::new();
    let plugin = bench.build("plugin.so", PLUGIN, &PLUGIN_FLAGS);
    let host = build(
        &bench,
        "#include \"filter.h\"
        #include \"module.h\"
        int main(int argc, char **argv) {
          (void)argc;
          forbid(SYS_mkdirat), forbid(SYS_fallocate), forbid(SYS_prlimit64);
          plugin_hit(load(argv[1]), 3);
          hit(1);
          return 0;
        }",
        &export_hooks(),
    );
    let store = Store::new();
    support::run(store.command(host).arg(plugin), End::Exit(0));
    assert_eq!(found(&store.counts()), [("host", vec![1])]);
}

#[test]
fn hundreds_of_modules_in_one_program() {
    let store = Bench::new().run(
        "#include \"module.h\"
        #include <sys/mman.h>
        #include <sys/wait.h>
        #include <unistd.h>
        enum { MANY = 600 };
        static struct module_record records[MANY];
        int main(void) {
          for (int i = 0; i < MANY; i++) {
            records[i] = record;
            records[i].id[0] = (uint8_t)i;
            records[i].id[1] = (uint8_t)(i >> 8);
            records[i].counters = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            __unseen_abi_v1(&records[i]);
            records[i].counters[i % 10] = 1;
          }
          for (int i = 0; i < MANY; i += 2) __unseen_leave_v1(&records[i]);
          if (fork() == 0) { records[599].counters[0] = 1; _exit(0); }
          wait(0);
        }",
        End::Exit(0),
    );
    let counts = store.counts();
    // One for `record` itself in each process; the child does not see the 300 that left.
    assert_eq!(counts.len(), 601 + 301);
    for (i, c) in counts[1..601].iter().enumerate() {
        assert_eq!((c.id[..2].to_vec(), c.hits()), (vec![i as u8, (i >> 8) as u8], vec![i % 10]));
    }
    let hits: Vec<_> = counts[601..].iter().filter(|c| !c.hits().is_empty()).collect();
    assert_eq!((hits.len(), hits[0].hits(), hits[0].id[0]), (1, vec![0], (599 & 255) as u8));
}
