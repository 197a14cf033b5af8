//! Sets as words, written by the pass.

use super::*;
use crate::deps;

/// The words that [`Sets`] reads. `lies` tells of each global of the sets where it is.
pub fn words(from: &deps::Deps, lies: &[Lies]) -> Vec<u64> {
    let (mut offsets, mut items, mut units) = (Vec::new(), Vec::new(), Vec::new());
    let mut paths = Vec::new();
    for path in &from.paths {
        let head = |tag: u64, from: u32| tag | u64::from(from) << 32;
        paths.extend(match path {
            deps::Path::Param(i) => [0, u64::from(*i), 0],
            deps::Path::Global(g) => [1, u64::from(*g), 0],
            deps::Path::Variadic => [2, 0, 0],
            deps::Path::Deref { from, at } => {
                let [stride, at] = offset_words(*at);
                [head(3, *from), stride, at]
            }
            deps::Path::Closure { from, at } => {
                let first = offsets.len() as u64 / OFFSET as u64;
                offsets.extend(at.iter().flat_map(|o| offset_words(*o)));
                [head(4, *from), first, at.len() as u64]
            }
            deps::Path::Reach { from } => [head(5, *from), 0, 0],
        });
    }
    for function in &from.functions {
        let first = items.len() / ITEM;
        let places = function.reads.iter().filter_map(|i| match i.what {
            deps::What::Memory(place) => Some(place),
            deps::What::Param(_) => None,
        });
        for place in places {
            let [stride, at] = offset_words(place.offset);
            items.extend([u64::from(place.path), stride, at]);
            items.extend(match place.extent {
                Extent::Bytes(n) => [0, n, 0, 0],
                Extent::Text => [1, 0, 0, 0],
                Extent::Rest => [2, 0, 0, 0],
                Extent::Object => [3, 0, 0, 0],
                Extent::ByParam { param, scale } => [4, u64::from(param), scale, 0],
                Extent::ByMemory { path, at, size, scale } => [5 | u64::from(path) << 32, at as u64, size, scale],
            });
        }
        let count = (items.len() / ITEM - first) as u64;
        let hides = if function.hides() { HIDES } else { 0 };
        let hides_at_end = if function.hides_at_end() { HIDES_AT_END } else { 0 };
        units.extend([first as u64, count | hides | hides_at_end]);
    }
    let mut out = vec![
        from.globals.len() as u64,
        from.paths.len() as u64,
        from.functions.len() as u64,
        (offsets.len() / OFFSET) as u64,
    ];
    for (global, lies) in from.globals.iter().zip(lies) {
        out.push(match lies {
            Lies::Here(n) => u64::from(*n),
            Lies::Thread(n) => u64::from(*n) | THREAD_LOCAL,
            Lies::Elsewhere => NOWHERE,
        });
        out.push(global.size);
    }
    [out, paths, units, offsets, items].concat()
}

fn offset_words(offset: Offset) -> [u64; 2] {
    match offset {
        Offset::At(at) => [0, at as u64],
        Offset::Every { stride, at } => [stride.max(1), at],
    }
}
