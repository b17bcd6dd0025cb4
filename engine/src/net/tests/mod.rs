mod codec;
mod inbox;
mod outgoing;
mod probe;
