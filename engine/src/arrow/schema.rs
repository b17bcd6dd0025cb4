//! Which columns messages have. `tailfin.arrow.schema` has the same list for Python and Spark.

use std::sync::{Arc, LazyLock};

use arrow_schema::{DataType, Field, FieldRef, Fields, TimeUnit};

/// The time zone of timestamps.
pub const UTC: &str = "UTC";

static FIELDS: LazyLock<(Fields, Fields)> = LazyLock::new(|| {
    let time = || DataType::Timestamp(TimeUnit::Microsecond, Some(UTC.into()));
    let mut fields: Vec<Field> = [
        ("topic", DataType::Utf8),
        ("brokerName", DataType::Utf8),
        ("queueId", DataType::Int32),
        ("queueOffset", DataType::Int64),
        ("msgId", DataType::Utf8),
        ("offsetMsgId", DataType::Utf8),
        ("tags", DataType::Utf8),
        ("keys", DataType::Utf8),
        ("body", DataType::Binary),
        ("bornTimestamp", time()),
        ("storeTimestamp", time()),
        ("bornHost", DataType::Utf8),
        ("storeHost", DataType::Utf8),
        ("reconsumeTimes", DataType::Int32),
        ("sysFlag", DataType::Int32),
        ("flag", DataType::Int32),
    ]
    .into_iter()
    .map(|(name, kind)| Field::new(name, kind, true))
    .collect();
    let usual = fields.clone().into();
    fields.push(Field::new("properties", DataType::Map(entries(), false), true));
    (usual, fields.into())
});

/// The columns in their order.
pub fn fields(with_properties: bool) -> &'static Fields {
    if with_properties { &FIELDS.1 } else { &FIELDS.0 }
}

/// A pair of the map of properties.
pub fn entries() -> FieldRef {
    let pair = [Field::new("key", DataType::Utf8, false), Field::new("value", DataType::Utf8, true)];
    Arc::new(Field::new("entries", DataType::Struct(pair.into_iter().collect()), false))
}
