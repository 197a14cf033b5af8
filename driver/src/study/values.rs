//! Bytes as the source would write them: numbers and texts where the type is known, else in hex.

use unseen_abi::deps::{Deps, Type};

/// The bytes of pairs of hexadecimal digits.
pub fn from_hex(digits: &str) -> Option<Vec<u8>> {
    let digit = |b: u8| char::from(b).to_digit(16).map(|d| d as u8);
    let pairs = digits.as_bytes().chunks(2);
    pairs.map(|pair| Some(digit(*pair.first()?)? << 4 | digit(*pair.get(1)?)?)).collect()
}

/// What bytes mean as a value of a type, or as a text.
pub fn show(deps: Option<&Deps>, ty: Option<u32>, bytes: &[u8], is_text: bool) -> String {
    if is_text {
        let text = bytes.strip_suffix(&[0]).unwrap_or(bytes);
        return format!("\"{}\"", text.escape_ascii());
    }
    let known = deps.zip(ty).and_then(|(deps, ty)| deps.types.get(ty as usize));
    let number = match known {
        Some(Type::Plain { name, size }) if *size == bytes.len() as u64 => plain(name, bytes),
        Some(Type::Pointer(_)) if bytes.len() == 8 => Some(format!("{:#x}", unsigned(bytes))),
        _ => None,
    };
    number.unwrap_or_else(|| raw(bytes))
}

fn unsigned(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |n, byte| n << 8 | u64::from(*byte))
}

/// A number of a type that is known by its name.
fn plain(name: &str, bytes: &[u8]) -> Option<String> {
    let value = unsigned(bytes);
    let unused = 64 - 8 * bytes.len().clamp(1, 8) as u32;
    let signed = (value << unused) as i64 >> unused;
    Some(match (name, bytes.len()) {
        ("float" | "f32", 4) => f32::from_bits(value as u32).to_string(),
        ("double" | "f64", 8) => f64::from_bits(value).to_string(),
        ("bool" | "_Bool", 1) if value < 2 => (value == 1).to_string(),
        ("char", 1) if (b' '..=b'~').contains(&(value as u8)) => format!("{signed} '{}'", value as u8 as char),
        ("char", 4) => char::from_u32(value as u32).map_or_else(|| format!("{value:#x}"), |c| format!("{c:?}")),
        (_, 1 | 2 | 4 | 8) if is_unsigned(name) => value.to_string(),
        (_, 1 | 2 | 4 | 8) if is_signed(name) => signed.to_string(),
        _ => return None,
    })
}

fn is_unsigned(name: &str) -> bool {
    name.starts_with("unsigned") || matches!(name, "u8" | "u16" | "u32" | "u64" | "usize")
}

fn is_signed(name: &str) -> bool {
    let words = ["int", "long", "short", "long long", "long int", "short int", "long long int", "char", "signed char"];
    words.contains(&name) || matches!(name, "i8" | "i16" | "i32" | "i64" | "isize")
}

/// Bytes in groups of eight digits.
fn raw(bytes: &[u8]) -> String {
    if bytes.len() <= 8 && bytes.len().is_power_of_two() {
        return format!("{:#x}", unsigned(bytes));
    }
    let group = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
    bytes.chunks(4).map(group).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_reads_as_its_type_says() {
        let plain = |name: &str, size| Type::Plain { name: name.into(), size };
        let types = vec![
            plain("int", 4),
            plain("unsigned int", 4),
            plain("double", 8),
            plain("char", 1),
            plain("bool", 1),
            Type::Pointer(None),
            plain("enum color", 4),
        ];
        let deps = Deps { types, ..Deps::default() };
        let show = |ty: u32, bytes: &[u8]| super::show(Some(&deps), Some(ty), bytes, false);
        assert_eq!(show(0, &(-3_i32).to_le_bytes()), "-3");
        assert_eq!(show(1, &u32::MAX.to_le_bytes()), "4294967295");
        assert_eq!(show(2, &1.5_f64.to_le_bytes()), "1.5");
        assert_eq!(show(3, b"A"), "65 'A'");
        assert_eq!(show(4, &[1]), "true");
        assert_eq!(show(4, &[7]), "0x7", "no value of its type");
        assert_eq!(show(5, &0x1234_u64.to_le_bytes()), "0x1234");
        assert_eq!(show(6, &[2, 0, 0, 0]), "0x2");
        assert_eq!(show(0, &[1, 2]), "0x201", "not all of it");
        assert_eq!(show(9, &[1, 2, 3, 4, 5, 6, 7, 8, 9]), "01020304 05060708 09");
        assert_eq!(super::show(None, None, b"a\"b\n\0", true), "\"a\\\"b\\n\"");
        assert_eq!(super::show(None, None, &[], false), "");
    }

    #[test]
    fn digits_come_in_pairs() {
        assert_eq!(from_hex("00ff2a"), Some(vec![0, 255, 42]));
        assert_eq!(from_hex(""), Some(vec![]));
        assert_eq!((from_hex("0"), from_hex("zz")), (None, None));
    }
}
