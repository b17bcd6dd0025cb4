//! Messages as the columns of an Arrow table.
//!
//! - `avro` decodes bodies to columns
//! - `columns` collects rows, each body copied once; `text` are its columns of text
//! - `schema` says which columns there are

pub mod avro;
mod columns;
mod schema;
mod text;

pub use columns::{Columns, Opening, Origin, Size};
pub use schema::Chosen;
