//! Mechanism `state`: functions with tests ask, when they are called, whether a test is to be run.
//!
//! ```text
//! before                      after
//! define i32 @f(i32 %a) {     define i32 @f(i32 %a) {
//!   ...                         %open = load volatile i32, ptr @__unseen_state_gate
//!   ret i32 %v                  br i1 (%open != 0), label %ask, label %body
//! }                           ask:
//!                               %n = call i32 @__unseen_state_call(ptr @record, i32 0, ptr %words, i32 1)
//!                               br i1 (%n != 0), label %test, label %body
//!                             test:                            ; in a copy of the process
//!                               call void @run.f(i32 %n, i32 %a)
//!                               unreachable
//!                             body:
//!                               ...
//! ```
//!
//! `@run.f` calls the n-th test with the same arguments, and tells what it found (`shim/tests.cpp`).

use crate::analysis::attached::Found;
use crate::analysis::state::StatePlan;
use crate::llvm::tests::Asking;

/// Takes the descriptors out: else units would have their addresses taken, and tests would be code of the program.
pub fn detach(found: &Found) {
    for descriptor in &found.descriptors {
        descriptor.remove_descriptor();
    }
}

/// Carries the plan out.
pub fn run(plan: &StatePlan, asking: &Asking) {
    for (number, unit) in (0..).zip(&plan.units) {
        // What promises not to touch memory would be called less often than it is.
        for name in ["memory", "speculatable", "nocallback", "willreturn", "nosync"] {
            unit.function.remove_attribute(name);
        }
        unit.function.ask_for_tests(&unit.tests, number, asking);
    }
}
