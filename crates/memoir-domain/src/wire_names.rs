//! Enums whose variants each have one name outside of the code, and how a stored one is read that another version wrote;
//! types whose fields each have one source.

use std::fmt;

use serde::{Deserialize, Deserializer, de};

/// Defines an enum of plain variants, each with its wire name, which is written here and nowhere else: the variant's
/// form in JSON, in the database and in a text. Where names are no words (other than kinds, origins, roles and drivers),
/// each variant also has its label for people after `=>`; programs read the wire name, everywhere.
///
/// Beside the enum there are `ALL`, in the order of definition, `as_str`, `from_name` and `Display`, and `label` where
/// there are labels.
#[macro_export]
macro_rules! wire_names {
    ($(#[$meta:meta])* pub enum $name:ident { $($(#[$of_variant:meta])* $variant:ident = $wire:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, ::serde::Serialize, ::serde::Deserialize)]
        pub enum $name {
            $($(#[$of_variant])* #[doc = concat!("On the wire: `", $wire, "`.")] #[serde(rename = $wire)] $variant,)+
        }

        impl $name {
            /// Every one, in the order of definition.
            pub const ALL: [Self; [$($wire),+].len()] = [$(Self::$variant),+];

            /// The wire name.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $wire,)+
                }
            }

            /// The one of that wire name; `None` where none has it.
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|one| one.as_str() == name)
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, formatter: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                formatter.write_str(self.as_str())
            }
        }
    };
    ($(#[$meta:meta])* pub enum $name:ident {
        $($(#[$of_variant:meta])* $variant:ident = $wire:literal => $label:literal,)+
    }) => {
        $crate::wire_names! {
            $(#[$meta])*
            pub enum $name {
                $($(#[$of_variant])* #[doc = concat!("Shown as: ", $label, ".")] $variant = $wire,)+
            }
        }

        impl $name {
            /// The label for people, in the command line, the console and `docs/words.md`.
            pub const fn label(self) -> &'static str {
                match self {
                    $(Self::$variant => $label,)+
                }
            }
        }
    };
}

/// Serializes a type as the text that it is displayed as, and reads it by parsing.
#[macro_export]
macro_rules! serde_as_text {
    ($name:ident) => {
        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
                let text = <String as ::serde::Deserialize>::deserialize(source)?;
                text.parse().map_err(::serde::de::Error::custom)
            }
        }
    };
}

/// Defines a type of which each field comes from other values, and names its source beside it: a further field is one
/// line. `new` takes these values.
#[macro_export]
macro_rules! view {
    (
        $(#[$of_view:meta])*
        $visible:vis struct $view:ident from $($from:ident: $from_type:ty),+;
        $($(#[$of_field:meta])* $field_visible:vis $field:ident: $type:ty = $source:expr,)+
    ) => {
        $(#[$of_view])*
        $visible struct $view {
            $($(#[$of_field])* $field_visible $field: $type,)+
        }

        impl $view {
            pub(crate) fn new($($from: $from_type),+) -> Self {
                Self { $($field: $source),+ }
            }
        }
    };
}

/// The names of these fields, as far as two values differ in them.
macro_rules! differing {
    ($one:expr, $other:expr; $($field:ident),+) => {{
        let fields = [$((stringify!($field), $one.$field != $other.$field)),+];
        let different = fields.into_iter().filter(|(_, differs)| *differs);
        different.map(|(name, _)| name).collect()
    }};
}

/// Reads a stored name; `None` where this version of Memoir does not know it.
pub(crate) fn stored_name<'de, T, D: Deserializer<'de>>(
    from_name: fn(&str) -> Option<T>,
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    struct Name<T>(fn(&str) -> Option<T>);

    impl<T> de::Visitor<'_> for Name<T> {
        type Value = Option<T>;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("a name")
        }

        fn visit_str<E: de::Error>(self, name: &str) -> Result<Option<T>, E> {
            Ok((self.0)(name))
        }
    }

    // Memories are read by the thousand: no text is made of the name.
    deserializer.deserialize_str(Name(from_name))
}

/// Reads a stored value that can be absent; `None` also where this version of Memoir does not know it.
pub(crate) fn stored_or_none<'de, T: de::DeserializeOwned, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    let stored = serde_json::Value::deserialize(deserializer)?;
    Ok(T::deserialize(stored).ok())
}

/// Reads a stored value that can be absent; `strictest` where this version of Memoir does not know it.
pub(crate) fn stored_or_strictest<'de, T: de::DeserializeOwned, D: Deserializer<'de>>(
    strictest: T,
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    let stored = Option::<serde_json::Value>::deserialize(deserializer)?;
    Ok(stored.map(|stored| T::deserialize(stored).unwrap_or(strictest)))
}
