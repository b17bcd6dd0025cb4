//! Which columns messages have. `tailfin.arrow.schema` has the same list for Python and Spark.

use std::fmt;
use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Fields, TimeUnit};

/// The time zone of timestamps.
pub const UTC: &str = "UTC";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    Topic,
    BrokerName,
    QueueId,
    QueueOffset,
    MessageId,
    OffsetMessageId,
    Tags,
    Keys,
    Body,
    BornTimestamp,
    StoreTimestamp,
    BornHost,
    StoreHost,
    ReconsumeTimes,
    SysFlag,
    Flag,
    Properties,
}

/// The columns in their order.
const ALL: [(Column, &str); 17] = [
    (Column::Topic, "topic"),
    (Column::BrokerName, "brokerName"),
    (Column::QueueId, "queueId"),
    (Column::QueueOffset, "queueOffset"),
    (Column::MessageId, "msgId"),
    (Column::OffsetMessageId, "offsetMsgId"),
    (Column::Tags, "tags"),
    (Column::Keys, "keys"),
    (Column::Body, "body"),
    (Column::BornTimestamp, "bornTimestamp"),
    (Column::StoreTimestamp, "storeTimestamp"),
    (Column::BornHost, "bornHost"),
    (Column::StoreHost, "storeHost"),
    (Column::ReconsumeTimes, "reconsumeTimes"),
    (Column::SysFlag, "sysFlag"),
    (Column::Flag, "flag"),
    (Column::Properties, "properties"),
];

impl Column {
    fn kind(self) -> DataType {
        match self {
            Self::QueueId | Self::ReconsumeTimes | Self::SysFlag | Self::Flag => DataType::Int32,
            Self::QueueOffset => DataType::Int64,
            Self::BornTimestamp | Self::StoreTimestamp => {
                DataType::Timestamp(TimeUnit::Microsecond, Some(UTC.into()))
            }
            Self::Body => DataType::Binary,
            Self::Properties => DataType::Map(entries(), false),
            Self::Topic
            | Self::BrokerName
            | Self::MessageId
            | Self::OffsetMessageId
            | Self::Tags
            | Self::Keys
            | Self::BornHost
            | Self::StoreHost => DataType::Utf8,
        }
    }
}

/// The columns that somebody wants: none of the others is built.
#[derive(Clone, Debug)]
pub struct Chosen {
    columns: Arc<[Column]>,
    fields: Fields,
}

/// Names that cannot be chosen.
#[derive(Debug, PartialEq, Eq)]
pub enum BadChoice {
    Unknown(Box<str>),
    Nothing,
}

impl Chosen {
    /// In the order of the list, whatever that of the names is.
    pub fn by_names<S: AsRef<str>>(names: &[S]) -> Result<Self, BadChoice> {
        if let Some(unknown) = names.iter().find(|name| ALL.iter().all(|known| known.1 != name.as_ref())) {
            return Err(BadChoice::Unknown(unknown.as_ref().into()));
        }
        if names.is_empty() {
            return Err(BadChoice::Nothing);
        }
        let is_chosen = |known: &str| names.iter().any(|name| name.as_ref() == known);
        Ok(Self::those(is_chosen))
    }

    /// All columns but the properties, which cost as much as all others together.
    pub fn usual() -> Self {
        Self::those(|name| name != "properties")
    }

    fn those(is_chosen: impl Fn(&str) -> bool) -> Self {
        let chosen = || ALL.into_iter().filter(|known| is_chosen(known.1));
        Self {
            columns: chosen().map(|(column, _)| column).collect(),
            fields: chosen().map(|(column, name)| Field::new(name, column.kind(), true)).collect(),
        }
    }

    pub fn has(&self, column: Column) -> bool {
        self.columns.contains(&column)
    }

    pub fn fields(&self) -> &Fields {
        &self.fields
    }
}

impl fmt::Display for BadChoice {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(name) => write!(out, "there is no column '{name}'"),
            Self::Nothing => out.write_str("no column is chosen"),
        }
    }
}

/// A pair of the map of properties.
pub fn entries() -> FieldRef {
    entry_of(DataType::Utf8)
}

/// A pair of a map from text to some type.
pub fn entry_of(value: DataType) -> FieldRef {
    let pair = [Field::new("key", DataType::Utf8, false), Field::new("value", value, true)];
    Arc::new(Field::new("entries", DataType::Struct(pair.into_iter().collect()), false))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(chosen: &Chosen) -> Vec<&str> {
        chosen.fields().iter().map(|field| field.name().as_str()).collect()
    }

    #[test]
    fn what_is_chosen_comes_in_the_order_of_the_list() {
        let chosen = Chosen::by_names(&["body", "topic", "body"]).unwrap();
        assert_eq!(names(&chosen), ["topic", "body"]);
        assert!(chosen.has(Column::Body) && !chosen.has(Column::Keys));
    }

    #[test]
    fn properties_are_not_usual() {
        assert_eq!(names(&Chosen::usual()).len(), ALL.len() - 1);
        assert!(!Chosen::usual().has(Column::Properties));
    }

    #[test]
    fn names_of_no_column_and_no_names_are_refused() {
        let refused = |names: &[&str]| Chosen::by_names(names).unwrap_err().to_string();
        assert_eq!(refused(&["body", "bodi"]), "there is no column 'bodi'");
        assert_eq!(refused(&[]), "no column is chosen");
    }
}
