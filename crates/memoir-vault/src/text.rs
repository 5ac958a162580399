//! Bytes as text and back.

use zeroize::Zeroizing;

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// Lower-case hexadecimal digits, two a byte.
pub(crate) fn hex(bytes: &[u8]) -> Zeroizing<String> {
    // Room for all of it at once, so that growing leaves no copy of a secret behind.
    let mut text = Zeroizing::new(String::with_capacity(bytes.len() * 2));
    for byte in bytes {
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    text
}

/// Fills `output` from twice as many hexadecimal digits of either case; `false` where `text` is none.
pub(crate) fn read_hex(text: &[u8], output: &mut [u8]) -> bool {
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    text.len() == output.len() * 2
        && text.chunks_exact(2).zip(output).all(|(pair, byte)| {
            let read = digit(pair[0]).zip(digit(pair[1]));
            read.map(|(high, low)| *byte = high << 4 | low).is_some()
        })
}
