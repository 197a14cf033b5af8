//! The bytes of dependency sets. What is read back refers only to what is there: no index is out of range.

use super::*;
use crate::codec::Damaged;

impl Writer {
    pub(super) fn deps(&mut self, d: &Deps) {
        self.0.extend(d.id);
        self.list(&d.types, Writer::dep_type);
        self.list(&d.globals, |w, g| {
            w.text(&g.name);
            w.text(&g.source_name);
            w.int(g.size);
            w.int(u64::from(g.thread_local));
            w.list(g.ty.as_slice(), |w, t| w.int(u64::from(*t)));
        });
        self.list(&d.paths, Writer::dep_path);
        self.list(&d.functions, |w, f| {
            w.int(u64::from(f.function));
            w.list(&f.params, |w, p| {
                w.text(&p.name);
                w.list(p.ty.as_slice(), |w, t| w.int(u64::from(*t)));
                w.int(p.size);
                w.int(u64::from(p.pointer) | u64::from(p.by_value) << 1);
            });
            w.list(&f.reads, Writer::dep_item);
            w.list(&f.writes, Writer::dep_item);
            w.list(&f.reasons, |w, b| {
                w.int(b.reason as u64);
                w.int(u64::from(b.ends));
                w.text(&b.name);
                w.list(b.at.as_slice(), Writer::place);
                w.list(b.via.as_slice(), |w, f| w.int(u64::from(*f)));
            });
        });
    }

    fn dep_type(&mut self, t: &Type) {
        match t {
            Type::Plain { name, size } => {
                self.int(0);
                self.text(name);
                self.int(*size);
            }
            Type::Pointer(to) => {
                self.int(1);
                self.list(to.as_slice(), |w, t| w.int(u64::from(*t)));
            }
            Type::Array { of, count } => {
                self.int(2);
                self.int(u64::from(*of));
                self.int(*count);
            }
            Type::Struct { name, size, fields } => {
                self.int(3);
                self.text(name);
                self.int(*size);
                self.list(fields, |w, f| {
                    w.text(&f.name);
                    w.int(f.offset);
                    w.int(u64::from(f.ty));
                });
            }
        }
    }

    fn dep_path(&mut self, p: &Path) {
        match p {
            Path::Param(i) => {
                self.int(0);
                self.int(u64::from(*i));
            }
            Path::Global(g) => {
                self.int(1);
                self.int(u64::from(*g));
            }
            Path::Variadic => self.int(2),
            Path::Deref { from, at } => {
                self.int(3);
                self.int(u64::from(*from));
                self.dep_offset(at);
            }
            Path::Closure { from, at } => {
                self.int(4);
                self.int(u64::from(*from));
                self.list(at, Writer::dep_offset);
            }
            Path::Reach { from } => {
                self.int(5);
                self.int(u64::from(*from));
            }
        }
    }

    fn dep_offset(&mut self, o: &Offset) {
        match *o {
            Offset::At(at) => {
                self.int(0);
                self.signed(at);
            }
            Offset::Every { stride, at } => {
                self.int(stride);
                self.int(at);
            }
        }
    }

    fn dep_item(&mut self, i: &Item) {
        match i.what {
            What::Param(p) => {
                self.int(0);
                self.int(u64::from(p));
            }
            What::Memory(place) => {
                self.int(1 + u64::from(place.path));
                self.dep_offset(&place.offset);
                match place.extent {
                    Extent::Bytes(n) => {
                        self.int(0);
                        self.int(n);
                    }
                    Extent::Text => self.int(1),
                    Extent::Rest => self.int(2),
                    Extent::Object => self.int(3),
                    Extent::ByParam { param, scale } => {
                        self.int(4);
                        self.int(u64::from(param));
                        self.int(scale);
                    }
                    Extent::ByMemory { path, at, size, scale } => {
                        self.int(5);
                        self.int(u64::from(path));
                        self.signed(at);
                        self.int(size);
                        self.int(scale);
                    }
                }
            }
        }
        self.list(i.at.as_slice(), Writer::place);
        self.list(i.via.as_slice(), |w, l| {
            w.int(u64::from(l.function));
            w.int(u64::from(l.item));
        });
    }
}

/// A number below `limit`.
fn below(v: u32, limit: usize) -> Result<u32, Damaged> {
    if (v as usize) < limit { Ok(v) } else { Err(Damaged) }
}

impl Reader<'_> {
    pub(super) fn deps(&mut self) -> Result<Deps, Damaged> {
        let id = self.array()?;
        let types = self.list(Reader::dep_type)?;
        let globals = self.list(|r| {
            Ok(Global {
                name: r.text()?,
                source_name: r.text()?,
                size: r.int()?,
                thread_local: r.flag()?,
                ty: r.optional(Reader::int32)?,
            })
        })?;
        let mut index = 0;
        let paths = self.list(|r| {
            index += 1;
            r.dep_path(index - 1, globals.len())
        })?;
        let functions = self.list(|r| r.dep_function(paths.len()))?;
        let deps = Deps { id, globals, types, paths, functions };
        deps.refers_to_what_is_there()?;
        Ok(deps)
    }

    fn flag(&mut self) -> Result<bool, Damaged> {
        Ok(below(self.int32()?, 2)? == 1)
    }

    fn dep_type(&mut self) -> Result<Type, Damaged> {
        Ok(match self.int()? {
            0 => Type::Plain { name: self.text()?, size: self.int()? },
            1 => Type::Pointer(self.optional(Reader::int32)?),
            2 => Type::Array { of: self.int32()?, count: self.int()? },
            3 => Type::Struct {
                name: self.text()?,
                size: self.int()?,
                fields: self.list(|r| Ok(Field { name: r.text()?, offset: r.int()?, ty: r.int32()? }))?,
            },
            _ => return Err(Damaged),
        })
    }

    fn dep_path(&mut self, index: usize, globals: usize) -> Result<Path, Damaged> {
        Ok(match self.int()? {
            0 => Path::Param(self.int32()?),
            1 => Path::Global(below(self.int32()?, globals)?),
            2 => Path::Variadic,
            3 => Path::Deref { from: below(self.int32()?, index)?, at: self.dep_offset()? },
            4 => Path::Closure { from: below(self.int32()?, index)?, at: self.list(Reader::dep_offset)? },
            5 => Path::Reach { from: below(self.int32()?, index)? },
            _ => return Err(Damaged),
        })
    }

    fn dep_offset(&mut self) -> Result<Offset, Damaged> {
        match self.int()? {
            0 => Ok(Offset::At(self.signed()?)),
            stride => {
                let at = self.int()?;
                if at < stride { Ok(Offset::Every { stride, at }) } else { Err(Damaged) }
            }
        }
    }

    fn dep_function(&mut self, paths: usize) -> Result<Function, Damaged> {
        Ok(Function {
            function: self.int32()?,
            params: self.list(|r| {
                let (name, ty, size) = (r.text()?, r.optional(Reader::int32)?, r.int()?);
                let flags = below(r.int32()?, 4)?;
                Ok(Param { name, ty, size, pointer: flags & 1 != 0, by_value: flags & 2 != 0 })
            })?,
            reads: self.list(|r| r.dep_item(paths))?,
            writes: self.list(|r| r.dep_item(paths))?,
            reasons: self.list(|r| {
                Ok(Because {
                    reason: *Reason::ALL.get(r.int()? as usize).ok_or(Damaged)?,
                    ends: r.flag()?,
                    name: r.text()?,
                    at: r.optional(Reader::place)?,
                    via: r.optional(Reader::int32)?,
                })
            })?,
        })
    }

    fn dep_item(&mut self, paths: usize) -> Result<Item, Damaged> {
        let what = match self.int32()? {
            0 => What::Param(self.int32()?),
            n => What::Memory(Place {
                path: below(n - 1, paths)?,
                offset: self.dep_offset()?,
                extent: match self.int()? {
                    0 => Extent::Bytes(self.int()?),
                    1 => Extent::Text,
                    2 => Extent::Rest,
                    3 => Extent::Object,
                    4 => Extent::ByParam { param: self.int32()?, scale: self.int()? },
                    5 => Extent::ByMemory {
                        path: below(self.int32()?, paths)?,
                        at: self.signed()?,
                        size: self.int()?,
                        scale: self.int()?,
                    },
                    _ => return Err(Damaged),
                },
            }),
        };
        let at = self.optional(Reader::place)?;
        let via = self.optional(|r| Ok(Link { function: r.int32()?, item: r.int32()? }))?;
        Ok(Item { what, at, via })
    }
}

impl Deps {
    /// What could only be checked when everything was read.
    fn refers_to_what_is_there(&self) -> Result<(), Damaged> {
        let mut types = Vec::new();
        for ty in &self.types {
            match ty {
                Type::Plain { .. } => {}
                Type::Pointer(to) => types.extend(*to),
                Type::Array { of, .. } => types.push(*of),
                Type::Struct { fields, .. } => types.extend(fields.iter().map(|f| f.ty)),
            }
        }
        types.extend(self.globals.iter().filter_map(|g| g.ty));
        types.extend(self.functions.iter().flat_map(|f| &f.params).filter_map(|p| p.ty));
        let links = |items: fn(&Function) -> &[Item]| {
            self.functions.iter().flat_map(items).filter_map(|i| i.via).all(|link| {
                let function = self.functions.get(link.function as usize);
                function.is_some_and(|f| (link.item as usize) < items(f).len())
            })
        };
        let sound = types.iter().all(|t| (*t as usize) < self.types.len())
            && links(|f| &f.reads)
            && links(|f| &f.writes)
            && self
                .functions
                .iter()
                .flat_map(|f| &f.reasons)
                .filter_map(|b| b.via)
                .all(|f| (f as usize) < self.functions.len());
        if sound { Ok(()) } else { Err(Damaged) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::Fault;

    /// Arbitrary sets from a stream of random numbers: every shape, every index in range.
    fn arbitrary(seed: u64) -> Deps {
        let mut state = seed;
        let mut random = move |limit: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % limit.max(1)
        };
        let types = vec![
            Type::Plain { name: "int".into(), size: 4 },
            Type::Pointer((random(2) == 0).then_some(3)),
            Type::Array { of: 0, count: random(9) },
            Type::Struct { name: "s".into(), size: 16, fields: vec![Field { name: "x".into(), offset: 8, ty: 1 }] },
        ];
        let globals = vec![Global {
            name: "g".into(),
            source_name: String::new(),
            size: random(1 << 40),
            thread_local: random(2) == 0,
            ty: (random(2) == 0).then_some(2),
        }];
        let offset = |random: &mut dyn FnMut(u64) -> u64| match random(2) {
            0 => Offset::At(random(1 << 20) as i64 - (1 << 19)),
            _ => Offset::Every { stride: 8, at: random(8) },
        };
        let mut paths = vec![Path::Param(random(9) as u32), Path::Global(0), Path::Variadic];
        for _ in 0..random(20) {
            let from = random(paths.len() as u64) as u32;
            paths.push(match random(3) {
                0 => Path::Deref { from, at: offset(&mut random) },
                1 => Path::Closure { from, at: (0..random(3)).map(|_| offset(&mut random)).collect() },
                _ => Path::Reach { from },
            });
        }
        let place = manifest::Place { file: 1, line: 2, column: 300 };
        let count = 1 + random(4) as usize;
        let mut functions = Vec::new();
        for index in 0..count {
            let mut item = |_| {
                let path = random(paths.len() as u64) as u32;
                let extent = match random(6) {
                    0 => Extent::Bytes(random(1 << 30)),
                    1 => Extent::Text,
                    2 => Extent::Rest,
                    3 => Extent::Object,
                    4 => Extent::ByParam { param: 1, scale: 8 },
                    _ => Extent::ByMemory { path, at: -8, size: 4, scale: 2 },
                };
                let offset = offset(&mut random);
                Item {
                    what: if random(4) == 0 {
                        What::Param(random(5) as u32)
                    } else {
                        What::Memory(Place { path, offset, extent })
                    },
                    at: (random(2) == 0).then_some(place),
                    via: (random(2) == 0).then_some(Link { function: random(count as u64) as u32, item: 0 }),
                }
            };
            functions.push(Function {
                function: index as u32,
                params: vec![Param { name: "p".into(), ty: Some(1), size: 8, pointer: true, by_value: index % 2 == 0 }],
                reads: (0..3).map(&mut item).collect(),
                writes: (0..2).map(&mut item).collect(),
                reasons: vec![Because {
                    reason: Reason::ALL[random(Reason::ALL.len() as u64) as usize],
                    ends: random(2) == 0,
                    name: "time".into(),
                    at: Some(place),
                    via: Some(0),
                }],
            });
        }
        Deps { id: [3; 16], globals, types, paths, functions }
    }

    #[test]
    fn arbitrary_sets_come_back() {
        for seed in 0..500 {
            let deps = arbitrary(seed);
            let two = [deps.encode(), vec![0; 5], deps.encode()].concat();
            assert_eq!(Deps::decode_all(&two), Ok(vec![deps.clone(), deps]));
        }
    }

    #[test]
    fn every_truncation_is_an_error_and_every_flipped_byte_is_read_or_refused() {
        let one = arbitrary(7).encode();
        for cut in 1..one.len() {
            assert!(Deps::decode_all(&one[..cut]).is_err(), "cut {cut}");
        }
        for i in 0..one.len() * 8 {
            let mut bytes = one.clone();
            bytes[i / 8] ^= 1 << (i % 8);
            for deps in Deps::decode_all(&bytes).into_iter().flatten() {
                for function in &deps.functions {
                    deps.class(function);
                }
            }
        }
    }

    #[test]
    fn newer_versions_are_refused_by_number() {
        let mut one = arbitrary(1).encode();
        one[8] = FORM.version as u8 + 1;
        assert_eq!(
            Deps::decode_all(&one),
            Err(Error { what: FORM.what, fault: Fault::Newer { version: FORM.version + 1, known: FORM.version } })
        );
    }
}
