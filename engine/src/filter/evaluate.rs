//! The value of a tree for one message, in Java's types and by Java's rules of comparing them.

use std::borrow::Cow;
use std::cmp::Ordering;

use super::Unconvertible;
use super::java_number::{parse_double, parse_integer};
use super::tree::{Constant, Node, Order, Search};

/// Most expressions name few properties: their values need no memory of their own.
const SLOTS_INLINE: usize = 8;

/// What a message has of the properties that an expression names.
pub struct Slots<'a> {
    few: [Option<Cow<'a, str>>; SLOTS_INLINE],
    more: Vec<Option<Cow<'a, str>>>,
}

impl<'a> Slots<'a> {
    pub fn new(count: usize) -> Self {
        Self { few: [const { None }; SLOTS_INLINE], more: vec![None; count.saturating_sub(SLOTS_INLINE)] }
    }

    pub fn fill(&mut self, place: usize, value: &'a [u8]) {
        let slot = match self.few.get_mut(place) {
            Some(slot) => slot,
            None => &mut self.more[place - SLOTS_INLINE],
        };
        *slot = Some(String::from_utf8_lossy(value));
    }

    fn value(&self, place: usize) -> Value<'_> {
        let slot = self.few.get(place).unwrap_or_else(|| &self.more[place - SLOTS_INLINE]);
        slot.as_deref().map_or(Value::Null, Value::Text)
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    Null,
    Bool(bool),
    Int(i32),
    Long(i64),
    Double(f64),
    Text(&'a str),
}

impl<'a> Value<'a> {
    pub fn of(constant: &'a Constant) -> Self {
        match constant {
            Constant::Null => Self::Null,
            Constant::Bool(value) => Self::Bool(*value),
            Constant::Int(value) => Self::Int(*value),
            Constant::Long(value) => Self::Long(*value),
            Constant::Double(value) => Self::Double(*value),
            Constant::Text(value) => Self::Text(value),
        }
    }

    fn is_null(self) -> bool {
        matches!(self, Self::Null)
    }
}

type Truth = Result<Option<bool>, Unconvertible>;

/// The value of a condition.
pub fn truth(node: &Node, slots: &Slots<'_>) -> Truth {
    match node {
        Node::Cast(place) => Ok((!slots.value(*place).is_null()).then_some(false)),
        Node::Not(of) => Ok(truth(of, slots)?.map(|value| !value)),
        Node::And(nodes) => joined(nodes, slots, false),
        Node::Or(nodes) => joined(nodes, slots, true),
        Node::Equal(sides) => equal(&sides[0], &sides[1], slots),
        Node::IsNull(of) => Ok(Some(value(of, slots)?.is_null())),
        Node::Ordered(order, sides) => ordered(value(&sides[0], slots)?, *order, &sides[1], slots),
        Node::Between { parts, negated } => between(parts, *negated, slots),
        Node::In { property, texts, negated } => Ok(match slots.value(*property) {
            Value::Text(text) => Some(texts.binary_search_by(|each| (**each).cmp(text)).is_ok() != *negated),
            _ => None,
        }),
        Node::Search { of, search, text, negated } => found(of, *search, text, *negated, slots),
        Node::Constant(Constant::Bool(value)) => Ok(Some(*value)),
        // No other is where a condition is asked for.
        Node::Constant(_) | Node::Property(_) | Node::Negate(_) => Ok(None),
    }
}

fn value<'v>(node: &'v Node, slots: &'v Slots<'_>) -> Result<Value<'v>, Unconvertible> {
    Ok(match node {
        Node::Constant(constant) => Value::of(constant),
        Node::Property(place) => slots.value(*place),
        Node::Negate(of) => match value(of, slots)? {
            Value::Int(number) => Value::Int(number.wrapping_neg()),
            Value::Long(number) => Value::Long(number.wrapping_neg()),
            Value::Double(number) => Value::Double(-number),
            _ => Value::Null,
        },
        _ => truth(node, slots)?.map_or(Value::Null, Value::Bool),
    })
}

/// AND, which a false part decides, or OR, which a true one does. What comes after that is not looked at.
fn joined(nodes: &[Node], slots: &Slots<'_>, decides: bool) -> Truth {
    let mut result = Some(!decides);
    for node in nodes {
        match truth(node, slots)? {
            Some(value) if value == decides => return Ok(Some(decides)),
            Some(_) => {}
            None => result = None,
        }
    }
    Ok(result)
}

fn equal(left: &Node, right: &Node, slots: &Slots<'_>) -> Truth {
    match (value(left, slots)?, value(right, slots)?) {
        (Value::Null, Value::Null) => Ok(Some(true)),
        (Value::Null, _) => Ok(None),
        (_, Value::Null) => Ok(Some(false)),
        (left, right) => Ok(Some(compare(left, right)? == Ordering::Equal)),
    }
}

/// The right side is not looked at when the left one is null.
fn ordered(left: Value<'_>, order: Order, right: &Node, slots: &Slots<'_>) -> Truth {
    if left.is_null() {
        return Ok(None);
    }
    let ordering = match (left, value(right, slots)?) {
        (_, Value::Null) => return Ok(None),
        (Value::Text(left), Value::Text(right)) => compare(
            Value::Double(parse_double(left).ok_or(Unconvertible)?),
            Value::Double(parse_double(right).ok_or(Unconvertible)?),
        )?,
        (left, right) => compare(left, right)?,
    };
    Ok(Some(match order {
        Order::Less => ordering.is_lt(),
        Order::LessOrEqual => ordering.is_le(),
        Order::Greater => ordering.is_gt(),
        Order::GreaterOrEqual => ordering.is_ge(),
    }))
}

fn between([of, low, high]: &[Node; 3], negated: bool, slots: &Slots<'_>) -> Truth {
    let of = value(of, slots)?;
    // Outside decides NOT BETWEEN, and being outside decides BETWEEN: either way the first bound may be enough.
    let (at_low, at_high) =
        if negated { (Order::Less, Order::Greater) } else { (Order::GreaterOrEqual, Order::LessOrEqual) };
    let mut result = Some(!negated);
    for (order, bound) in [(at_low, low), (at_high, high)] {
        match ordered(of, order, bound, slots)? {
            Some(value) if value == negated => return Ok(Some(negated)),
            Some(_) => {}
            None => result = None,
        }
    }
    Ok(result)
}

fn found(of: &Node, search: Search, text: &str, negated: bool, slots: &Slots<'_>) -> Truth {
    if text.is_empty() {
        return Ok(Some(false));
    }
    let Value::Text(whole) = value(of, slots)? else { return Ok(Some(false)) };
    let found = match search {
        Search::Contains => whole.contains(text),
        Search::StartsWith => whole.starts_with(text),
        Search::EndsWith => whole.ends_with(text),
    };
    Ok(Some(found != negated))
}

/// Compare what is not null; kinds that have nothing in common count as less.
pub fn compare(left: Value<'_>, right: Value<'_>) -> Result<Ordering, Unconvertible> {
    use Value::{Bool, Double, Int, Long, Text};
    Ok(match (left, right) {
        (Bool(left), Bool(right)) => left.cmp(&right),
        (Text(left), Text(right)) => left.cmp(right),
        // Java converts the wrong one of the two, and fails.
        (Bool(_), Text(_)) => return Err(Unconvertible),
        (Text(left), Bool(right)) => left.eq_ignore_ascii_case("true").cmp(&right),
        (Int(left), Int(right)) => left.cmp(&right),
        (Long(left), Long(right)) => left.cmp(&right),
        (Int(left), Long(right)) => i64::from(left).cmp(&right),
        (Long(left), Int(right)) => left.cmp(&i64::from(right)),
        (Double(left), Double(right)) => compare_doubles(left, right),
        (Int(left), Double(right)) => compare_doubles(f64::from(left), right),
        (Double(left), Int(right)) => compare_doubles(left, f64::from(right)),
        (Long(left), Double(right)) => compare_doubles(as_double(left), right),
        (Double(left), Long(right)) => compare_doubles(left, as_double(right)),
        (Int(left), Text(right)) => left.cmp(&parse_integer(right)?),
        (Text(left), Int(right)) => parse_integer::<i32>(left)?.cmp(&right),
        (Long(left), Text(right)) => left.cmp(&parse_integer(right)?),
        (Text(left), Long(right)) => parse_integer::<i64>(left)?.cmp(&right),
        (Double(left), Text(right)) => compare_doubles(left, parse_double(right).ok_or(Unconvertible)?),
        (Text(left), Double(right)) => compare_doubles(parse_double(left).ok_or(Unconvertible)?, right),
        _ => Ordering::Less,
    })
}

/// NaN is like itself and above all others, and -0 is below 0.
fn compare_doubles(left: f64, right: f64) -> Ordering {
    match (left.is_nan(), right.is_nan()) {
        (false, false) => left.total_cmp(&right),
        (left, right) => left.cmp(&right),
    }
}

#[allow(clippy::cast_precision_loss)] // as Java does
fn as_double(number: i64) -> f64 {
    number as f64
}
