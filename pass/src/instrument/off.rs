//! Marks the functions that carry probes when all optimisation is done. The code generator then gives each a second
//! body without them (`shim/off.cpp`), which runs while the module's switch is on.

use crate::llvm::Global;

/// What `shim/off.cpp` looks for.
pub const ATTRIBUTE: &str = "unseen-off";

/// Marks the functions that set counters. Returns whether there are any.
pub fn run(counters: Global) -> bool {
    let functions = counters.users();
    for function in &functions {
        function.add_own_attribute(ATTRIBUTE);
    }
    !functions.is_empty()
}
