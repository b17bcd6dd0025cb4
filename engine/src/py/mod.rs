//! The seam: everything that Python sees. No other file names pyo3.

mod arrow;
mod avro;
mod client;
mod codec;
mod delay;
mod enter;
mod errors;
mod filter;
mod held_draft;
mod hot;
mod load;
mod message;
mod offline;
mod options;
mod read;
mod server;
mod server_options;
mod store;

#[pyo3::pymodule]
mod _engine {
    #[pymodule_export]
    use super::arrow::ArrowBatch;
    #[pymodule_export]
    use super::avro::AvroDecoder;
    #[pymodule_export]
    use super::client::courier::Courier;
    #[pymodule_export]
    use super::client::message::OutgoingMessage;
    #[pymodule_export]
    use super::client::outbox::Outbox;
    #[pymodule_export]
    use super::client::promise::Promise;
    #[pymodule_export]
    use super::client::reader::Reader;
    #[pymodule_export]
    use super::client::receipt::{Parcel, Receipt};
    #[pymodule_export]
    use super::client::received::{ReceivedMessage, compress_body, decode_messages};
    #[pymodule_export]
    use super::client::rows::{Tally, decode_handles, encode_handles};
    #[pymodule_export]
    use super::codec::{
        decode_batch, decode_message_id, encode_batch, encode_message_id, encode_record, java_hash,
    };
    #[pymodule_export]
    use super::delay::{DelayLevels, Timer};
    #[pymodule_export]
    use super::errors::{
        AppendRefused, BadExpression, DamagedMessage, LoadFailed, StoreClosed, StoreDamaged, StoreError,
        StoreLocked,
    };
    #[pymodule_export]
    use super::filter::SqlFilter;
    #[pymodule_export]
    use super::hot::HotPath;
    #[pymodule_export]
    use super::load::{LimitServer, run_load};
    #[pymodule_export]
    use super::message::Message;
    #[pymodule_export]
    use super::offline::OfflineLog;
    #[pymodule_export]
    use super::read::ReadResult;
    #[pymodule_export]
    use super::server::{Event, Request, Server};
    #[pymodule_export]
    use super::store::{Appended, LogStore};
}
