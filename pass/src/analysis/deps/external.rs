//! Functions without code: models and promises as summaries.

use super::body::{Function, Program, Promise};
use super::memory::{Content, ENDLESS};
use super::paths::{ANYWHERE, Base, Object, Paths, Set};
use super::summary::{Cause, Effect, Entry, Span, Summary, Thing};
use unseen_abi::deps::{Offset, Reason};
use unseen_abi::models::{self, Length};

/// What a call of the function does, as far as is known.
pub fn summary(paths: &mut Paths, program: &Program, function: u32) -> Summary {
    let function = &program.functions[function as usize];
    let mut draft = Draft { paths, program, summary: Summary::default() };
    let number = draft.paths.start(Object::Number);
    draft.summary.returns = Set::of(number);
    let params = function.params.len() as u32;
    if function.panics {
        draft.because(Reason::Panic, "");
        // What it is told: the message.
        for (i, param) in function.params.iter().enumerate() {
            if param.pointer { draft.reach(i as u32) } else { draft.read(Thing::Param(i as u32)) }
        }
        return draft.summary;
    }
    match models::model(&function.name) {
        Some(effects) => draft.model(effects, params),
        None => draft.promise(function, params),
    }
    draft.summary
}

struct Draft<'a> {
    paths: &'a mut Paths,
    program: &'a Program,
    summary: Summary,
}

impl Draft<'_> {
    fn read(&mut self, thing: Thing) {
        self.summary.reads.push(Entry { thing, at: None, via: None });
    }

    fn write(&mut self, thing: Thing) {
        self.summary.writes.push(Entry { thing, at: None, via: None });
    }

    fn param(&mut self, i: u8) -> Base {
        self.paths.base(Object::Param(u32::from(i)))
    }

    fn reach(&mut self, param: u32) {
        let base = self.paths.base(Object::Param(param));
        let base = self.paths.reach(base);
        self.read(Thing::Param(param));
        self.read(Thing::Memory { base, offset: Offset::At(0), span: Span::Object });
    }

    fn returns(&mut self, base: Base, offset: Offset) {
        let pointer = self.paths.pointer(base, offset);
        let number = self.paths.start(Object::Number);
        self.summary.returns.0.retain(|p| *p != number);
        self.paths.join(&mut self.summary.returns, pointer);
    }

    fn because(&mut self, reason: Reason, name: &str) {
        self.summary.add_cause(Cause { name: name.into(), ..Cause::new(reason) });
    }

    /// The objects behind the unnamed arguments.
    fn unnamed(&mut self) -> Base {
        let area = self.paths.base(Object::Variadic);
        self.paths.follow(area, ANYWHERE, false)
    }

    /// Numbers are stored there, of which pointers may be made.
    fn put_number(&mut self, base: Base, length: u64) {
        let content = Content::Values(Set::of(self.paths.start(Object::Number)));
        self.summary.effects.push(Effect { base, at: Offset::At(0), length, content });
    }

    fn model(&mut self, effects: &[models::Effect], params: u32) {
        let followed: Vec<u8> = effects.iter().flat_map(pointers).collect();
        for i in (0..params).filter(|i| !followed.contains(&(*i as u8))) {
            self.read(Thing::Param(i));
        }
        for effect in effects {
            self.effect(effect, params);
        }
    }

    fn effect(&mut self, effect: &models::Effect, params: u32) {
        let memory = |base, span| Thing::Memory { base, offset: Offset::At(0), span };
        match *effect {
            // A table line serves functions of several arities: checked variants have more.
            models::Effect::Read(i, _) | models::Effect::Before(i, _) | models::Effect::Write(i, _)
                if u32::from(i) >= params => {}
            models::Effect::Read(i, length) => {
                let base = self.param(i);
                self.read(memory(base, span(length)));
            }
            models::Effect::Before(i, length) => {
                let base = self.param(i);
                let offset = Offset::At(-(length as i64));
                self.read(Thing::Memory { base, offset, span: Span::Bytes(length) });
            }
            models::Effect::Write(i, length) => {
                let base = self.param(i);
                self.write(memory(base, span(length)));
                let length = if let Length::Bytes(n) = length { n } else { ENDLESS };
                self.put_number(base, length);
            }
            models::Effect::Permutes(i) => {
                let base = self.param(i);
                self.write(memory(base, Span::Rest));
                let content = Content::Copy(self.paths.pointer(base, ANYWHERE));
                self.summary.effects.push(Effect { base, at: ANYWHERE, length: ENDLESS, content });
            }
            models::Effect::Copies(to, from, length) => {
                let (to, from) = (self.param(to), self.param(from));
                self.read(memory(from, span(length)));
                self.write(memory(to, span(length)));
                let source = self.paths.pointer(from, Offset::At(0));
                let content = Content::Copy(source);
                self.summary.effects.push(Effect { base: to, at: Offset::At(0), length: ENDLESS, content });
            }
            models::Effect::Reach(i) => self.reach(u32::from(i)),
            models::Effect::ReadUnnamed => {
                let area = self.paths.base(Object::Variadic);
                self.read(Thing::Memory { base: area, offset: ANYWHERE, span: Span::Object });
                let base = self.unnamed();
                self.read(memory(base, Span::Text));
            }
            models::Effect::WriteUnnamed => {
                let base = self.unnamed();
                self.write(memory(base, Span::Rest));
                self.put_number(base, ENDLESS);
            }
            models::Effect::PointInto(to, object) => {
                let (to, object) = (self.param(to), self.param(object));
                self.write(memory(to, Span::Bytes(8)));
                let content = Content::Values(Set::of(self.paths.pointer(object, ANYWHERE)));
                self.summary.effects.push(Effect { base: to, at: Offset::At(0), length: 8, content });
            }
            models::Effect::Returns(i) => {
                let base = self.param(i);
                self.returns(base, ANYWHERE);
            }
            models::Effect::Allocates => {
                let base = self.paths.base(Object::Fresh(0));
                self.returns(base, Offset::At(0));
            }
            models::Effect::AllocatesInto(i) => {
                let base = self.param(i);
                self.write(memory(base, Span::Bytes(8)));
                let content = Content::Values(Set::of(self.paths.start(Object::Fresh(0))));
                self.summary.effects.push(Effect { base, at: Offset::At(0), length: 8, content });
            }
            models::Effect::Constant => self.summary.returns = Set::default(),
            models::Effect::Foreign => {
                let base = self.paths.base(Object::Global(self.program.foreign()));
                self.returns(base, ANYWHERE);
            }
            // Calls are instructions of their own, and ends are no edges, both since extraction.
            models::Effect::Calls(..) | models::Effect::Loads | models::Effect::Ends | models::Effect::ReturnsTwice => {
            }
            models::Effect::Because(Reason::Exit) if !self.program.at_exit => {}
            models::Effect::Because(reason) => self.because(reason, ""),
        }
    }

    fn promise(&mut self, function: &Function, params: u32) {
        (0..params).for_each(|i| self.read(Thing::Param(i)));
        let bases: Vec<Base> = (0..params).map(|i| self.paths.base(Object::Param(i))).collect();
        match function.promise {
            Promise::Nothing => self.because(Reason::External, &function.name),
            Promise::NoMemory => {}
            Promise::ReadsArguments | Promise::Arguments => {
                for base in &bases {
                    let thing = Thing::Memory { base: *base, offset: ANYWHERE, span: Span::Object };
                    self.read(thing);
                    if function.promise == Promise::Arguments {
                        self.write(thing);
                    }
                    self.returns(*base, ANYWHERE);
                }
                if function.promise == Promise::Arguments {
                    // It may also put any of the pointers into any of the objects.
                    self.because(Reason::External, &function.name);
                }
            }
        }
    }
}

/// The arguments that an effect follows.
fn pointers(effect: &models::Effect) -> Vec<u8> {
    match *effect {
        models::Effect::Read(i, _)
        | models::Effect::Before(i, _)
        | models::Effect::Write(i, _)
        | models::Effect::Permutes(i)
        | models::Effect::Returns(i)
        | models::Effect::AllocatesInto(i) => vec![i],
        models::Effect::Copies(a, b, _) | models::Effect::PointInto(a, b) => vec![a, b],
        models::Effect::Calls(_, args) => args.to_vec(),
        _ => Vec::new(),
    }
}

fn span(length: Length) -> Span {
    match length {
        Length::Bytes(n) => Span::Bytes(n),
        Length::Argument(i) => Span::ByParam { param: u32::from(i), scale: 1 },
        Length::Text => Span::Text,
        Length::Product(..) | Length::Rest => Span::Rest,
    }
}
