//! dutch.

use super::Table;

pub(super) const TABLE: Table = Table::EMPTY;
