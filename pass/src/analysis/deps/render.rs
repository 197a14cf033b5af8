//! Sets as text, for tests: one line per item, in the IR's terms.

use super::Analysed;
use super::paths::{Base, Object};
use super::summary::{Span, Thing};
use std::fmt;
use unseen_abi::deps::Offset;

impl fmt::Display for Analysed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (function, summary) in self.program.functions.iter().zip(&self.summaries) {
            if !function.defined {
                continue;
            }
            writeln!(f, "function {}", function.name)?;
            for (kind, list) in [("reads", &summary.reads), ("writes", &summary.writes)] {
                let mut lines: Vec<String> = list.iter().map(|e| self.thing(&e.thing)).collect();
                lines.sort();
                lines.iter().try_for_each(|line| writeln!(f, "  {kind} {line}"))?;
            }
            for cause in &summary.causes {
                let kind = if cause.ends { "ends" } else { "opaque" };
                writeln!(f, "  {kind} {} {}", cause.reason.key(), cause.name)?;
            }
        }
        Ok(())
    }
}

impl Analysed {
    fn thing(&self, thing: &Thing) -> String {
        match *thing {
            Thing::Param(i) => format!("arg{i}"),
            Thing::Memory { base, offset, span } => {
                let extent = match span {
                    Span::Bytes(n) => format!(":{n}"),
                    Span::Text => ":text".into(),
                    Span::Rest => ":rest".into(),
                    Span::Object => ":object".into(),
                    Span::ByParam { param, scale } => format!(":arg{param}*{scale}"),
                    Span::ByMemory { base, at, size, scale } => {
                        format!(":({}:{size})*{scale}", self.place(base, Offset::At(at)))
                    }
                };
                format!("{}{extent}", self.place(base, offset))
            }
        }
    }

    fn place(&self, base: Base, offset: Offset) -> String {
        format!("[{}{}]", self.base(base), text(offset))
    }

    fn base(&self, base: Base) -> String {
        match self.paths.object(base) {
            Object::Param(i) => format!("arg{i}"),
            Object::Global(g) => format!("@{}", self.program.globals[*g as usize].name),
            Object::Variadic => "unnamed".into(),
            Object::Deref(from, at) => self.place(*from, *at),
            Object::Closure(from, at) => {
                let steps: Vec<String> = at.iter().map(|o| text(*o)).collect();
                format!("{}({})*", self.base(*from), steps.join("|"))
            }
            Object::Reach(from) => format!("reach({})", self.base(*from)),
            other => format!("{other:?}"),
        }
    }
}

fn text(offset: Offset) -> String {
    match offset {
        Offset::At(0) => String::new(),
        Offset::At(at) => format!("{at:+}"),
        Offset::Every { stride, at } => format!("+{at}+{stride}*"),
    }
}
