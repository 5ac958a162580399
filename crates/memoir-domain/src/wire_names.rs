//! Enums whose variants each have one name outside of the code.

/// Defines an enum of plain variants, each with its wire name, which is written here and nowhere else: the variant's
/// form in JSON, in the database and in a text.
///
/// Beside the enum there are `ALL`, in the order of definition, `as_str`, `from_name` and `Display`.
#[macro_export]
macro_rules! wire_names {
    ($(#[$meta:meta])* pub enum $name:ident { $($(#[$of_variant:meta])* $variant:ident = $wire:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, ::serde::Serialize, ::serde::Deserialize)]
        pub enum $name {
            $($(#[$of_variant])* #[serde(rename = $wire)] $variant,)+
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
}
