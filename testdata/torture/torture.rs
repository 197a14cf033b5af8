//! As `torture.c`, with what Rust programs have.
//!
//!   torture DIRECTORY THREADS ROUNDS

use std::cell::Cell;
use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, PipeReader, PipeWriter, Read, Seek, SeekFrom, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::PathBuf;
use std::process::{self, Child, Command};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Condvar, Mutex, RwLock};
use std::{env, thread};

/// What all threads share.
struct Shared {
    threads: usize,
    rounds: u64,
    directory: PathBuf,
    counted: Mutex<u64>,
    atomic: AtomicU64,
    /// Whose turn it is.
    turn: (Mutex<usize>, Condvar),
    table: RwLock<HashMap<usize, u64>>,
}

/// What a thread works with.
struct Place {
    number: usize,
    round: u64,
    path: PathBuf,
    file: File,
    lines: BufWriter<File>,
    pipe: (PipeReader, PipeWriter),
    ends: (TcpStream, TcpStream),
    channel: (Sender<u64>, Receiver<u64>),
    list: Vec<Box<u64>>,
    child: Option<Child>,
    shared: Arc<Shared>,
}

thread_local!(static OWN: Cell<u64> = const { Cell::new(0) });

fn spoilt(p: &Place) -> PathBuf {
    p.shared.directory.join("spoilt")
}

#[inline(never)]
fn do_file(p: &mut Place) {
    p.file.write_all(&p.round.to_le_bytes()).unwrap();
    let end = p.file.stream_position().unwrap();
    assert_eq!(end, (p.round + 1) * 8);
    if p.round % 64 == 0 {
        let mut bytes = Vec::new();
        p.file.seek(SeekFrom::Start(0)).unwrap();
        assert_eq!(p.file.read_to_end(&mut bytes).unwrap() as u64, end);
        let words = bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap()));
        assert!(words.eq(0..=p.round));
        assert_eq!(fs::metadata(&p.path).unwrap().len(), end);
    }
}

#[unseen::test(of = do_file)]
fn spoil_file(p: &mut Place) -> bool {
    for i in 0..8 {
        match (p.round + i) % 8 {
            0 => drop(p.file.seek(SeekFrom::Start(0)).and_then(|_| p.file.write_all(b"spoilt"))),
            1 => drop(p.file.set_len(1)),
            2 => drop(fs::write(&p.path, "spoilt")),
            3 => drop(fs::remove_file(&p.path)),
            4 => drop(fs::rename(&p.path, spoilt(p))),
            5 => drop(File::create(spoilt(p))),
            6 => drop(fs::create_dir(spoilt(p))),
            // SAFETY: none, that is what it is for.
            _ => drop(unsafe { OwnedFd::from_raw_fd(p.file.as_raw_fd()) }),
        }
    }
    true
}

#[inline(never)]
fn do_lines(p: &mut Place) {
    writeln!(p.lines, "{}", p.round).unwrap();
}

#[unseen::test(of = do_lines)]
fn spoil_lines(p: &mut Place) -> bool {
    write!(p.lines, "spoilt").unwrap();
    print!("spoilt");
    let _ = std::io::stdout().flush();
    p.lines.flush().is_ok()
}

#[inline(never)]
fn do_ends(p: &mut Place) {
    let mut word = [0; 8];
    p.pipe.0.read_exact(&mut word).unwrap();
    assert_eq!(u64::from_le_bytes(word), p.round);
    p.ends.1.read_exact(&mut word).unwrap();
    assert_eq!(u64::from_le_bytes(word), !p.round);
    assert_eq!(p.channel.1.recv().unwrap(), p.round);
}

#[unseen::test(of = do_ends)]
fn spoil_ends(p: &mut Place) -> bool {
    let mut word = [0; 8];
    for i in 0..6 {
        match (p.round + i) % 6 {
            0 => drop(p.pipe.1.write_all(b"spoilt")),
            1 => drop(p.pipe.0.read(&mut word)),
            2 => drop(p.ends.0.write_all(b"spoilt")),
            3 => drop(p.ends.1.read(&mut word)),
            4 => drop(p.ends.0.shutdown(Shutdown::Both)),
            _ => drop(p.channel.1.recv()),
        }
    }
    true
}

#[inline(never)]
fn do_memory(p: &mut Place) {
    assert_eq!(p.list.len(), 64);
    assert!(p.list.iter().all(|n| **n == p.round));
    p.list = (0..64).map(|_| Box::new(p.round + 1)).collect();
    OWN.with(|own| assert_eq!(own.replace(p.round + 1), p.round));
    p.shared.table.write().unwrap().insert(p.number, p.round);
}

#[unseen::test(of = do_memory)]
fn spoil_memory(p: &mut Place) -> bool {
    OWN.set(u64::MAX);
    p.list.iter_mut().for_each(|n| **n = u64::MAX);
    p.list.clear();
    p.list.shrink_to_fit();
    if let Ok(mut table) = p.shared.table.try_write() {
        table.clear();
    }
    p.shared.atomic.store(0, Ordering::SeqCst);
    p.round = u64::MAX;
    true
}

#[inline(never)]
fn do_thread(p: &mut Place) {
    *p.shared.counted.lock().unwrap() += 1;
    p.shared.atomic.fetch_add(1, Ordering::SeqCst);
    let (turn, changed) = &p.shared.turn;
    let mut turn = changed.wait_while(turn.lock().unwrap(), |turn| *turn != p.number).unwrap();
    *turn = (*turn + 1) % p.shared.threads;
    changed.notify_all();
}

#[unseen::test(of = do_thread)]
fn spoil_thread(p: &mut Place) -> bool {
    let shared = p.shared.clone();
    let poisoned = thread::spawn(move || {
        let _held = shared.counted.try_lock();
        panic!("poisons what it holds");
    });
    let _ = poisoned.join();
    p.shared.turn.1.notify_all();
    p.shared.atomic.store(7, Ordering::SeqCst);
    true
}

#[inline(never)]
fn do_process(p: &mut Place) {
    assert_eq!(env::current_dir().unwrap(), p.shared.directory);
    assert_eq!(env::var("KEPT").as_deref(), Ok("kept"));
    assert!(env::var("SPOILT").is_err());
    if let Some(mut child) = p.child.take() {
        assert_eq!(child.wait().unwrap().code(), Some(3));
    }
}

#[unseen::test(of = do_process)]
fn spoil_process(p: &mut Place) -> bool {
    for i in 0..5 {
        match (p.round + i) % 5 {
            0 => drop(env::set_current_dir("/")),
            // SAFETY: none, that is what it is for.
            1 => unsafe { env::set_var("SPOILT", "1") },
            2 => drop(p.child.as_mut().map(|child| child.kill())),
            3 => drop(p.child.as_mut().map(|child| child.wait())),
            _ => drop(Command::new("touch").arg(spoilt(p)).status()),
        }
    }
    true
}

#[inline(never)]
fn do_end(p: &mut Place) -> u64 {
    p.round
}

#[unseen::test(of = do_end)]
fn ends(p: &mut Place) -> bool {
    fn deeper(n: u64) -> u64 {
        let much = std::hint::black_box([n; 4096]);
        deeper(n + 1) + much[7]
    }
    match p.round % 5 {
        0 => process::exit(0),
        1 => process::abort(),
        2 => panic!("as it is meant"),
        3 => deeper(0) > 0,
        // SAFETY: none, that is what it is for.
        _ => unsafe { std::ptr::without_provenance::<u64>(8).read_volatile() > 0 },
    }
}

fn work(number: usize, shared: Arc<Shared>) {
    let path = shared.directory.join(format!("file-{number}"));
    let lines = shared.directory.join(format!("lines-{number}"));
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let far = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let mut p = Place {
        number,
        round: 0,
        path,
        file,
        lines: BufWriter::new(File::create_new(&lines).unwrap()),
        pipe: std::io::pipe().unwrap(),
        ends: (far, listener.accept().unwrap().0),
        channel: mpsc::channel(),
        list: (0..64).map(|_| Box::new(0)).collect(),
        child: None,
        shared,
    };
    for round in 0..p.shared.rounds {
        p.round = round;
        p.pipe.1.write_all(&round.to_le_bytes()).unwrap();
        p.ends.0.write_all(&(!round).to_le_bytes()).unwrap();
        p.channel.0.send(round).unwrap();
        if round % 8 == 0 {
            p.child = Some(Command::new("sh").args(["-c", "exit 3"]).spawn().unwrap());
        }
        do_file(&mut p);
        do_lines(&mut p);
        do_ends(&mut p);
        do_memory(&mut p);
        do_thread(&mut p);
        do_process(&mut p);
        assert_eq!(do_end(&mut p), round);
    }
    p.lines.flush().unwrap();
    let written: Vec<u64> = fs::read_to_string(lines).unwrap().lines().map(|l| l.parse().unwrap()).collect();
    assert!(written.into_iter().eq(0..p.shared.rounds));
}

fn main() {
    let words: Vec<String> = env::args().collect();
    let [_, directory, threads, rounds] = &words[..] else { process::exit(2) };
    let directory = fs::canonicalize(directory).unwrap();
    env::set_current_dir(&directory).unwrap();
    // SAFETY: there is one thread yet.
    unsafe { env::set_var("KEPT", "kept") };
    let (threads, rounds) = (threads.parse().unwrap(), rounds.parse().unwrap());
    let shared = Arc::new(Shared {
        threads,
        rounds,
        directory,
        counted: Mutex::new(0),
        atomic: AtomicU64::new(0),
        turn: Default::default(),
        table: Default::default(),
    });
    if threads == 1 {
        work(0, shared.clone());
    } else {
        let all: Vec<_> = (0..threads)
            .map(|n| {
                thread::spawn({
                    let shared = shared.clone();
                    move || work(n, shared)
                })
            })
            .collect();
        all.into_iter().for_each(|thread| thread.join().unwrap());
    }
    let expected = threads as u64 * rounds;
    assert_eq!(*shared.counted.lock().unwrap(), expected);
    assert_eq!(shared.atomic.load(Ordering::SeqCst), expected);
    let table = shared.table.read().unwrap();
    assert!(table.len() == threads && table.values().all(|round| *round == rounds - 1));
    println!("{threads} threads, {rounds} rounds: nothing was spoilt");
}
