//! Where our own files and the tools we call are, resolved once. Nothing is run here: paths and names tell enough,
//! because a compiler wrapper is started thousands of times.

use object::{Object as _, ObjectSymbol as _};
use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use unseen_abi::{hooks, options};

use crate::command::Failure;

/// The LLVM we work with.
pub const LLVM_MAJOR: u32 = 22;
/// Where Debian puts it.
const LLVM_DEFAULT: &str = "/usr/lib/llvm-22";
/// How to get it.
pub const LLVM_ADVICE: &str = "install llvm-22-dev, clang-22 and lld-22 (scripts/setup build does), \
    or set UNSEEN_LLVM to the prefix of LLVM 22";

/// Our own files.
#[derive(Clone, Debug)]
pub struct Own {
    /// Where `unseen` and its roles lie.
    pub bin: PathBuf,
    /// The pass.
    pub plugin: PathBuf,
    /// The runtime.
    pub runtime: PathBuf,
    /// The allocator that the linker gets.
    pub malloc: PathBuf,
    /// What C and C++ programs include.
    pub header: PathBuf,
    /// The toolchain file for CMake.
    pub cmake: PathBuf,
}

impl Own {
    /// Beside the running executable (development tree), or in the prefix it is installed in.
    pub fn find() -> Result<Own, Failure> {
        let exe = std::env::current_exe()
            .and_then(std::fs::canonicalize)
            .map_err(|e| Failure::environment(format!("the running executable can't be found: {e}")))?;
        Ok(Own::beside(exe.parent().unwrap_or(Path::new("/"))))
    }

    fn beside(bin: &Path) -> Own {
        let prefix = bin.parent().unwrap_or(bin);
        let installed = prefix.join("lib/unseen");
        if installed.is_dir() {
            return Own {
                plugin: installed.join("libunseen_pass.so"),
                runtime: installed.join("libunseen_rt.a"),
                malloc: installed.join("libunseen_malloc.so"),
                header: prefix.join("include/unseen.h"),
                cmake: prefix.join("share/unseen/unseen.cmake"),
                bin: bin.to_owned(),
            };
        }
        // target/release of the source tree, wherever the target directory is.
        let driver = Path::new(env!("CARGO_MANIFEST_DIR"));
        Own {
            plugin: bin.join("libunseen_pass.so"),
            runtime: bin.join("libunseen_rt.a"),
            malloc: bin.join("libunseen_malloc.so"),
            header: driver.with_file_name("runtime").join("include/unseen.h"),
            cmake: driver.join("share/unseen.cmake"),
            bin: bin.to_owned(),
        }
    }

    /// The path of one of our tools.
    pub fn tool(&self, role: &str) -> PathBuf {
        self.bin.join(role)
    }

    /// Plugin and runtime are there and of this version.
    pub fn check(&self) -> Result<(), Failure> {
        self.check_plugin()?;
        self.check_runtime()
    }

    /// The plugin is there and of this version.
    pub fn check_plugin(&self) -> Result<(), Failure> {
        let symbol = format!("unseen_pass_abi_v{}", unseen_abi::ABI_VERSION);
        let file = std::fs::File::open(&self.plugin).map_err(|e| own_file(&self.plugin, &e))?;
        // Only the symbols are read: the file is large, and links are many.
        let data = object::ReadCache::new(file);
        let file = object::File::parse(&data).map_err(|e| other_version(&self.plugin, &format!("no plugin: {e}")))?;
        if !file.dynamic_symbols().any(|s| s.name() == Ok(&symbol)) {
            return Err(other_version(&self.plugin, &format!("it does not define {symbol}")));
        }
        Ok(())
    }

    /// The runtime is there and of this version.
    pub fn check_runtime(&self) -> Result<(), Failure> {
        let data = std::fs::read(&self.runtime).map_err(|e| own_file(&self.runtime, &e))?;
        let symbol = hooks::ENTER.symbol;
        let archive = object::read::archive::ArchiveFile::parse(&*data)
            .map_err(|e| other_version(&self.runtime, &format!("no archive: {e}")))?;
        let defines = |data: &[u8]| {
            object::File::parse(data).is_ok_and(|f| f.symbols().any(|s| s.is_definition() && s.name() == Ok(symbol)))
        };
        let found = archive.members().filter_map(|m| m.ok()?.data(&*data).ok()).any(defines);
        if !found {
            return Err(other_version(&self.runtime, &format!("it does not define {symbol}")));
        }
        Ok(())
    }
}

fn own_file(path: &Path, error: &std::io::Error) -> Failure {
    Failure::environment(format!("{}: {error}", path.display()))
        .next("run scripts/build, or install again with scripts/unseen install --prefix DIR")
}

fn other_version(path: &Path, why: &str) -> Failure {
    let version = unseen_abi::ABI_VERSION;
    Failure::environment(format!("{} does not belong to this unseen (ABI {version}): {why}", path.display()))
        .next("run scripts/build, or install all of it again with scripts/unseen install --prefix DIR")
}

/// The tools of LLVM.
#[derive(Clone, Debug)]
pub struct Llvm {
    /// Its prefix.
    pub prefix: PathBuf,
}

impl Llvm {
    /// From `UNSEEN_LLVM`, `llvm-config-22` on the path, or where Debian puts it.
    pub fn find(env: &HashMap<OsString, OsString>) -> Result<Llvm, Failure> {
        if let Some(prefix) = env.get(&OsString::from(options::LLVM.name)) {
            let llvm = Llvm { prefix: PathBuf::from(prefix) };
            return llvm.check(options::LLVM.name).map(|()| llvm);
        }
        let named = format!("llvm-config-{LLVM_MAJOR}");
        let config = on_path(&named, env).and_then(|p| std::fs::canonicalize(p).ok());
        let prefix = match config.as_deref().and_then(Path::parent).and_then(Path::parent) {
            Some(prefix) if prefix.join("bin/clang").exists() => prefix.to_owned(),
            _ => PathBuf::from(LLVM_DEFAULT),
        };
        let llvm = Llvm { prefix };
        llvm.check("LLVM").map(|()| llvm)
    }

    /// The version is told by the directory of clang's own headers, which every installation has.
    fn check(&self, named_by: &str) -> Result<(), Failure> {
        let at = self.prefix.display();
        let fail = |what: String| Err(Failure::environment(what).next(LLVM_ADVICE));
        if !self.prefix.is_dir() {
            return fail(format!("{named_by}: no LLVM {LLVM_MAJOR} in {at}"));
        }
        if !self.prefix.join(format!("lib/clang/{LLVM_MAJOR}")).is_dir() {
            let found = std::fs::read_dir(self.prefix.join("lib/clang")).ok().and_then(|mut d| d.next()?.ok());
            let found = found.map_or("no clang".to_owned(), |f| format!("LLVM {}", f.file_name().display()));
            return fail(format!("{named_by}: {found} in {at}, but LLVM {LLVM_MAJOR} is needed"));
        }
        for tool in ["clang", "ld.lld"] {
            if !self.tool(tool).exists() {
                return fail(format!("{named_by}: {at} has no bin/{tool}"));
            }
        }
        Ok(())
    }

    /// The path of one of its tools.
    pub fn tool(&self, name: &str) -> PathBuf {
        self.prefix.join("bin").join(name)
    }
}

/// The first executable of that name on the path.
pub fn on_path(name: &str, env: &HashMap<OsString, OsString>) -> Option<PathBuf> {
    let path = env.get(&OsString::from("PATH"))?;
    std::env::split_paths(path).map(|dir| dir.join(name)).find(|p| is_executable(p))
}

/// Whether a file can be run.
pub fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata().is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(prefix: &Path) -> String {
        let env = HashMap::from([("UNSEEN_LLVM".into(), prefix.as_os_str().to_owned())]);
        Llvm::find(&env).err().map(|f| f.to_string()).unwrap_or_default()
    }

    #[test]
    fn a_missing_or_wrong_llvm_is_named() {
        let dir = tempfile::tempdir().unwrap();
        assert!(find(&dir.path().join("none")).contains("UNSEEN_LLVM: no LLVM 22 in"));
        assert!(find(dir.path()).contains("no clang in"));
        std::fs::create_dir_all(dir.path().join("lib/clang/15")).unwrap();
        assert!(find(dir.path()).contains("LLVM 15 in"));
        std::fs::create_dir_all(dir.path().join("lib/clang/22")).unwrap();
        assert!(find(dir.path()).contains("has no bin/clang"));
    }

    #[test]
    fn stale_files_of_ours_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let own = Own::beside(dir.path());
        assert!(own.check_plugin().unwrap_err().to_string().contains("scripts/build"));
        std::fs::write(&own.plugin, "junk").unwrap();
        assert!(own.check_plugin().unwrap_err().to_string().contains("does not belong"));
        std::fs::write(&own.runtime, "!<arch>\n").unwrap();
        assert!(own.check_runtime().unwrap_err().to_string().contains("does not define __unseen_abi_v1"));
    }

    #[test]
    fn an_installed_tree_is_recognised() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("lib/unseen")).unwrap();
        let own = Own::beside(&dir.path().join("bin"));
        assert_eq!(own.plugin, dir.path().join("lib/unseen/libunseen_pass.so"));
        assert_eq!(own.header, dir.path().join("include/unseen.h"));
    }
}
