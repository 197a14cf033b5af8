//! Places in the words of the source: `c->buf[0..c->len]`. Without debug info in terms of parameters and bytes:
//! `arg0[8..16]`.

use super::super::names;
use unseen_abi::deps::{Deps, Extent, Function, Offset, Path, Place, Type, What};

/// Names the places of one function.
pub struct Words<'a> {
    pub deps: &'a Deps,
    pub function: &'a Function,
}

/// An expression, and the type of what it means if that is known.
struct Term {
    text: String,
    ty: Option<u32>,
    /// The object itself, not a pointer to it.
    object: bool,
}

impl Words<'_> {
    /// What an item names.
    pub fn what(&self, what: &What) -> String {
        match what {
            What::Param(i) => self.param(*i),
            What::Memory(place) => self.place(place),
        }
    }

    /// What an item names, and the type of what lies there if that is known.
    pub fn describe(&self, what: &What) -> (String, Option<u32>) {
        let ty = match what {
            What::Param(i) => self.function.params.get(*i as usize).and_then(|p| p.ty),
            What::Memory(Place { path, offset, extent: Extent::Bytes(n) })
                if !matches!(self.deps.paths[*path as usize], Path::Reach { .. }) =>
            {
                self.inside(&self.pointer(*path), *offset, Some(*n)).ty
            }
            What::Memory(_) => None,
        };
        (self.what(what), ty)
    }

    fn param(&self, i: u32) -> String {
        match self.function.params.get(i as usize) {
            Some(p) if !p.name.is_empty() => p.name.clone(),
            _ => format!("arg{i}"),
        }
    }

    fn place(&self, place: &Place) -> String {
        if let Path::Reach { from } = self.deps.paths[place.path as usize] {
            return format!("everything reachable from {}", self.pointer(from).text);
        }
        let base = self.pointer(place.path);
        match place.extent {
            Extent::Bytes(n) => self.inside(&base, place.offset, Some(n)).text,
            Extent::Text => self.ranged(&base, place.offset, "..'\\0'"),
            Extent::Rest => self.ranged(&base, place.offset, ".."),
            Extent::Object if base.object => base.text,
            Extent::Object => format!("{}[*]", base.text),
            Extent::ByParam { param, scale } => {
                self.ranged(&base, place.offset, &format!("..{}", times(self.param(param), scale)))
            }
            Extent::ByMemory { path, at, size, scale } => {
                let count = self.inside(&self.pointer(path), Offset::At(at), Some(size)).text;
                self.ranged(&base, place.offset, &format!("..{}", times(count, scale)))
            }
        }
    }

    /// `p[0..n]`.
    fn ranged(&self, base: &Term, offset: Offset, range: &str) -> String {
        let dots = |start: String| format!("[{start}{range}]");
        match offset {
            Offset::At(0) => format!("{}{}", base.text, dots("0".into())),
            Offset::At(at) => {
                let found = if base.object { base.ty.and_then(|t| self.part(t, at, None)) } else { None };
                match found {
                    Some((part, _)) => format!("{}{part}{}", base.text, dots("0".into())),
                    None => format!("{}{}", base.text, dots(at.to_string())),
                }
            }
            Offset::Every { .. } => format!("{}[*]", base.text),
        }
    }

    /// The pointer that a path is.
    fn pointer(&self, path: u32) -> Term {
        match &self.deps.paths[path as usize] {
            Path::Param(i) => {
                let param = self.function.params.get(*i as usize);
                let ty = param.and_then(|p| p.ty);
                let by_value = param.is_some_and(|p| p.by_value);
                // A struct passed by value, or in two parts, has its own type here.
                let object = by_value || ty.is_some_and(|t| matches!(self.deps.types[t as usize], Type::Struct { .. }));
                let ty = if object { ty } else { ty.and_then(|t| self.pointee(t)) };
                Term { text: self.param(*i), ty, object }
            }
            Path::Global(g) => {
                let global = &self.deps.globals[*g as usize];
                let named = !global.source_name.is_empty();
                let text = if named { global.source_name.clone() } else { names::demangle(&global.name) };
                Term { text, ty: global.ty, object: true }
            }
            Path::Variadic => Term { text: "unnamed arguments".into(), ty: None, object: true },
            Path::Deref { from, at } => {
                let held = self.inside(&self.pointer(*from), *at, Some(8));
                Term { text: held.text, ty: held.ty.and_then(|t| self.pointee(t)), object: false }
            }
            Path::Closure { from, at } => {
                let base = self.pointer(*from);
                let mut steps: Vec<String> = Vec::new();
                for offset in at {
                    let inside = self.inside(&base, *offset, Some(8)).text;
                    steps.push(inside.strip_prefix(&base.text).unwrap_or(&inside).to_owned());
                }
                Term { text: format!("{}({})*", base.text, steps.join("|")), ty: base.ty, object: false }
            }
            Path::Reach { from } => {
                let base = self.pointer(*from);
                Term { text: format!("(anything reachable from {})", base.text), ty: None, object: false }
            }
        }
    }

    /// A part of what a term means.
    fn inside(&self, base: &Term, offset: Offset, size: Option<u64>) -> Term {
        let (at, every) = match offset {
            Offset::At(at) => (at, None),
            Offset::Every { stride, at } => (at as i64, Some(stride)),
        };
        let found = base.ty.and_then(|ty| self.find(base, ty, at, every, size));
        found.unwrap_or_else(|| {
            let end = |n: u64| (at + n as i64).to_string();
            let range = match (every, size) {
                (Some(1), _) => "[*]".into(),
                (Some(stride), Some(n)) => format!("[{at}+{stride}*k..{}+{stride}*k]", end(n)),
                (Some(stride), None) => format!("[{at}+{stride}*k..]"),
                (None, Some(n)) => format!("[{at}..{}]", end(n)),
                (None, None) => format!("[{at}..]"),
            };
            Term { text: format!("{}{range}", base.text), ty: None, object: false }
        })
    }

    fn find(&self, base: &Term, ty: u32, at: i64, every: Option<u64>, size: Option<u64>) -> Option<Term> {
        let Term { text, object, .. } = base;
        let element = |ty: u32, at: i64, head: String| {
            let (part, ty) = self.part(ty, at, size)?;
            Some(Term { text: format!("{head}{part}"), ty: Some(ty), object: true })
        };
        if let Some(stride) = every {
            // All elements: of an array that is the object, or of one that the pointer points into.
            return match &self.deps.types[ty as usize] {
                Type::Array { of, .. } if self.size(*of) == stride => element(*of, at, format!("{text}[*]")),
                _ if !object && self.size(ty) == stride => element(ty, at, format!("{text}[*]")),
                _ => None,
            };
        }
        if *object {
            return element(ty, at, text.clone());
        }
        let whole = self.size(ty) as i64;
        if whole > 0 && (at < 0 || at >= whole) && !self.is_polymorphic(ty) {
            // Another element than the one that is pointed to.
            let index = at.div_euclid(whole);
            return element(ty, at.rem_euclid(whole), format!("{text}[{index}]"));
        }
        let (part, found) = self.part(ty, at, size)?;
        let text = match part.strip_prefix('.') {
            Some(field) => format!("{text}->{field}"),
            None if part.is_empty() => format!("*{text}"),
            None => format!("(*{text}){part}"),
        };
        Some(Term { text, ty: Some(found), object: true })
    }

    /// The part of a type that lies at an offset: `.field`, `[3]`, and its type.
    fn part(&self, ty: u32, at: i64, size: Option<u64>) -> Option<(String, u32)> {
        let at = u64::try_from(at).ok()?;
        match &self.deps.types[ty as usize] {
            _ if at == 0 && size == Some(self.size(ty)) && !self.wraps_one(ty) => Some((String::new(), ty)),
            Type::Struct { fields, .. } => {
                let field = fields.iter().rev().find(|f| f.offset <= at && at < f.offset + self.size(f.ty).max(1))?;
                let (rest, found) = self.part(field.ty, (at - field.offset) as i64, size)?;
                // Base classes and anonymous parts have no name of their own.
                Some((if field.name.is_empty() { rest } else { format!(".{}{rest}", field.name) }, found))
            }
            Type::Array { of, .. } => {
                let one = self.size(*of);
                let index = at.checked_div(one)?;
                let (rest, found) = self.part(*of, (at % one) as i64, size)?;
                Some((format!("[{index}]{rest}"), found))
            }
            _ => (at == 0 && size.is_none_or(|n| n == self.size(ty))).then(|| (String::new(), ty)),
        }
    }

    /// A class with virtual functions: what lies behind it is more likely a derived class than another element.
    fn is_polymorphic(&self, ty: u32) -> bool {
        match &self.deps.types[ty as usize] {
            Type::Struct { fields, .. } => fields.first().is_some_and(|f| f.name.starts_with("_vptr")),
            _ => false,
        }
    }

    /// A struct with one field as large as itself: the field says more.
    fn wraps_one(&self, ty: u32) -> bool {
        matches!(&self.deps.types[ty as usize], Type::Struct { fields, .. } if fields.len() == 1)
    }

    fn pointee(&self, ty: u32) -> Option<u32> {
        match &self.deps.types[ty as usize] {
            Type::Pointer(to) => *to,
            _ => None,
        }
    }

    fn size(&self, ty: u32) -> u64 {
        self.size_within(ty, 8)
    }

    fn size_within(&self, ty: u32, depth: u32) -> u64 {
        match &self.deps.types[ty as usize] {
            Type::Plain { size, .. } | Type::Struct { size, .. } => *size,
            Type::Pointer(_) => 8,
            // A damaged file may hold an array of itself.
            Type::Array { .. } if depth == 0 => 0,
            Type::Array { of, count } => self.size_within(*of, depth - 1).saturating_mul(*count),
        }
    }

    /// A type as the source spells it.
    pub fn type_name(&self, ty: u32) -> String {
        self.type_within(ty, 8)
    }

    fn type_within(&self, ty: u32, depth: u32) -> String {
        match &self.deps.types[ty as usize] {
            Type::Struct { name, .. } if name.is_empty() => "struct".into(),
            Type::Plain { name, .. } if name.is_empty() => "...".into(),
            Type::Plain { name, .. } | Type::Struct { name, .. } => name.clone(),
            _ if depth == 0 => "...".into(),
            Type::Pointer(None) => "void *".into(),
            Type::Pointer(Some(to)) => {
                let to = self.type_within(*to, depth - 1);
                if to.ends_with('*') { format!("{to}*") } else { format!("{to} *") }
            }
            Type::Array { of, count: 0 } => format!("{}[]", self.type_within(*of, depth - 1)),
            Type::Array { of, count } => format!("{}[{count}]", self.type_within(*of, depth - 1)),
        }
    }
}

fn times(count: String, scale: u64) -> String {
    if scale == 1 { count } else { format!("{count}*{scale}") }
}
