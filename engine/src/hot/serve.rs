//! The doors of the hot path: requests come from the sockets, news from the store.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::codes::request;
use super::path::{HotPath, Settings};
use super::position::End;
use super::send::Sends;
use super::sent::reply_refused;
use super::verdict::Verdict;
use crate::log::watch::{Arrival, Watch};
use crate::net::frame::Frame;
use crate::net::hot::{Hot, Outbox};
use crate::net::peer::Peer;

impl Hot for HotPath {
    fn serve(&self, frames: &[Frame<'_>], peer: &Arc<Peer>, out: &mut Outbox<'_>) {
        let settings = self.settings();
        let mut stores = false;
        let mut sends = Sends::new(frames.len(), out.is_handed_back());
        for frame in frames {
            match frame.header.code {
                code if settings.by_python.contains(&code) && !out.is_handed_back() => out.to_python(frame),
                request::SEND_MESSAGE | request::SEND_MESSAGE_V2 | request::SEND_BATCH_MESSAGE => {
                    match sends.accept(self, &settings, frame) {
                        Err(Verdict::Refuse(refused)) => {
                            reply_refused(&settings, refused.code, &refused.remark, |reply| {
                                out.reply(frame, reply);
                            });
                        }
                        Err(Verdict::Python) => out.to_python(frame),
                        Ok(()) => stores = true,
                    }
                }
                _ => {
                    if let Err(verdict) = self.serve_other(&settings, frame, out) {
                        verdict.carry_out(frame, out);
                    }
                }
            }
        }
        sends.store(self, &settings, peer.remote(), out);
        if stores && self.falls_behind() {
            out.hold_back();
        }
    }

    fn is_pressed(&self) -> bool {
        self.store.is_pressed()
    }

    fn after_answers(&self) {
        self.store.dispatch_soon();
    }

    fn release(&self) {
        self.release_pulls();
    }
}

/// The followers of the log are looked at once for so many bytes: their positions are on cache lines that they change
/// all the time.
const LOOK_EVERY_BYTES: u64 = 1 << 20;

impl HotPath {
    /// Whether what is sent comes faster than the dispatcher or the disk can follow.
    fn falls_behind(&self) -> bool {
        let written = self.store.written();
        if written < self.look_at.load(Ordering::Relaxed) {
            return false;
        }
        let pressed = self.store.is_pressed();
        if !pressed {
            self.look_at.store(written + LOOK_EVERY_BYTES, Ordering::Relaxed);
        }
        pressed
    }

    fn serve_other(
        &self,
        settings: &Settings,
        frame: &Frame<'_>,
        out: &mut Outbox<'_>,
    ) -> Result<(), Verdict> {
        match frame.header.code {
            request::PULL_MESSAGE | request::LITE_PULL_MESSAGE => self.pull(settings, frame, out),
            request::QUERY_CONSUMER_OFFSET => self.query_offset(frame, out),
            request::UPDATE_CONSUMER_OFFSET => self.update_offset(frame, out),
            request::GET_MAX_OFFSET => self.end_of_queue(End::Max, frame, out),
            request::GET_MIN_OFFSET => self.end_of_queue(End::Min, frame, out),
            _ => Err(Verdict::Python),
        }
    }
}

impl Watch for HotPath {
    fn flushed(&self, offset: u64) {
        self.sent_is_flushed(offset);
    }

    fn waiting_for_disk(&self) -> usize {
        self.unflushed.sends()
    }

    fn is_waiting(&self) -> bool {
        self.held_pulls() > 0
    }

    fn arrived(&self, arrival: &Arrival<'_>) {
        self.parking.arrived(arrival);
    }

    fn stretch_arrived(&self, each: bool) {
        if each {
            self.answer_ready();
        } else if self.is_waiting() {
            self.look_for_arrivals();
        }
    }
}
