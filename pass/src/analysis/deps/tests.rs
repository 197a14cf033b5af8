//! Random programs against an interpreter: whatever it reads of the state before a call must be in the set, whatever it
//! writes too, and what is said to be certainly written must have been.

use super::body::*;
use super::paths::{Base, Object, Paths, Set};
use super::summary::{Span, Summary, Thing};
use super::{endings, locals, whole};
use std::collections::{BTreeMap, BTreeSet};
use unseen_abi::deps::{Offset, Param, Reason};

const WORDS: i64 = 6;
const GLOBALS: u32 = 3;
/// A declared function that allocates.
const MALLOC: u32 = 0;

struct Random {
    state: u64,
    /// Whether programs load pointers as numbers too.
    numbers: bool,
    /// Whether programs do what no one can follow.
    hidden: bool,
}

impl Random {
    fn new(seed: u64, numbers: bool, hidden: bool) -> Random {
        Random { state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1), numbers, hidden }
    }

    fn below(&mut self, n: usize) -> usize {
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.state >> 33) as usize) % n
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

fn program(random: &mut Random) -> Program {
    let pointer = Param { pointer: true, size: 8, ..Param::default() };
    let mut functions = vec![Function { name: "malloc".into(), ..Function::default() }];
    let count = 2 + random.below(3) as u32;
    for _ in 0..count {
        let params = vec![pointer.clone(); random.below(3)];
        functions.push(Function { noalias: vec![false; params.len()], params, ..Function::default() });
    }
    let arity: Vec<usize> = functions.iter().map(|f| f.params.len()).collect();
    for function in functions.iter_mut().skip(1) {
        function.body = Some(body(random, function.params.len(), &arity));
    }
    if random.hidden && random.one_in(2) {
        functions[1].body = Some(thrower(random, arity[1], &arity));
        functions[2].body = Some(catcher(random, arity[2], &arity));
    }
    let globals = (0..GLOBALS).map(|g| Global {
        size: WORDS as u64 * 8,
        constant: g == 2,
        pointers: if g == 2 { vec![(8, Operand::Global { global: 0, at: 8 })] } else { Vec::new() },
        ..Global::default()
    });
    // Functions with the same number of parameters may be called through a pointer.
    let members = |n| (1..=count).filter(|f| arity[*f as usize] == n).collect();
    let groups = (0..3).map(|n| Group { members: members(n), open: false }).collect();
    Program { functions, globals: globals.collect(), groups, ..Program::default() }
}

fn body(random: &mut Random, params: usize, arity: &[usize]) -> Body {
    let mut body = Body::default();
    let blocks = 1 + random.below(4) as u32;
    for number in 0..blocks {
        let start = body.insts.len() as u32;
        for _ in 0..1 + random.below(6) {
            let op = op(random, params, &body.insts, arity);
            body.insts.push(Inst { op, place: None });
        }
        let last = number + 1 == blocks;
        let mut next = Vec::new();
        if !last && random.hidden && random.one_in(5) {
            // The process ends here, or something is thrown.
            body.insts.push(Inst { op: Op::Opaque(Reason::Assembly, String::new()), place: None });
        } else if last || random.one_in(5) {
            let value = operand(random, params, &body.insts);
            body.insts.push(Inst { op: Op::Return(value), place: None });
        } else {
            next.push(number + 1);
            if random.one_in(2) {
                next.push(random.below(blocks as usize) as u32);
            }
            if random.hidden && random.one_in(2) {
                let op = call(random, params, &body.insts, arity);
                body.insts.push(Inst { op, place: None });
            }
        }
        let end = body.insts.len() as u32;
        let throws = matches!(body.insts[end as usize - 1].op, Op::Call { .. }) && random.one_in(2);
        let unwind = throws.then(|| random.below(blocks as usize) as u32);
        body.blocks.push(Block { start, end, next, unwind });
    }
    body
}

/// Does what no one can follow, and throws; or returns.
fn thrower(random: &mut Random, params: usize, arity: &[usize]) -> Body {
    let mut body = Body::default();
    let first = op(random, params, &[], arity);
    add_block(&mut body, vec![first], vec![1, 2], None);
    add_block(&mut body, vec![Op::Opaque(Reason::Assembly, String::new())], Vec::new(), None);
    add_block(&mut body, vec![Op::Return(Operand::Number(0))], Vec::new(), None);
    body
}

/// Calls the first function, and returns even if that throws.
fn catcher(random: &mut Random, params: usize, arity: &[usize]) -> Body {
    let mut body = Body::default();
    let args = (0..arity[1]).map(|_| operand(random, params, &[])).collect();
    let call = Op::Call { callee: Callee::Function(1), args, maybe: false, ignored: false };
    add_block(&mut body, vec![call], vec![1], Some(1));
    let after = op(random, params, &body.insts, arity);
    add_block(&mut body, vec![after, Op::Return(Operand::Number(0))], Vec::new(), None);
    body
}

fn add_block(body: &mut Body, ops: Vec<Op>, next: Vec<u32>, unwind: Option<u32>) {
    let start = body.insts.len() as u32;
    body.insts.extend(ops.into_iter().map(|op| Inst { op, place: None }));
    body.blocks.push(Block { start, end: body.insts.len() as u32, next, unwind });
}

fn operand(random: &mut Random, params: usize, insts: &[Inst]) -> Operand {
    let inst = if insts.is_empty() { 0 } else { random.below(insts.len()) };
    match random.below(10) {
        0 => Operand::Number(0),
        1 => Operand::Global { global: random.below(GLOBALS as usize) as u32, at: 8 * random.below(3) as i64 },
        2..5 if params > 0 => Operand::Param(random.below(params) as u32),
        // What gives no value is seldom of use.
        0..9 if matches!(
            insts.get(inst).map(|i| &i.op),
            None | Some(Op::Store { .. } | Op::CopyBytes { .. } | Op::Opaque(..))
        ) =>
        {
            Operand::Global { global: random.below(2) as u32, at: 0 }
        }
        _ if !insts.is_empty() => Operand::Inst(inst as u32),
        _ => Operand::Global { global: 0, at: 0 },
    }
}

fn op(random: &mut Random, params: usize, insts: &[Inst], arity: &[usize]) -> Op {
    let any = |random: &mut Random| operand(random, params, insts);
    match random.below(14) {
        0 if random.hidden && random.one_in(20) => Op::Opaque(Reason::Assembly, String::new()),
        0 => Op::Alloca,
        1 => Op::Offset { base: any(random), at: 8 * (random.below(4) as i64 - 1), stride: 0 },
        2 => Op::Offset { base: any(random), at: 8 * random.below(2) as i64, stride: 16 },
        3 => Op::Copy(vec![any(random), any(random)]),
        4 if random.numbers && random.one_in(2) => {
            let kind = if random.one_in(2) { Loaded::Integer } else { Loaded::Number };
            Op::Load { address: any(random), size: 8, parts: vec![0], kind, volatile: false, data: false }
        }
        4..8 => Op::Load {
            address: any(random),
            size: 8,
            parts: vec![0],
            kind: Loaded::Pointer,
            volatile: false,
            data: false,
        },
        8..11 => {
            Op::Store { address: any(random), value: any(random), size: 8, maybe: random.one_in(4), volatile: false }
        }
        11 => Op::CopyBytes {
            to: any(random),
            from: any(random),
            length: Length::Bytes(8 * (1 + random.below(2) as u64)),
        },
        _ if random.one_in(4) => {
            Op::Call { callee: Callee::Function(MALLOC), args: Vec::new(), maybe: false, ignored: false }
        }
        _ => call(random, params, insts, arity),
    }
}

fn call(random: &mut Random, params: usize, insts: &[Inst], arity: &[usize]) -> Op {
    let f = 1 + random.below(arity.len() - 1);
    let args = (0..arity[f]).map(|_| operand(random, params, insts)).collect();
    let group = random.one_in(4);
    let callee = if group { Callee::Group(arity[f] as u32) } else { Callee::Function(f as u32) };
    Op::Call { callee, args, maybe: random.one_in(6), ignored: false }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Word {
    Number,
    Pointer(usize, i64),
    /// A pointer that was loaded as a number: good for nothing but being stored.
    Hidden(usize, i64),
}

type Place = (usize, i64);
type Image = Vec<[Word; WORDS as usize]>;

/// The run ends here: undefined behaviour, or too long.
struct End;

/// Whether a function returned.
enum Left {
    Returned(Word),
    Threw,
}

struct Frame {
    function: u32,
    args: Vec<Word>,
    entry: Image,
    read: BTreeSet<Place>,
    written: BTreeSet<Place>,
}

struct Interpreter<'a> {
    program: &'a Program,
    random: &'a mut Random,
    memory: Image,
    dead: BTreeSet<usize>,
    frames: Vec<Frame>,
    fuel: usize,
}

impl Interpreter<'_> {
    fn touch(&mut self, at: Word) -> Result<Place, End> {
        match at {
            Word::Pointer(object, offset)
                if offset % 8 == 0 && (0..WORDS * 8).contains(&offset) && !self.dead.contains(&object) =>
            {
                Ok((object, offset))
            }
            _ => Err(End),
        }
    }

    fn read(&mut self, at: Word) -> Result<Word, End> {
        let place = self.touch(at)?;
        for frame in &mut self.frames {
            // The constant global, and what came after the entry, are no state.
            if place.0 != 2 && place.0 < frame.entry.len() && !frame.written.contains(&place) {
                frame.read.insert(place);
            }
        }
        Ok(self.memory[place.0][(place.1 / 8) as usize])
    }

    fn write(&mut self, at: Word, value: Word) -> Result<(), End> {
        let place = self.touch(at)?;
        if place.0 == 2 {
            return Err(End);
        }
        for frame in &mut self.frames {
            frame.written.insert(place);
        }
        self.memory[place.0][(place.1 / 8) as usize] = value;
        Ok(())
    }

    fn call(&mut self, function: u32, args: Vec<Word>, check: &mut dyn FnMut(&Frame, bool)) -> Result<Left, End> {
        if function == MALLOC {
            self.memory.push([Word::Number; WORDS as usize]);
            return Ok(Left::Returned(Word::Pointer(self.memory.len() - 1, 0)));
        }
        if self.frames.len() > 12 {
            return Err(End);
        }
        let entry = self.memory.clone();
        self.frames.push(Frame { function, args, entry, read: BTreeSet::new(), written: BTreeSet::new() });
        let mut stack = Vec::new();
        let left = self.body(&mut stack, check);
        let frame = self.frames.pop().expect("the frame was pushed");
        check(&frame, matches!(left, Ok(Left::Returned(_))));
        self.dead.extend(stack);
        left
    }

    fn body(&mut self, stack: &mut Vec<usize>, check: &mut dyn FnMut(&Frame, bool)) -> Result<Left, End> {
        let program = self.program;
        let frame = self.frames.last().expect("a frame");
        let args = frame.args.clone();
        let body = program.functions[frame.function as usize].body.as_ref().expect("code");
        let mut values = vec![Word::Number; body.insts.len()];
        let mut block = &body.blocks[0];
        loop {
            let mut threw = false;
            for index in block.start as usize..block.end as usize {
                self.fuel = self.fuel.checked_sub(1).ok_or(End)?;
                let get = |operand: &Operand| match *operand {
                    Operand::Number(_) | Operand::Function(_) | Operand::Thrown | Operand::Unknown(_) => Word::Number,
                    Operand::Param(i) => args[i as usize],
                    Operand::Inst(i) => match values[i as usize] {
                        Word::Hidden(..) => Word::Number,
                        word => word,
                    },
                    Operand::Global { global, at } => Word::Pointer(global as usize, at),
                };
                let stored = |operand: &Operand| match *operand {
                    Operand::Inst(i) => match values[i as usize] {
                        Word::Hidden(object, at) => Word::Pointer(object, at),
                        word => word,
                    },
                    _ => get(operand),
                };
                values[index] = match &body.insts[index].op {
                    Op::Alloca => {
                        self.memory.push([Word::Number; WORDS as usize]);
                        stack.push(self.memory.len() - 1);
                        Word::Pointer(self.memory.len() - 1, 0)
                    }
                    Op::Offset { base, at, stride } => match get(base) {
                        Word::Pointer(object, offset) => {
                            let k = self.random.below(5) as i64 - 2;
                            Word::Pointer(object, offset + at + k * *stride as i64)
                        }
                        number => number,
                    },
                    Op::Copy(of) => get(&of[self.random.below(of.len())]),
                    Op::Load { address, kind, .. } => match (self.read(get(address))?, kind) {
                        (Word::Pointer(object, at), Loaded::Integer | Loaded::Number) => Word::Hidden(object, at),
                        (word, _) => word,
                    },
                    Op::Store { address, value, maybe, .. } => {
                        if !maybe || self.random.one_in(2) {
                            self.write(get(address), stored(value))?;
                        }
                        Word::Number
                    }
                    Op::CopyBytes { to, from, length: Length::Bytes(n) } => {
                        let step = |word: Word, by: i64| match word {
                            Word::Pointer(object, offset) => Word::Pointer(object, offset + by),
                            number => number,
                        };
                        let offsets: Vec<i64> = (0..*n as i64 / 8).map(|i| i * 8).collect();
                        let mut words = Vec::new();
                        for at in &offsets {
                            words.push(self.read(step(get(from), *at))?);
                        }
                        for (at, word) in offsets.iter().zip(words) {
                            self.write(step(get(to), *at), word)?;
                        }
                        Word::Number
                    }
                    Op::Call { maybe: true, .. } if self.random.one_in(2) => Word::Number,
                    Op::Call { callee, args, .. } => {
                        let function = match callee {
                            Callee::Function(f) => *f,
                            Callee::Group(g) => {
                                let members = &program.groups[*g as usize].members;
                                members[self.random.below(members.len())]
                            }
                            Callee::Nobody => return Err(End),
                        };
                        match self.call(function, args.iter().map(get).collect(), check)? {
                            Left::Returned(word) => word,
                            Left::Threw => {
                                if block.unwind.is_none() || index + 1 != block.end as usize {
                                    return Ok(Left::Threw);
                                }
                                threw = true;
                                Word::Number
                            }
                        }
                    }
                    Op::Opaque(..) => {
                        let object = self.random.below(self.memory.len());
                        let at = 8 * self.random.below(WORDS as usize) as i64;
                        self.read(Word::Pointer(object, at))?;
                        Word::Number
                    }
                    Op::Return(value) => return Ok(Left::Returned(get(value))),
                    other => panic!("{other:?} is never made"),
                };
            }
            if self.random.one_in(20) || block.next.is_empty() && !threw && !self.random.one_in(4) {
                return Ok(Left::Threw);
            }
            if block.next.is_empty() && !threw {
                return Err(End);
            }
            let next = if threw {
                block.unwind.expect("an unwind edge")
            } else {
                block.next[self.random.below(block.next.len())]
            };
            block = &body.blocks[next as usize];
        }
    }
}

/// The addresses that a name means at entry.
fn meaning(paths: &Paths, base: Base, frame: &Frame) -> BTreeSet<Place> {
    let follow = |from: &BTreeSet<Place>, offset: Offset| {
        let mut out = BTreeSet::new();
        for (object, start) in from {
            for at in (0..WORDS * 8).step_by(8) {
                if super::paths::contains(offset, Offset::At(at - start))
                    && let Some(words) = frame.entry.get(*object)
                    && let Word::Pointer(o, a) = words[(at / 8) as usize]
                {
                    out.insert((o, a));
                }
            }
        }
        out
    };
    match paths.object(base) {
        Object::Param(i) => match frame.args[*i as usize] {
            Word::Pointer(o, a) => BTreeSet::from([(o, a)]),
            _ => BTreeSet::new(),
        },
        Object::Global(g) => BTreeSet::from([(*g as usize, 0)]),
        Object::Deref(from, at) => follow(&meaning(paths, *from, frame), *at),
        Object::Closure(from, offsets) => {
            let mut all = meaning(paths, *from, frame);
            loop {
                let before = all.len();
                for offset in offsets {
                    all.extend(follow(&all, *offset));
                }
                if all.len() == before {
                    return all;
                }
            }
        }
        Object::Reach(from) => {
            let mut all = meaning(paths, *from, frame);
            loop {
                let before = all.len();
                all.extend(follow(&all, Offset::Every { stride: 1, at: 0 }));
                if all.len() == before {
                    return all;
                }
            }
        }
        other => panic!("{other:?} in a set"),
    }
}

fn covered(paths: &Paths, thing: &Thing, frame: &Frame, place: Place) -> bool {
    let Thing::Memory { base, offset, span } = *thing else { return false };
    meaning(paths, base, frame).iter().filter(|p| p.0 == place.0).any(|(_, start)| match (span, offset) {
        (Span::Object, _) => true,
        (Span::Bytes(8), _) => super::paths::contains(offset, Offset::At(place.1 - start)),
        (Span::Bytes(n), Offset::At(at)) => (0..n as i64).contains(&(place.1 - start - at)),
        (Span::Bytes(n), _) => super::paths::overlap(offset, n, Offset::At(place.1 - start), 8),
        (Span::Rest, Offset::At(at)) => place.1 - start >= at,
        other => panic!("{other:?} in a set"),
    })
}

fn check(program: &Program, paths: &Paths, summary: &Summary, frame: &Frame, returned: bool, seed: u64) {
    if summary.hides() || !returned && summary.causes.iter().any(|c| c.reason.hides()) {
        return;
    }
    let lists = [("read", &frame.read, &summary.reads), ("write", &frame.written, &summary.writes)];
    for (kind, places, set) in lists {
        for place in places.iter().filter(|p| p.0 < frame.entry.len()) {
            let fine = set.iter().any(|e| covered(paths, &e.thing, frame, *place));
            let body = program.functions[frame.function as usize].body.as_ref();
            assert!(fine, "seed {seed}: function {} may {kind} {place:?}, not in {set:?}\n{body:#?}", frame.function);
        }
    }
    if returned {
        for (base, from, to) in summary.written.iter() {
            for (object, start) in meaning(paths, base, frame) {
                for at in (from..to).step_by(8) {
                    let place = (object, start + at);
                    assert!(frame.written.contains(&place), "seed {seed}: {} did not write {place:?}", frame.function);
                }
            }
        }
    }
}

fn try_seed(seed: u64) -> usize {
    let make = || {
        let mut random = Random::new(seed, seed % 2 == 1, seed % 4 < 2);
        (program(&mut random), random)
    };
    // What is cut must never be reached: the program runs uncut.
    let (mut cut, _) = make();
    endings::cut(&mut cut);
    locals::promote(&mut cut);
    let (program, mut random) = make();
    let mut paths = Paths::default();
    let summaries = whole::solve(&cut, &mut paths, |paths, _| {
        let fresh = paths.start(Object::Fresh(0));
        Summary { returns: Set::of(fresh), ..Summary::default() }
    });
    let mut checked = 0;
    for _ in 0..30 {
        // Globals, and objects that arguments point to; words point anywhere.
        let objects = GLOBALS as usize + 1 + random.below(4);
        let pointer = |random: &mut Random| match random.below(8) {
            0 => Word::Number,
            _ => Word::Pointer(random.below(objects), 8 * random.below(3) as i64),
        };
        let mut memory: Image = Vec::new();
        for _ in 0..objects {
            let mut words = [Word::Number; WORDS as usize];
            words.iter_mut().for_each(|w| *w = pointer(&mut random));
            memory.push(words);
        }
        memory[2] = [Word::Number; WORDS as usize];
        memory[2][1] = Word::Pointer(0, 8);
        let function = 1 + random.below(program.functions.len() - 1) as u32;
        let params = program.functions[function as usize].params.len();
        let args = (0..params).map(|_| pointer(&mut random)).collect();
        let mut interpreter = Interpreter {
            program: &program,
            random: &mut random,
            memory,
            dead: BTreeSet::new(),
            frames: Vec::new(),
            fuel: 400,
        };
        let _ = interpreter.call(function, args, &mut |frame, returned| {
            check(&program, &paths, &summaries[frame.function as usize], frame, returned, seed);
            checked += usize::from(!summaries[frame.function as usize].hides());
        });
    }
    checked
}

#[test]
fn no_read_is_missed() {
    let seeds = std::env::var("UNSEEN_SEEDS").ok().and_then(|s| s.parse().ok()).unwrap_or(150);
    let checked: usize = (0..seeds).map(try_seed).sum();
    assert!(checked as u64 > seeds * 20, "only {checked} calls were checked");
}

/// What sets say stays close to what is read: a change that makes everything opaque would pass the test above.
#[test]
fn sets_stay_small() {
    let mut sizes: BTreeMap<bool, usize> = BTreeMap::new();
    for seed in 0..300u64 {
        let mut random = Random::new(seed, false, false);
        let program = program(&mut random);
        let mut paths = Paths::default();
        let summaries = whole::solve(&program, &mut paths, |_, _| Summary::default());
        for summary in &summaries[1..] {
            *sizes.entry(summary.hides()).or_default() += 1;
        }
    }
    let (known, hidden) = (sizes[&false], sizes.get(&true).copied().unwrap_or(0));
    assert!(hidden * 20 < known, "{hidden} of {known} are hidden");
}
