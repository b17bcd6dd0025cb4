//! A schema, compiled to what decoding needs: names resolved, unions with null folded into what they hold.

use std::fmt::Write;
use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Fields, TimeUnit};
use hashbrown::HashMap;

use super::bad::Bad;
use super::decimal;
use super::json::Value;
use crate::arrow::schema::{UTC, entry_of};

/// Arrow's readers take 64 levels, and a map has two.
const DEPTH_MAX: usize = 24;
/// A name may stand for a record as often as one likes, and each time for all its columns.
const NODES_MAX: usize = 4096;

#[derive(Debug)]
pub struct Schema {
    pub record: Kind,
    /// Of its canonical form, by CRC-64-AVRO.
    pub fingerprint: u64,
}

/// What a value is. Each has a byte at least, so that there are no more values than bytes.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    Boolean,
    Int,
    Long,
    Float,
    Double,
    Bytes,
    Text,
    Enum(Arc<[String]>),
    Fixed(usize),
    Date,
    Time(Precision),
    Timestamp { precision: Precision, local: bool },
    Decimal { size: Option<usize>, precision: u8, scale: i8 },
    Array(Arc<Node>),
    Map(Arc<Node>),
    Record(Arc<[(String, Node)]>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    Millis,
    Micros,
}

/// What a value is, and whether it may be null.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    pub kind: Kind,
    pub union: Option<Union>,
    /// Of this and all below it.
    pub nodes: usize,
    levels: usize,
}

/// How many branches a union has, and which of them is null.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Union {
    pub branches: usize,
    pub null: Option<usize>,
}

impl Schema {
    pub fn parse(text: &str) -> Result<Self, Bad> {
        let mut compiler = Compiler::default();
        let node = compiler.node(&Value::parse(text)?, "")?;
        if node.union.is_some() || !matches!(node.kind, Kind::Record(_)) {
            return Err(Bad::new("it is no record: only the fields of a record become columns"));
        }
        Ok(Self { record: node.kind, fingerprint: fingerprint(compiler.canonical.as_bytes()) })
    }
}

impl Kind {
    pub fn data_type(&self) -> DataType {
        match self {
            Self::Boolean => DataType::Boolean,
            Self::Int => DataType::Int32,
            Self::Long => DataType::Int64,
            Self::Float => DataType::Float32,
            Self::Double => DataType::Float64,
            Self::Bytes | Self::Fixed(_) => DataType::Binary,
            Self::Text | Self::Enum(_) => DataType::Utf8,
            Self::Date => DataType::Date32,
            Self::Time(_) => DataType::Time64(TimeUnit::Nanosecond),
            Self::Timestamp { local, .. } => {
                DataType::Timestamp(TimeUnit::Microsecond, (!local).then(|| UTC.into()))
            }
            Self::Decimal { precision, scale, .. } => DataType::Decimal128(*precision, *scale),
            Self::Array(items) => DataType::List(items.field("element")),
            Self::Map(values) => DataType::Map(entry_of(values.kind.data_type()), false),
            Self::Record(fields) => DataType::Struct(record_fields(fields)),
        }
    }
}

impl Node {
    pub fn field(&self, name: &str) -> FieldRef {
        Arc::new(Field::new(name, self.kind.data_type(), true))
    }
}

pub fn record_fields(fields: &[(String, Node)]) -> Fields {
    fields.iter().map(|(name, node)| node.field(name)).collect()
}

/// Compiles a schema while it writes down its canonical form.
#[derive(Default)]
struct Compiler {
    /// `None` while it is being defined.
    named: HashMap<String, Option<Node>>,
    canonical: String,
}

impl Compiler {
    fn node(&mut self, value: &Value, namespace: &str) -> Result<Node, Bad> {
        let node = match value {
            Value::Text(name) => self.by_name(name, namespace)?,
            Value::List(branches) => self.union(branches, namespace)?,
            Value::Object(_) => self.complex(value, namespace)?,
            Value::Word(word) => return Err(Bad::new(format!("{word} is no type of Avro"))),
        };
        if node.levels > DEPTH_MAX {
            return Err(Bad::new(format!("it is nested more than {DEPTH_MAX} levels deep")));
        }
        if node.nodes > NODES_MAX {
            return Err(Bad::new(format!("it has more than {NODES_MAX} columns")));
        }
        Ok(node)
    }

    fn by_name(&mut self, name: &str, namespace: &str) -> Result<Node, Bad> {
        if let Some(kind) = primitive(name)? {
            self.write(format_args!("\"{name}\""));
            return Ok(leaf(kind));
        }
        let full = full_name(name, namespace);
        let node = match self.named.get(&full) {
            Some(Some(node)) => node.clone(),
            Some(None) => {
                return Err(Bad::new(format!(
                    "{full} contains itself: a column cannot, so leave that field out"
                )));
            }
            None => return Err(Bad::new(format!("there is no type {full}"))),
        };
        self.write(format_args!("\"{full}\""));
        Ok(node)
    }

    fn union(&mut self, branches: &[Value], namespace: &str) -> Result<Node, Bad> {
        let is_null =
            |value: &Value| value.text().or(value.get("type").and_then(Value::text)) == Some("null");
        let null = branches.iter().position(is_null);
        if branches.len() != 1 + usize::from(null.is_some()) {
            return Err(Bad::new(
                "a union of several types is no column: only one with null beside one type is",
            ));
        }
        self.canonical.push('[');
        let mut found = None;
        for (index, branch) in branches.iter().enumerate() {
            if index > 0 {
                self.canonical.push(',');
            }
            if null == Some(index) {
                self.canonical.push_str("\"null\"");
            } else {
                found = Some(self.node(branch, namespace)?);
            }
        }
        self.canonical.push(']');
        let node = found.filter(|node| node.union.is_none());
        let mut node = node.ok_or(Bad::new("a union may not hold a union"))?;
        node.union = Some(Union { branches: branches.len(), null });
        Ok(node)
    }

    fn complex(&mut self, value: &Value, namespace: &str) -> Result<Node, Bad> {
        match value.get("type") {
            Some(Value::Text(name)) => match name.as_str() {
                "record" => self.record(value, namespace),
                "enum" => self.enumeration(value, namespace),
                "fixed" => self.fixed(value, namespace),
                "array" => {
                    let items = Arc::new(self.member(value, "array", "items", namespace)?);
                    Ok(above(Kind::Array(items.clone()), [&*items]))
                }
                "map" => {
                    let values = Arc::new(self.member(value, "map", "values", namespace)?);
                    Ok(above(Kind::Map(values.clone()), [&*values]))
                }
                _ => {
                    let mut node = self.by_name(name, namespace)?;
                    node.kind = logical(node.kind, value)?;
                    Ok(node)
                }
            },
            Some(inner) => self.node(inner, namespace),
            None => Err(Bad::new("a type is missing: {\"type\": ...}")),
        }
    }

    fn member(&mut self, value: &Value, kind: &str, key: &str, namespace: &str) -> Result<Node, Bad> {
        let member = value.get(key).ok_or_else(|| Bad::new(format!("the {kind} has no {key:?}")))?;
        self.write(format_args!("{{\"type\":\"{kind}\",\"{key}\":"));
        let node = self.node(member, namespace)?;
        self.canonical.push('}');
        Ok(node)
    }

    fn record(&mut self, value: &Value, namespace: &str) -> Result<Node, Bad> {
        let full = self.define(value, namespace)?;
        let namespace = full.rsplit_once('.').map_or("", |(space, _)| space);
        let fields = value.get("fields").and_then(Value::list).unwrap_or_default();
        if fields.is_empty() {
            return Err(Bad::new(format!("record {full} has no fields, so there is no column for it")));
        }
        self.write(format_args!("{{\"name\":\"{full}\",\"type\":\"record\",\"fields\":["));
        let mut found: Vec<(String, Node)> = Vec::with_capacity(fields.len());
        for field in fields {
            let name = name_of(field)?;
            if found.iter().any(|(other, _)| other == name) {
                return Err(Bad::new(format!("record {full} has two fields {name}")));
            }
            if !found.is_empty() {
                self.canonical.push(',');
            }
            self.write(format_args!("{{\"name\":\"{name}\",\"type\":"));
            let kind = field.get("type").ok_or(Bad::new("it has no type"));
            let node = kind.and_then(|kind| self.node(kind, namespace)).map_err(|bad| bad.within(name))?;
            self.canonical.push('}');
            found.push((name.to_owned(), node));
        }
        self.canonical.push_str("]}");
        let node = above(Kind::Record(found.clone().into()), found.iter().map(|(_, node)| node));
        self.named.insert(full, Some(node.clone()));
        Ok(node)
    }

    fn enumeration(&mut self, value: &Value, namespace: &str) -> Result<Node, Bad> {
        let full = self.define(value, namespace)?;
        let symbols: Option<Arc<[String]>> = value
            .get("symbols")
            .and_then(Value::list)
            .and_then(|list| list.iter().map(|each| each.text().map(str::to_owned)).collect());
        let symbols = symbols
            .filter(|list| !list.is_empty() && list.iter().all(|symbol| is_name(symbol)))
            .ok_or_else(|| Bad::new(format!("enum {full} needs a list of \"symbols\", each a name")))?;
        self.write(format_args!("{{\"name\":\"{full}\",\"type\":\"enum\",\"symbols\":[\""));
        self.canonical.push_str(&symbols.join("\",\""));
        self.canonical.push_str("\"]}");
        let node = leaf(Kind::Enum(symbols));
        self.named.insert(full, Some(node.clone()));
        Ok(node)
    }

    fn fixed(&mut self, value: &Value, namespace: &str) -> Result<Node, Bad> {
        let full = self.define(value, namespace)?;
        let size = value
            .get("size")
            .and_then(Value::size)
            .filter(|&size| (1..=i32::MAX as usize).contains(&size))
            .ok_or_else(|| Bad::new(format!("fixed {full} needs a \"size\" of 1 or more")))?;
        self.write(format_args!("{{\"name\":\"{full}\",\"type\":\"fixed\",\"size\":{size}}}"));
        let node = leaf(logical(Kind::Fixed(size), value)?);
        self.named.insert(full, Some(node.clone()));
        Ok(node)
    }

    /// The full name of a type that begins here.
    fn define(&mut self, value: &Value, enclosing: &str) -> Result<String, Bad> {
        let name = value.get("name").and_then(Value::text).unwrap_or_default();
        let namespace = value.get("namespace").and_then(Value::text).unwrap_or(enclosing);
        let full = full_name(name, namespace);
        if !full.split('.').all(is_name) || matches!(primitive(name), Err(_) | Ok(Some(_))) {
            return Err(Bad::new(format!("{full:?} is no name for a type")));
        }
        if self.named.insert(full.clone(), None).is_some() {
            return Err(Bad::new(format!("there are two types {full}")));
        }
        Ok(full)
    }

    fn write(&mut self, text: std::fmt::Arguments<'_>) {
        // Text takes everything.
        let _ = self.canonical.write_fmt(text);
    }
}

fn leaf(kind: Kind) -> Node {
    Node { kind, union: None, nodes: 1, levels: 1 }
}

fn above<'a>(kind: Kind, below: impl IntoIterator<Item = &'a Node>) -> Node {
    let (mut nodes, mut levels) = (1, 1);
    for node in below {
        nodes += node.nodes;
        levels = levels.max(1 + node.levels);
    }
    Node { kind, union: None, nodes, levels }
}

fn primitive(name: &str) -> Result<Option<Kind>, Bad> {
    Ok(Some(match name {
        "boolean" => Kind::Boolean,
        "int" => Kind::Int,
        "long" => Kind::Long,
        "float" => Kind::Float,
        "double" => Kind::Double,
        "bytes" => Kind::Bytes,
        "string" => Kind::Text,
        "null" => return Err(Bad::new("null alone is no column: only beside another type in a union")),
        _ => return Ok(None),
    }))
}

/// What a logical type makes of a kind. One that is unknown, or that does not fit, makes nothing of it, as Avro has it.
fn logical(kind: Kind, value: &Value) -> Result<Kind, Bad> {
    let name = value.get("logicalType").and_then(Value::text).unwrap_or_default();
    let timestamp = |precision, local| Kind::Timestamp { precision, local };
    Ok(match (name, kind) {
        ("date", Kind::Int) => Kind::Date,
        ("time-millis", Kind::Int) => Kind::Time(Precision::Millis),
        ("time-micros", Kind::Long) => Kind::Time(Precision::Micros),
        ("timestamp-millis", Kind::Long) => timestamp(Precision::Millis, false),
        ("timestamp-micros", Kind::Long) => timestamp(Precision::Micros, false),
        ("local-timestamp-millis", Kind::Long) => timestamp(Precision::Millis, true),
        ("local-timestamp-micros", Kind::Long) => timestamp(Precision::Micros, true),
        ("timestamp-nanos" | "local-timestamp-nanos", Kind::Long) => {
            return Err(Bad::new(format!(
                "Spark's timestamps have no nanoseconds: leave {name} out, and the column is a bigint"
            )));
        }
        ("decimal", Kind::Bytes) => decimal_of(None, value)?.unwrap_or(Kind::Bytes),
        ("decimal", Kind::Fixed(size)) => decimal_of(Some(size), value)?.unwrap_or(Kind::Fixed(size)),
        (_, kind) => kind,
    })
}

fn decimal_of(size: Option<usize>, value: &Value) -> Result<Option<Kind>, Bad> {
    let scale = value.get("scale").map_or(Some(0), Value::size);
    let (Some(precision), Some(scale)) = (value.get("precision").and_then(Value::size), scale) else {
        return Ok(None);
    };
    let room = size.and_then(decimal::digits_of).map_or(usize::MAX, usize::from);
    if precision == 0 || scale > precision || precision > room {
        return Ok(None);
    }
    let precision =
        u8::try_from(precision).ok().filter(|&digits| digits <= decimal::PRECISION_MAX).ok_or_else(|| {
            let most = decimal::PRECISION_MAX;
            Bad::new(format!("Spark's decimals have up to {most} digits, not {precision}"))
        })?;
    Ok(Some(Kind::Decimal { size, precision, scale: scale as i8 }))
}

fn full_name(name: &str, namespace: &str) -> String {
    if name.contains('.') || namespace.is_empty() { name.to_owned() } else { format!("{namespace}.{name}") }
}

fn name_of(field: &Value) -> Result<&str, Bad> {
    let name = field.get("name").and_then(Value::text).ok_or(Bad::new("a field has no name"))?;
    if is_name(name) { Ok(name) } else { Err(Bad::new(format!("{name:?} is no name for a field"))) }
}

/// Java's letters and digits are those of Unicode.
fn is_name(name: &str) -> bool {
    let letter = |character: char| character.is_alphabetic() || character == '_';
    name.starts_with(letter) && name.chars().all(|each| letter(each) || each.is_numeric())
}

/// CRC-64-AVRO.
fn fingerprint(bytes: &[u8]) -> u64 {
    const EMPTY: u64 = 0xC15D_213A_A4D7_A795;
    bytes.iter().fold(EMPTY, |crc, &byte| {
        (0..8).fold(crc ^ u64::from(byte), |crc, _| (crc >> 1) ^ (EMPTY & (crc & 1).wrapping_neg()))
    })
}
