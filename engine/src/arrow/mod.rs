//! Messages as the columns of an Arrow table.
//!
//! - `columns` collects rows, each body copied once; `text` are its columns of text
//! - `schema` says which columns there are

mod columns;
mod schema;
mod text;

pub use columns::{Columns, Opening, Origin, Size};
pub use schema::Chosen;
