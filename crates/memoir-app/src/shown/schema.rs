//! The schema of a view: one object of the facts and of the text.

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
