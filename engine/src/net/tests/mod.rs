mod codec;
mod inbox;
mod outgoing;
mod pauses;
mod probe;
