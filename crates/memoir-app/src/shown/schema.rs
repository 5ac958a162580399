//! The definition of a view, and its schema: one object of the facts and of the text.

use utoipa::openapi::{AllOf, Object, RefOr, Schema};

/// Describes a type as one object with the properties of several, under a name of its own.
macro_rules! one_object {
    ($shown:ty, $name:literal, [$($part:ty),+], $about:expr) => {
        impl ::utoipa::PartialSchema for $shown {
            fn schema() -> ::utoipa::openapi::RefOr<::utoipa::openapi::Schema> {
                $crate::shown::schema::of_parts([$(<$part as ::utoipa::PartialSchema>::schema()),+], $about)
            }
        }

        impl ::utoipa::ToSchema for $shown {
            fn name() -> ::std::borrow::Cow<'static, str> {
                $name.into()
            }

            fn schemas(
                schemas: &mut Vec<(String, ::utoipa::openapi::RefOr<::utoipa::openapi::Schema>)>,
            ) {
                $(<$part as ::utoipa::ToSchema>::schemas(schemas);)+
            }
        }
    };
}

pub(super) use one_object;

/// Defines a type that is shown, with the source of each of its fields. Its `new` takes what they come from.
macro_rules! view {
    (
        $(#[$of_view:meta])*
        pub struct $view:ident from $($from:ident: $from_type:ty),+;
        $($(#[$of_field:meta])* $field:ident: $type:ty = $source:expr,)+
    ) => {
        $(#[$of_view])*
        pub struct $view {
            $($(#[$of_field])* pub $field: $type,)+
        }

        impl $view {
            pub(crate) fn new($($from: $from_type),+) -> Self {
                Self { $($field: $source),+ }
            }
        }
    };
}

pub(crate) use view;

pub(super) fn of_parts(
    parts: impl IntoIterator<Item = RefOr<Schema>>,
    about: &str,
) -> RefOr<Schema> {
    let (mut whole, mut named) = (Object::new(), Vec::new());
    let mut parts: Vec<RefOr<Schema>> = parts.into_iter().collect();
    while let Some(part) = parts.pop() {
        match part {
            RefOr::T(Schema::Object(part)) => {
                whole.properties.extend(part.properties);
                whole.required.extend(part.required);
            }
            RefOr::T(Schema::AllOf(part)) => parts.extend(part.items),
            // A part with a name of its own keeps it.
            part => named.push(part),
        }
    }
    if named.is_empty() {
        whole.description = Some(about.to_owned());
        return RefOr::T(Schema::Object(whole));
    }
    let mut all = AllOf::new();
    all.items = named;
    all.items.push(RefOr::T(Schema::Object(whole)));
    all.description = Some(about.to_owned());
    RefOr::T(Schema::AllOf(all))
}
