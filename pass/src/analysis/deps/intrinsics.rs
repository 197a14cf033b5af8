//! LLVM's intrinsics as plain instructions.

use super::body::{Length, Op, Operand};
use super::extract::{Draft, Extractor};
use crate::llvm::Inst;
use crate::llvm::memory::{Kind, Value};
use unseen_abi::deps::Reason;

/// Translates a call of an intrinsic. Returns whether control ends in it.
pub fn translate(x: &mut Extractor, name: &str, inst: Inst, arguments: &[Value], draft: &mut Draft) -> bool {
    let op = match name {
        "llvm.memcpy" | "llvm.memmove" | "llvm.memcpy.inline" | "llvm.memcpy.element.unordered.atomic" => {
            let length = length(x, arguments[2], draft);
            Op::CopyBytes { to: x.operand(arguments[0], draft), from: x.operand(arguments[1], draft), length }
        }
        "llvm.memset" | "llvm.memset.inline" => {
            let used = x.operand(arguments[1], draft);
            draft.push(Op::Use(vec![used]), None);
            let length = length(x, arguments[2], draft);
            Op::Fill { to: x.operand(arguments[0], draft), length }
        }
        "llvm.trap" | "llvm.ubsantrap" | "llvm.debugtrap" => return name != "llvm.debugtrap",
        "llvm.threadlocal.address"
        | "llvm.expect"
        | "llvm.expect.with.probability"
        | "llvm.launder.invariant.group"
        | "llvm.strip.invariant.group"
        | "llvm.ssa.copy"
        | "llvm.ptr.annotation"
        | "llvm.preserve.static.offset" => Op::Copy(x.operands(&arguments[..1], draft)),
        "llvm.va_start" => Op::VaStart { list: x.operand(arguments[0], draft) },
        "llvm.va_copy" => Op::CopyBytes {
            to: x.operand(arguments[0], draft),
            from: x.operand(arguments[1], draft),
            length: Length::Bytes(24),
        },
        "llvm.is.constant" | "llvm.objectsize" | "llvm.stacksave" | "llvm.eh.typeid.for" => return false,
        "llvm.masked.load" | "llvm.masked.expandload" => {
            let rest = x.operands(&arguments[1..], draft);
            draft.push(Op::Use(rest), None);
            let address = x.operand(arguments[0], draft);
            x.load(address, inst.value().ty(), false)
        }
        "llvm.masked.store" | "llvm.masked.compressstore" => {
            let rest = x.operands(&arguments[2..], draft);
            draft.push(Op::Use(rest), None);
            let size = x.layout.stored_size(arguments[0].ty());
            let (value, address) = (x.operand(arguments[0], draft), x.operand(arguments[1], draft));
            Op::Store { address, value, size, maybe: true, volatile: false }
        }
        "llvm.eh.sjlj.setjmp" | "llvm.eh.sjlj.longjmp" => Op::Opaque(Reason::Setjmp, String::new()),
        "llvm.readcyclecounter" | "llvm.readsteadycounter" => Op::Opaque(Reason::Time, String::new()),
        _ if is_silent(name) => return false,
        "llvm.ptrmask" => {
            let used = x.operands(arguments, draft);
            draft.push(Op::Use(used.clone()), None);
            Op::Offset { base: used[0], at: 0, stride: 1 }
        }
        _ if touches_nothing(inst) => Op::Compute(x.operands(arguments, draft)),
        _ => Op::Opaque(Reason::Unmodelled, name.to_owned()),
    };
    draft.push(op, Some(inst));
    false
}

fn length(x: &mut Extractor, value: Value, draft: &Draft) -> Length {
    match value.kind() {
        Kind::Number(n) => u64::try_from(n).map_or(Length::Unknown, Length::Bytes),
        _ => match x.operand(value, draft) {
            Operand::Number(n) => u64::try_from(n).map_or(Length::Unknown, Length::Bytes),
            operand => Length::Value(operand, 1),
        },
    }
}

/// Only tells the optimiser or the debugger something.
fn is_silent(name: &str) -> bool {
    [
        "llvm.dbg.",
        "llvm.lifetime.",
        "llvm.invariant.",
        "llvm.assume",
        "llvm.experimental.noalias",
        "llvm.donothing",
        "llvm.x86.sse2.pause",
    ]
    .iter()
    .any(|p| name.starts_with(p))
        || matches!(
            name,
            "llvm.var.annotation"
                | "llvm.stackrestore"
                | "llvm.va_end"
                | "llvm.prefetch"
                | "llvm.sideeffect"
                | "llvm.pseudoprobe"
                | "llvm.fake.use"
                | "llvm.allow.runtime.check"
                | "llvm.allow.ubsan.check"
        )
}

/// Whether the declaration promises that no memory of the program is touched.
fn touches_nothing(inst: Inst) -> bool {
    match inst.called().kind() {
        // The bits of memory that nobody else sees do not matter.
        Kind::Function(function) => function.memory_effects().is_some_and(|bits| bits & !0b1100 == 0),
        _ => false,
    }
}
