//! The client's connections: requests go out together, answers find who waits for them.
//!
//! - `Courier` is the face: [`Courier::send`] a [`Request`], be told by [`Waiter::done`]; [`Courier::at`] runs an
//!   [`Errand`] on its thread; [`Courier::notify`] and [`Courier::take`] are the way to Python
//! - `carrier` is the thread, `link` one connection, `intake` its bytes; `tls` and `signing` are what they say
//! - `letterbox` is how other threads reach the thread, `notices` what waits for Python
//!
//! ```ignore
//! let courier = Arc::new(Courier::new(config)?);
//! let address: Arc<str> = "127.0.0.1:10911".into();
//! courier.send(Request {
//!     address: &address,
//!     code: 11,
//!     fields: &[("topic", "T".into()), ("queueId", 0.into())],
//!     body: Courier::no_body(),
//!     deadline: Instant::now() + Duration::from_secs(30),
//!     oneway: false,
//!     drains: false,
//!     waiter, // an Arc<impl Waiter>; its `done` is called once, on the courier's thread
//! });
//! ```

mod carrier;
mod config;
mod face;
mod intake;
mod letterbox;
mod link;
mod notices;
mod request;
mod signing;
#[cfg(test)]
pub(crate) mod tests;
mod tls;

pub use config::{CourierConfig, Keys, TlsConfig};
pub use face::Courier;
pub use notices::Notice;
pub use request::{Errand, Failure, Outcome, Request, Waiter};
