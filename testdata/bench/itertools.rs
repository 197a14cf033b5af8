//! Workload for itertools: groups, joins, merges, windows and counts over the lines of a file.

use itertools::Itertools;

fn main() {
    let path = std::env::args().nth(1).expect("usage: bench FILE");
    let text = std::fs::read_to_string(path).expect("the file of lines");
    let lines: Vec<&str> = text.lines().collect();
    let mut sum = 0usize;
    let by_length = lines.iter().copied().into_group_map_by(|line| line.len());
    for (length, group) in by_length.iter().sorted() {
        sum += length * group.iter().unique().count();
        sum += group.iter().tuple_windows().filter(|(a, b)| a < b).count();
    }
    sum += lines.iter().map(|line| line.split('.').rev().join("-").len()).sum::<usize>();
    sum += lines.iter().step_by(2).sorted().merge(lines.iter().skip(1).step_by(2).sorted()).dedup().count();
    sum += lines.iter().chunk_by(|line| line.as_bytes()[0]).into_iter().map(|(_, run)| run.count() * 3).sum::<usize>();
    sum += lines.iter().counts_by(|line| line.bytes().filter(u8::is_ascii_digit).count()).len();
    sum += (0..lines.len().min(600)).tuple_combinations().filter(|&(a, b)| lines[a] == lines[b]).count();
    sum += lines.iter().minmax().into_option().map_or(0, |(low, high)| low.len() + high.len());
    sum += lines.iter().interleave(lines.iter().rev()).positions(|line| line.starts_with('1')).take(1000).sum::<usize>();
    println!("{sum}");
}
