//! Bytes as text and back.

use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};
use zeroize::Zeroizing;

/// Lower-case hexadecimal digits, two a byte.
pub(crate) fn hex(bytes: &[u8]) -> Zeroizing<String> {
    Zeroizing::new(HEXLOWER.encode(bytes))
}

/// Fills `output` from twice as many hexadecimal digits of either case; `false` where `text` is none.
pub(crate) fn read_hex(text: &[u8], output: &mut [u8]) -> bool {
    text.len() == output.len() * 2 && HEXLOWER_PERMISSIVE.decode_mut(text, output).is_ok()
}
