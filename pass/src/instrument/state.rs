//! Mechanism `state`: functions with tests ask, when they are called, whether a test is to be run.
//!
//! ```text
//! before                      after
//! define i32 @f(i32 %a) {     define i32 @f(i32 %a) {
//!   ...                         %open = load volatile i8, ptr @gate           ; of this unit
//!   ret i32 %v                  br i1 (%open != 0), label %look, label %body
//! }                           look:                                           ; if the state is a few bytes
//!                               br i1 (%a is in the desk's cache), label %hit, label %ask
//!                             hit:
//!                               count it; now and then go to %ask, else to %body
//!                             ask:
//!                               call void @ask.f(i32 %a, i64 %a, ptr @hits)
//!                               br label %body
//!                             body:
//!                               ...
//!                             define void @ask.f(i32 %a, i64 %word, ptr %hits) {
//!                               %n = call i32 @__unseen_state_call(ptr @record, i32 0, ptr %words, i32 1, ptr %hits)
//!                               br i1 (%n != 0), label %test, label %end
//!                             test:                            ; in a copy of the process
//!                               call void @run.f(i32 %n, i32 %a)
//!                               unreachable
//!                             end:
//!                               ret void
//! ```
//!
//! A unit whose state lies behind pointers has a call of `@look.f` in `look`, which tells whether what it is about to read is known
//! (`shim/traces.cpp`).
//!
//! `@run.f` calls the n-th test with the same arguments, and tells what it found (`shim/tests.cpp`). A unit with tests for when it
//! returns looks before each `ret` whether any is due; of one that can be rescued `@ask.f` has another block beside `test`.

use crate::analysis::attached::{Attached, Found};
use crate::analysis::state::{Piece, StatePlan};
use crate::emit;
use crate::llvm::memory::Value;
use crate::llvm::tests::{Asking, Test};
use crate::llvm::{self, Function};
use unseen_abi::state::Kind;

/// Takes the descriptors out: else units would have their addresses taken, and tests would be code of the program.
pub fn detach(found: &Found) {
    for descriptor in &found.descriptors {
        descriptor.remove_descriptor();
    }
}

/// For each test that runs after its unit a function that calls both: what it reads is what decides. To be removed again
/// ([`remove`]).
pub fn call_both(attached: &mut [Attached]) -> Vec<Function> {
    let mut all = Vec::new();
    for Attached { unit, tests } in attached {
        for test in tests.iter_mut().filter(|t| t.kind == Kind::After) {
            test.both = test.function.map(|test| unit.call_with(test, &emit::both_name(all.len())));
            all.extend(test.both);
        }
    }
    all
}

/// Removes these functions.
pub fn remove(functions: &[Function]) {
    functions.iter().for_each(|function| function.remove());
}

/// Carries the plan out. `variables` are the module's.
pub fn run(plan: &StatePlan, variables: &[Value], asking: &Asking) {
    for (number, unit) in (0..).zip(&plan.units) {
        // What promises not to touch memory would be called less often than it is.
        for name in ["memory", "speculatable", "nocallback", "willreturn", "nosync"] {
            unit.function.remove_attribute(name);
        }
        let tests: Vec<Test> = unit.tests.iter().map(|t| Test::new(t.kind, t.function)).collect();
        let piece = |piece: &Piece| match *piece {
            Piece::Param { number, size } => llvm::tests::Piece::param(number, size),
            Piece::Variable { variable, offset, size } => {
                llvm::tests::Piece::variable(variables[variable as usize], offset, size)
            }
        };
        let key: Vec<llvm::tests::Piece> = unit.key.iter().map(piece).collect();
        unit.function.ask_for_tests(&tests, &key, &unit.told, number, asking);
    }
}
