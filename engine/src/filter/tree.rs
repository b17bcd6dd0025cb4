//! What an expression becomes.

/// How deep a tree may be. Each level costs stack, of the parser and of whoever asks.
pub const HEIGHT_MAX: usize = 256;

#[derive(Clone, Debug, PartialEq)]
pub enum Constant {
    Null,
    Bool(bool),
    Int(i32),
    Long(i64),
    Double(f64),
    Text(Box<str>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Search {
    Contains,
    StartsWith,
    EndsWith,
}

#[derive(Debug, PartialEq)]
pub enum Node {
    Constant(Constant),
    /// By its place among the expression's names.
    Property(usize),
    Negate(Box<Node>),
    /// A property where a condition is asked for: never true, since properties are strings.
    Cast(usize),
    Not(Box<Node>),
    /// Two or more, from left to right.
    And(Vec<Node>),
    Or(Vec<Node>),
    Equal(Box<[Node; 2]>),
    IsNull(Box<Node>),
    Ordered(Order, Box<[Node; 2]>),
    /// The value, then its bounds.
    Between {
        parts: Box<[Node; 3]>,
        negated: bool,
    },
    /// Sorted.
    In {
        property: usize,
        texts: Box<[Box<str>]>,
        negated: bool,
    },
    Search {
        of: Box<Node>,
        search: Search,
        text: Box<str>,
        negated: bool,
    },
}

impl Node {
    /// Whether it is a condition, and not a mere value.
    pub fn is_condition(&self) -> bool {
        match self {
            Self::Constant(constant) => matches!(constant, Constant::Null | Constant::Bool(_)),
            Self::Property(_) | Self::Negate(_) => false,
            _ => true,
        }
    }
}
