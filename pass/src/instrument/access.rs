//! Mechanism `access`: the runtime is told of every read and write.
//!
//! ```text
//! before                      after
//! define i32 @f(ptr %p) {     define i32 @f.watched(ptr %p) noinline {
//!   %v = load i32, ptr %p       %frame = call ptr @llvm.frameaddress(i32 0)
//!   ret i32 %v                  call void @__unseen_access_entry(i32 0, ptr %frame, i64 %p as word)
//! }                             call void @__unseen_access_read(ptr %p, i64 4, i32 0)
//!                               %v = load i32, ptr %p
//!                               call void @__unseen_access_leave(ptr %frame)
//!                               ret i32 %v
//!                             }
//! ```
//!
//! `@f` itself stays as it was, but for a look at whether `@f.watched` is to be called instead ([`split`], `shim/bodies.cpp`). When
//! functions are simplified, [`gate`] puts what is left of the hooks behind another such look (`shim/gates.cpp`): a call that is watched
//! may go on after that.
//!
//! Functions with hooks are not inlined: a frame is what tells a unit's own variables from its caller's.

use crate::analysis;
use crate::analysis::access::{AccessPlan, Action, Lanes, Point, Size};
use crate::llvm::Function;
use crate::llvm::Module;
use crate::llvm::build::Argument;
use crate::llvm::gates::Gates;
use unseen_abi::access::{FIXED, MEASURED, TEXT};

/// The hooks.
pub struct Hooks {
    pub entry: Function,
    pub leave: Function,
    pub read: Function,
    pub text: Function,
    pub write: Function,
    pub new: Function,
    pub free: Function,
}

/// Attributes that a function which calls hooks no longer has.
const BROKEN: [&str; 4] = ["memory", "speculatable", "alwaysinline", "nocallback"];

/// Carries the plan out.
pub fn run(module: Module, plan: &AccessPlan, hooks: &Hooks) {
    for (number, unit) in (0..).zip(&plan.units) {
        for name in BROKEN {
            unit.function.remove_attribute(name);
        }
        if unit.function.is_inline_copy() {
            // It would be dropped when it can't be inlined, and what it calls need not exist outside.
            unit.function.make_internal();
        }
        for point in &unit.points {
            tell(point, hooks);
        }
        let frame = unit.function.call_at_entry(module, hooks.entry, Argument::I32(number));
        for end in &unit.ends {
            end.call_before(hooks.leave, &[Argument::Value(frame)]);
        }
    }
}

/// Gives functions a body without hooks. Those that must do with one are not inlined.
pub fn split(plan: &AccessPlan, gates: &Gates) {
    for unit in &plan.units {
        if !unit.function.split(gates) {
            unit.function.add_attribute("noinline");
        }
    }
}

/// Lets allocators tell of what they do when they are called by their address: each has a function that stands for it then.
pub fn wrap(module: Module, allocators: &[Function], name: impl Fn(&str) -> String, hooks: &Hooks) {
    for allocator in allocators {
        if let Some(wrapper) = allocator.wrap(&name(&allocator.name())) {
            for point in analysis::access::allocations(wrapper, module.layout()) {
                tell(&point, hooks);
            }
        }
    }
}

/// Makes the hooks cost next to nothing while nobody watches.
pub fn gate(module: Module, gates: &Gates) {
    module.put_behind_gates(gates);
}

fn tell(point: &Point, hooks: &Hooks) {
    let site = Argument::I32(point.site);
    match point.action {
        Action::Read(address, Size::Text) => point.at.call_before(hooks.text, &[Argument::Value(address), site]),
        Action::Read(address, size) => point.at.call_before(hooks.read, &[Argument::Value(address), bytes(size), site]),
        Action::Write(address, size) => point.at.call_before(hooks.write, &[Argument::Value(address), bytes(size)]),
        Action::ReadLanes(lanes) => {
            for (address, bytes) in each(lanes) {
                point.at.call_before(hooks.read, &[address, bytes, site]);
            }
        }
        Action::WriteLanes(lanes) => {
            for (address, bytes) in each(lanes) {
                point.at.call_before(hooks.write, &[address, bytes]);
            }
        }
        Action::Free(address) => point.at.call_before(hooks.free, &[Argument::Value(address)]),
        Action::New(size) => {
            if let Some(next) = point.at.next() {
                next.call_before(hooks.new, &[Argument::Value(point.at.value()), bytes(size)]);
            }
        }
        Action::Fixed => {
            if let Some(next) = point.at.next() {
                next.call_before(hooks.new, &[Argument::Value(point.at.value()), Argument::I64(FIXED)]);
            }
        }
        Action::Measured(memory) => {
            if let Some(next) = point.at.next() {
                let size = Argument::With(point.at.value(), MEASURED);
                next.call_before(hooks.new, &[Argument::Value(memory), size]);
            }
        }
        Action::NewInto(place, size) => {
            if let Some(next) = point.at.next() {
                next.call_before(hooks.new, &[Argument::Pointed(place), bytes(size)]);
            }
        }
    }
}

/// Where the chosen elements lie, and in how many bytes. Of those that are not chosen it is none.
fn each(lanes: Lanes) -> Vec<(Argument, Argument)> {
    let Lanes { address, mask, element, packed } = lanes;
    if packed {
        return vec![(Argument::Value(address), Argument::Chosen { mask, each: element })];
    }
    let one =
        |lane| (Argument::Further(address, u64::from(lane) * element), Argument::Lane { mask, lane, each: element });
    (0..mask.ty().lanes()).map(one).collect()
}

fn bytes(size: Size) -> Argument {
    match size {
        Size::Bytes(n) => Argument::I64(n),
        Size::Value(v) => Argument::Wide(v),
        Size::Product(a, b) => Argument::Product(a, b),
        Size::Text => Argument::I64(TEXT),
    }
}
