//! The values of statements.

use memoir_domain::Timestamp;

/// A value that a statement is given. The type of a column goes with it where there is none: some databases need it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Value<'value> {
    /// A number, a size, or a time in microseconds since 1970.
    Integer(Option<i64>),
    Flag(Option<bool>),
    Text(Option<&'value str>),
    /// Text whose bytes are what a seal is bound to.
    Json(Option<&'value str>),
    Bytes(Option<&'value [u8]>),
}

macro_rules! values_from {
    ($($kind:ty => |$value:ident| $made:expr;)*) => {
        $(impl<'value> From<$kind> for Value<'value> {
            fn from($value: $kind) -> Self {
                $made
            }
        })*
    };
}

values_from! {
    i64 => |value| Self::Integer(Some(value));
    u32 => |value| Self::Integer(Some(value.into()));
    Option<i64> => |value| Self::Integer(value);
    Timestamp => |value| Self::Integer(Some(value.microseconds()));
    Option<Timestamp> => |value| Self::Integer(value.map(Timestamp::microseconds));
    bool => |value| Self::Flag(Some(value));
    Option<bool> => |value| Self::Flag(value);
    &'value str => |value| Self::Text(Some(value));
    Option<&'value str> => |value| Self::Text(value);
    &'value [u8] => |value| Self::Bytes(Some(value));
    &'value [u8; 16] => |value| Self::Bytes(Some(value));
    &'value [u8; 32] => |value| Self::Bytes(Some(value));
    Option<&'value [u8; 16]> => |value| Self::Bytes(value.map(|value| &value[..]));
    Option<&'value [u8; 32]> => |value| Self::Bytes(value.map(|value| &value[..]));
    Option<&'value [u8]> => |value| Self::Bytes(value);
}

/// The values of a statement, in order.
#[macro_export]
macro_rules! values {
    ($($value:expr),* $(,)?) => {
        [$($crate::Value::from($value)),*]
    };
}
