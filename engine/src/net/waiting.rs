//! Connections of one thread that are not read because the store or other connections must catch up first.

use std::collections::VecDeque;

use hashbrown::HashMap;

use super::connection::{Connection, Pause};
use super::mailbox::Mail;
use super::shared::Shared;

/// So many go on at once; whether the next ones may is looked at again.
const AT_ONCE: usize = 64;
/// A frame that may take more memory than there is must be complete after this time.
const BEYOND_MS_MAX: u64 = 5000;

#[derive(Default)]
pub struct WaitingRoom {
    /// First come, first served.
    ids: VecDeque<u64>,
    /// Who is beyond the limit of memory, and since when as far as this thread knows.
    beyond: (u64, u64),
}

impl WaitingRoom {
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    pub fn put(&mut self, id: u64) {
        self.ids.push_back(id);
    }

    /// Let those go on whose reason to wait is over.
    pub fn let_go(
        &mut self,
        shared: &Shared,
        connections: &mut HashMap<u64, Connection>,
        now_ms: u64,
        again: &mut Vec<u64>,
    ) {
        if self.ids.is_empty() {
            return;
        }
        let pressed = shared.hot.as_ref().is_some_and(|hot| hot.is_pressed());
        let has_room = shared.room.may_have_some();
        if !has_room {
            self.hurry(shared, now_ms);
        }
        for _ in 0..self.ids.len().min(AT_ONCE) {
            let Some(id) = self.ids.pop_front() else { break };
            let Some(connection) = connections.get_mut(&id) else { continue };
            let stays = match connection.waits_for {
                Some(Pause::Store) => pressed,
                Some(Pause::Room) => !has_room,
                Some(Pause::Python) | None => continue,
            };
            if stays {
                self.ids.push_back(id);
            } else {
                connection.waits_for = None;
                connection.go_on(again);
            }
        }
    }

    /// End the connection that all others wait for if it takes too long.
    fn hurry(&mut self, shared: &Shared, now_ms: u64) {
        let holder = shared.room.beyond();
        if self.beyond.0 != holder {
            self.beyond = (holder, now_ms);
        } else if now_ms > self.beyond.1 + BEYOND_MS_MAX {
            let peer = shared.peers.lock().get(&holder).cloned();
            if let Some(peer) = peer {
                let reason = "its frame was not complete while others waited for memory";
                peer.mailbox().put(Mail::Close(holder, reason));
            }
            self.beyond.1 = now_ms;
        }
    }
}
