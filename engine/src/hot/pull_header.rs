//! What a pull asks for.

use std::borrow::Cow;
use std::time::Duration;

use super::codes::request;
use super::offsets::Place;
use super::verdict::{Verdict, needed, number};
use crate::net::frame::Frame;
use crate::net::text::Text;

/// Bits of a pull's system flag.
mod flag {
    pub const COMMIT_OFFSET: i32 = 1;
    pub const SUSPEND: i32 = 2;
    pub const SUBSCRIPTION: i32 = 4;
}

/// No pull is held longer, whatever it asks for.
const HOLD_MAX: Duration = Duration::from_hours(1);

#[derive(Clone, Debug)]
pub struct Pull<'a> {
    pub group: Cow<'a, str>,
    pub topic: Cow<'a, str>,
    pub queue_id: i32,
    pub offset: i64,
    pub count_max: usize,
    pub bytes_max: Option<usize>,
    /// What the group has consumed, if the pull is to keep that.
    pub commit: Option<i64>,
    /// How long it may be held; `None` when it wants an answer at once.
    pub hold: Option<Duration>,
    /// The filter, when the pull brings its own.
    pub expression: Option<Cow<'a, str>>,
    pub expression_kind: ExpressionKind,
    pub subscription_version: i64,
    pub is_lite: bool,
}

/// What a pull's own filter is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpressionKind {
    Tags,
    Sql,
    Unknown,
}

impl ExpressionKind {
    fn of(name: Option<Text<'_>>) -> Self {
        match name {
            Some(name) if name.is("SQL92") => Self::Sql,
            Some(name) if !name.is_empty() && !name.is("TAG") => Self::Unknown,
            _ => Self::Tags,
        }
    }
}

#[derive(Default)]
struct Fields<'a> {
    group: Option<Text<'a>>,
    topic: Option<Text<'a>>,
    queue_id: Option<Text<'a>>,
    offset: Option<Text<'a>>,
    count_max: Option<Text<'a>>,
    bytes_max: Option<Text<'a>>,
    sys_flag: Option<Text<'a>>,
    commit: Option<Text<'a>>,
    hold: Option<Text<'a>>,
    expression: Option<Text<'a>>,
    expression_type: Option<Text<'a>>,
    version: Option<Text<'a>>,
}

impl<'a> Fields<'a> {
    fn of(frame: &Frame<'a>) -> Self {
        let mut found = Self::default();
        for field in frame.header.fields {
            let slot = match field.key.borrowed() {
                Some("consumerGroup") => &mut found.group,
                Some("topic") => &mut found.topic,
                Some("queueId") => &mut found.queue_id,
                Some("queueOffset") => &mut found.offset,
                Some("maxMsgNums") => &mut found.count_max,
                Some("maxMsgBytes") => &mut found.bytes_max,
                Some("sysFlag") => &mut found.sys_flag,
                Some("commitOffset") => &mut found.commit,
                Some("suspendTimeoutMillis") => &mut found.hold,
                Some("subscription") => &mut found.expression,
                Some("expressionType") => &mut found.expression_type,
                Some("subVersion") => &mut found.version,
                _ => continue,
            };
            *slot = Some(field.value);
        }
        found
    }
}

impl<'a> Pull<'a> {
    pub fn of(frame: &Frame<'a>) -> Result<Self, Verdict> {
        let fields = Fields::of(frame);
        let sys_flag: i32 = number(fields.sys_flag, "sysFlag")?;
        let has = |bit| sys_flag & bit != 0;
        let hold = fields.hold.and_then(Text::int).unwrap_or(0).max(0).cast_unsigned();
        let expression = fields.expression.map_or(Cow::Borrowed(""), Text::to_str);
        Ok(Self {
            group: needed(fields.group, "consumerGroup")?.to_str(),
            topic: needed(fields.topic, "topic")?.to_str(),
            queue_id: number(fields.queue_id, "queueId")?,
            offset: number(fields.offset, "queueOffset")?,
            count_max: number::<i32>(fields.count_max, "maxMsgNums")?.max(1) as usize,
            bytes_max: fields.bytes_max.and_then(Text::int).and_then(|bytes| usize::try_from(bytes).ok()),
            commit: if has(flag::COMMIT_OFFSET) {
                Some(number(fields.commit, "commitOffset")?)
            } else {
                None
            },
            hold: has(flag::SUSPEND).then(|| Duration::from_millis(hold).min(HOLD_MAX)),
            expression: has(flag::SUBSCRIPTION).then_some(expression),
            expression_kind: ExpressionKind::of(fields.expression_type),
            subscription_version: fields.version.and_then(Text::int).unwrap_or(0),
            is_lite: frame.header.code == request::LITE_PULL_MESSAGE,
        })
    }

    pub fn into_owned(self) -> Pull<'static> {
        Pull {
            group: self.group.into_owned().into(),
            topic: self.topic.into_owned().into(),
            expression: self.expression.map(|text| text.into_owned().into()),
            ..self
        }
    }

    pub fn place(&self) -> Place<'_> {
        Place { topic: self.topic.as_bytes(), group: self.group.as_bytes(), queue_id: self.queue_id }
    }
}
