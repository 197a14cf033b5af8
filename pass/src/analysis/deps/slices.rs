//! Parameters that are the two halves of a slice, as debug info tells: behind the pointer lie as many elements as the other says, and
//! nothing else is read or written through it. That is the promise of the source's type, as `restrict` and `&mut` are.

use super::paths::{Object, Paths};
use super::summary::{Entry, Span, Thing};
use crate::llvm::Function;
use crate::llvm::types::{Described, SourceType};
use unseen_abi::deps::Offset;

/// The types: how their names begin, and the fields with the pointer and with the number of elements.
const TYPES: [(&str, &str, &str); 6] = [
    ("&[", "data_ptr", "length"),
    ("&mut [", "data_ptr", "length"),
    ("&str", "data_ptr", "length"),
    ("&mut str", "data_ptr", "length"),
    ("basic_string_view<", "_M_str", "_M_len"),
    ("basic_string_view<", "__data_", "__size_"),
];

/// A slice that is passed in two parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slice {
    pub data: u32,
    pub length: u32,
    /// The size of an element.
    pub size: u64,
}

/// The slices among a function's parameters.
pub fn find(function: Function, params: u32) -> Vec<Slice> {
    let mut slices = Vec::new();
    let mut last = None;
    for number in 0..params {
        let half = function.param_variable(number).filter(|v| !v.indirect);
        let half = half.and_then(|v| Some((v.name, v.ty?, v.offset)));
        if let (Some((name, ty, offset)), Some((last_name, last_ty, last_offset))) = (&half, &last)
            && (name, ty) == (last_name, last_ty)
            && let Some((data, length, size)) = layout(*ty)
        {
            if (data, length) == (*last_offset, *offset) {
                slices.push(Slice { data: number - 1, length: number, size });
            } else if (data, length) == (*offset, *last_offset) {
                slices.push(Slice { data: number, length: number - 1, size });
            }
        }
        last = half;
    }
    slices
}

/// Where in a type the pointer and the number of elements lie, and the size of an element, if the type is a slice.
fn layout(ty: SourceType) -> Option<(u64, u64, u64)> {
    let mut ty = ty;
    let (name, count) = loop {
        match ty.describe() {
            Described::Same(_, base) => ty = base,
            Described::Struct(name, 16, count) => break (name, count),
            _ => return None,
        }
    };
    TYPES.iter().filter(|(start, ..)| name.starts_with(start)).find_map(|(_, data, length)| {
        let field = |wanted: &str| (0..count).filter_map(|i| ty.field(i)).find(|(name, ..)| name == wanted);
        let ((_, data, pointer), (_, length, _)) = (field(data)?, field(length)?);
        Some((data, length, element(pointer)?))
    })
}

/// The size of what a pointer points to; of what has none nothing is known.
fn element(pointer: SourceType) -> Option<u64> {
    match pointer.describe() {
        Described::Same(_, base) => element(base),
        Described::Pointer(to) => {
            let mut to = to?;
            while let Described::Same(_, base) = to.describe() {
                to = base;
            }
            Some(to.size()).filter(|size| *size > 0)
        }
        _ => None,
    }
}

/// What lies somewhere behind a slice's pointer lies among its elements.
pub fn bound(paths: &Paths, slices: &[Slice], list: &mut [Entry]) {
    for entry in list {
        let Thing::Memory { base, offset, span } = entry.thing else { continue };
        let Object::Param(data) = *paths.object(base) else { continue };
        let Some(slice) = slices.iter().find(|s| s.data == data) else { continue };
        let open = matches!(offset, Offset::Every { .. }) || matches!(span, Span::Rest | Span::Object);
        if open {
            let span = Span::ByParam { param: slice.length, scale: slice.size };
            entry.thing = Thing::Memory { base, offset: Offset::At(0), span };
        }
    }
}
