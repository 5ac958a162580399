//! The known name that is closest to a mistyped one.

use memoir_domain::text::gaps;

/// The name that is most like the typed one; `None` where none is similar.
pub(crate) fn closest<'a>(typed: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    const LIKE: f32 = 0.6;
    let typed = typed.to_lowercase();
    names
        .map(|name| {
            let other = name.to_lowercase();
            let [left, right] = [typed.as_str(), &other].map(|text| {
                // Each character becomes a text of its own, since `gaps` compares lists of texts.
                let characters = text.split_inclusive(|_| true);
                characters.collect::<Vec<&str>>()
            });
            let apart = gaps(&left, &right).into_iter().flatten();
            let apart: usize = apart.map(|places| places.len()).sum();
            let all = left.len() + right.len();
            (name, (all - apart) as f32 / all.max(1) as f32)
        })
        .filter(|(_, like)| *like >= LIKE)
        .max_by(|(_, one), (_, other)| one.total_cmp(other))
        .map(|(name, _)| name)
}
