//! Kinds of requests that go to Python: a flood of one kind must not keep the others waiting.

pub const KINDS: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Heartbeats, who is in a group, locks; registration of brokers at a nameserver.
    Client = 0,
    /// Whatever an administrator asks, and codes nobody knows.
    Admin = 1,
    /// Looking up messages.
    Query = 2,
    /// What clients do all day: send, pull, pop, acknowledge, commit, ask for routes.
    Other = 3,
}

impl Kind {
    /// The kind of a request code.
    pub fn of(code: i32) -> Self {
        match code {
            34 | 35 | 38 | 41 | 42 | 46 | 103 | 104 | 904 => Self::Client,
            12 | 33 => Self::Query,
            10
            | 11
            | 14
            | 15
            | 36
            | 37
            | 105
            | 310
            | 320
            | 324
            | 325
            | 361
            | 370
            | 400
            | 200_050..=200_200 => Self::Other,
            _ => Self::Admin,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // shows: RM-31
    #[test]
    fn codes_that_have_no_kind_of_their_own_share_one() {
        for code in [i32::MIN, -1, 0, 17, 999, 123_456, i32::MAX] {
            assert_eq!(Kind::of(code), Kind::Admin, "{code}");
        }
        assert_ne!(Kind::of(34), Kind::Admin);
    }
}
