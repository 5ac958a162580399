//! Reading all active memories of an agent page by page.

use memoir_domain::memory::Memory;
use memoir_store::{CountAndTokens, MemoryPage};
use memoir_vault::AgentKey;

use crate::{
    core::{Result, codec, load_room, parallel},
    memory::Memories,
};

/// The bytes of a page, approximately. As much stays in the heap of each thread that has read one.
const PAGE_BYTES: usize = 1 << 20;
/// Fewest and most memories of a page.
const PAGE_ROWS: [usize; 2] = [64, 4_096];

impl Memories<'_> {
    /// Adds all active memories to `folded`, in the order of their numbers; where they are long together, on
    /// threads for long work. In memory are one page of them and what `fold` keeps. The pages are of different moments:
    /// the caller compares the agent's version before and after, or follows what is written meanwhile.
    pub(crate) async fn fold_active<T: Send + 'static>(
        self,
        key: &AgentKey,
        mut folded: T,
        fold: fn(&mut T, &Memory),
    ) -> Result<T> {
        let active = self.known_counts().await?.active();
        // By the size of all pages together: many short ones in a row would delay others as much as a long one.
        let is_quick = load_room::bytes(active) <= load_room::QUICK_LOAD;
        let rows = rows_of_a_page(active);
        let mut page = MemoryPage {
            limit: rows,
            ..MemoryPage::default()
        };
        loop {
            let (found, room) = self.rows_with_room(&page).await?;
            let is_last = found.len() < rows as usize;
            let last = found.last().map(|row| row.number.0);
            let key = key.clone();
            let folding = move || {
                let opened = parallel::map(found, |row| codec::memory(&key, &row));
                for memory in opened {
                    fold(&mut folded, &memory?);
                }
                drop(room);
                Ok::<T, crate::Error>(folded)
            };
            folded = match is_quick {
                true => folding()?,
                false => parallel::run_blocking(folding).await??,
            };
            match last {
                Some(last) if !is_last => page.after = last,
                _ => return Ok(folded),
            }
        }
    }
}

/// The rows of a page of so many memories.
fn rows_of_a_page(active: CountAndTokens) -> u32 {
    let average =
        load_room::bytes(active) / usize::try_from(active.count).unwrap_or(usize::MAX).max(1);
    let [fewest, most] = PAGE_ROWS;
    // At most `PAGE_ROWS`, so that it cannot fail.
    let rows = (PAGE_BYTES / average.max(1)).clamp(fewest, most);
    u32::try_from(rows).unwrap_or(u32::MAX)
}
