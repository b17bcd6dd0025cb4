//! From words to a tree, with every check that RocketMQ makes before it knows a message.

use std::cmp::Ordering;

use super::BadExpression;
use super::evaluate::{Value, compare};
use super::token::{Lexer, Token, shown};
use super::tree::{Constant, HEIGHT_MAX, Node, Order, Search};

pub struct Parsed<'a> {
    pub root: Node,
    pub names: Vec<&'a str>,
    /// What follows the expression.
    pub unread: &'a str,
}

/// A part of the tree, with what its parents need to know of it.
struct Part {
    node: Node,
    height: usize,
    /// Where it begins, in bytes.
    at: usize,
}

type Parse<T = Part> = Result<T, BadExpression>;

pub fn parse(text: &str) -> Parse<Parsed<'_>> {
    let mut parser = Parser { text, lexer: Lexer::new(text), ahead: None, names: Vec::new(), depth: 0 };
    let root = parser.alternatives()?;
    let root = parser.condition(root)?.node;
    let (_, end) = parser.peek()?;
    Ok(Parsed { root, names: parser.names, unread: &text[end..] })
}

struct Parser<'a> {
    text: &'a str,
    lexer: Lexer<'a>,
    ahead: Option<(Token<'a>, usize)>,
    names: Vec<&'a str>,
    /// Parentheses and signs that are open.
    depth: usize,
}

impl<'a> Parser<'a> {
    fn peek(&mut self) -> Parse<(Token<'a>, usize)> {
        if let Some(ahead) = self.ahead {
            return Ok(ahead);
        }
        let next = self.lexer.next()?;
        self.ahead = Some(next);
        Ok(next)
    }

    fn take(&mut self) -> Parse<(Token<'a>, usize)> {
        let next = self.peek()?;
        self.ahead = None;
        Ok(next)
    }

    fn next_is(&mut self, token: Token<'a>) -> Parse<bool> {
        let is = self.peek()?.0 == token;
        if is {
            self.ahead = None;
        }
        Ok(is)
    }

    fn expect(&mut self, token: Token<'a>) -> Parse<()> {
        match self.take()? {
            (found, _) if found == token => Ok(()),
            (found, at) => Err(self.unexpected(&shown(token), found, at)),
        }
    }

    fn unexpected(&self, wanted: &str, found: Token<'_>, at: usize) -> BadExpression {
        self.lexer.bad(at, format!("{wanted} should stand here, not {}", shown(found)))
    }

    /// A node above others.
    fn above(&self, at: usize, height: usize, node: Node) -> Parse {
        if height >= HEIGHT_MAX {
            return Err(self.lexer.bad(at, format!("more than {HEIGHT_MAX} levels inside each other")));
        }
        Ok(Part { node, height: height + 1, at })
    }

    fn alternatives(&mut self) -> Parse {
        self.joined(Token::Or, Self::conjunction, Node::Or)
    }

    fn conjunction(&mut self) -> Parse {
        self.joined(Token::And, Self::equality, Node::And)
    }

    /// Conditions joined by one word; a single one need not be a condition.
    fn joined(
        &mut self,
        by: Token<'a>,
        part: impl Fn(&mut Self) -> Parse,
        join: impl Fn(Vec<Node>) -> Node,
    ) -> Parse {
        let first = part(self)?;
        if self.peek()?.0 != by {
            return Ok(first);
        }
        let first = self.condition(first)?;
        let (at, mut height, mut nodes) = (first.at, first.height, vec![first.node]);
        while self.next_is(by)? {
            let next = part(self)?;
            let next = self.condition(next)?;
            height = height.max(next.height);
            nodes.push(next.node);
        }
        self.above(at, height, join(nodes))
    }

    fn equality(&mut self) -> Parse {
        let mut left = self.comparison()?;
        loop {
            match self.peek()?.0 {
                Token::Equal => left = self.equal(left, false)?,
                Token::Unequal => left = self.equal(left, true)?,
                Token::Is => {
                    self.take()?;
                    let negated = self.next_is(Token::Not)?;
                    self.expect(Token::Null)?;
                    let (at, height) = (left.at, left.height);
                    left = self.above(at, height, Node::IsNull(Box::new(left.node)))?;
                    left = self.negated_if(negated, left)?;
                }
                _ => return Ok(left),
            }
        }
    }

    fn equal(&mut self, left: Part, negated: bool) -> Parse {
        self.take()?;
        let right = self.comparison()?;
        for part in [&left, &right] {
            if part.node == Node::Constant(Constant::Null) {
                return Err(self.lexer.bad(part.at, "NULL is compared with IS NULL"));
            }
        }
        if let (Node::Constant(Constant::Bool(_)), Node::Constant(constant)) = (&left.node, &right.node)
            && !matches!(constant, Constant::Bool(_))
        {
            return Err(self.lexer.bad(right.at, "this is no TRUE or FALSE to compare with one"));
        }
        let height = left.height.max(right.height);
        let equal = self.above(left.at, height, Node::Equal(Box::new([left.node, right.node])))?;
        self.negated_if(negated, equal)
    }

    fn negated_if(&self, negated: bool, part: Part) -> Parse {
        if negated { self.above(part.at, part.height, Node::Not(Box::new(part.node))) } else { Ok(part) }
    }

    fn comparison(&mut self) -> Parse {
        let mut left = self.signed()?;
        loop {
            left = match self.peek()?.0 {
                Token::Less => self.ordered(left, Order::Less)?,
                Token::LessOrEqual => self.ordered(left, Order::LessOrEqual)?,
                Token::Greater => self.ordered(left, Order::Greater)?,
                Token::GreaterOrEqual => self.ordered(left, Order::GreaterOrEqual)?,
                Token::Not => {
                    self.take()?;
                    self.predicate(left, true)?
                }
                Token::Between | Token::In | Token::Contains | Token::StartsWith | Token::EndsWith => {
                    self.predicate(left, false)?
                }
                _ => return Ok(left),
            }
        }
    }

    fn ordered(&mut self, left: Part, order: Order) -> Parse {
        self.take()?;
        let right = self.signed()?;
        self.check_orderable(&left)?;
        self.check_orderable(&right)?;
        let height = left.height.max(right.height);
        self.above(left.at, height, Node::Ordered(order, Box::new([left.node, right.node])))
    }

    fn check_orderable(&self, part: &Part) -> Parse<()> {
        match &part.node {
            Node::Constant(Constant::Int(_) | Constant::Long(_) | Constant::Double(_)) => Ok(()),
            node if node.is_condition() || matches!(node, Node::Constant(_)) => {
                Err(self.lexer.bad(part.at, "only numbers and properties have an order"))
            }
            _ => Ok(()),
        }
    }

    fn predicate(&mut self, left: Part, negated: bool) -> Parse {
        match self.take()? {
            (Token::Between, _) => self.between(left, negated),
            (Token::In, _) => self.is_in(&left, negated),
            (Token::Contains, _) => self.search(left, Search::Contains, negated),
            (Token::StartsWith, _) => self.search(left, Search::StartsWith, negated),
            (Token::EndsWith, _) => self.search(left, Search::EndsWith, negated),
            (found, at) => Err(self.unexpected("BETWEEN, IN, CONTAINS, STARTSWITH or ENDSWITH", found, at)),
        }
    }

    fn between(&mut self, value: Part, negated: bool) -> Parse {
        let low = self.signed()?;
        self.expect(Token::And)?;
        let high = self.signed()?;
        for part in [&value, &low, &high] {
            self.check_orderable(part)?;
        }
        if let (false, Node::Constant(least), Node::Constant(most)) = (negated, &low.node, &high.node)
            && compare(Value::of(most), Value::of(least)) == Ok(Ordering::Less)
        {
            return Err(self.lexer.bad(low.at, "the lower bound is above the upper one"));
        }
        let height = value.height.max(low.height).max(high.height);
        let parts = Box::new([value.node, low.node, high.node]);
        self.above(value.at, height, Node::Between { parts, negated })
    }

    fn is_in(&mut self, left: &Part, negated: bool) -> Parse {
        self.expect(Token::Open)?;
        let mut texts = vec![self.text_literal()?];
        while self.next_is(Token::Comma)? {
            texts.push(self.text_literal()?);
        }
        self.expect(Token::Close)?;
        let Node::Property(property) = left.node else {
            return Err(self.lexer.bad(left.at, "only a property can be IN a list"));
        };
        texts.sort_unstable();
        self.above(left.at, left.height, Node::In { property, texts: texts.into(), negated })
    }

    fn search(&mut self, left: Part, search: Search, negated: bool) -> Parse {
        let text = self.text_literal()?;
        let of = Box::new(left.node);
        self.above(left.at, left.height, Node::Search { of, search, text, negated })
    }

    fn text_literal(&mut self) -> Parse<Box<str>> {
        match self.take()? {
            (Token::Text(image), _) => Ok(unquoted(image)),
            (found, at) => Err(self.unexpected("a text in single quotes", found, at)),
        }
    }

    /// A value with its signs and NOTs.
    fn signed(&mut self) -> Parse {
        let (token, at) = self.take()?;
        self.depth += 1;
        if self.depth > HEIGHT_MAX {
            return Err(self.lexer.bad(at, format!("more than {HEIGHT_MAX} levels inside each other")));
        }
        let part = match token {
            Token::Plus => self.signed(),
            Token::Minus => {
                let of = self.signed()?;
                self.above(at, of.height, Node::Negate(Box::new(of.node)))
            }
            Token::Not => {
                let of = self.signed()?;
                let of = self.condition(of)?;
                self.above(at, of.height, Node::Not(Box::new(of.node)))
            }
            Token::Open => {
                let inside = self.alternatives()?;
                self.expect(Token::Close)?;
                Ok(inside)
            }
            _ => self.primary(token, at),
        };
        self.depth -= 1;
        part
    }

    fn primary(&mut self, token: Token<'a>, at: usize) -> Parse {
        let constant = match token {
            Token::Name(name) => {
                let node = Node::Property(self.place_of(name));
                return Ok(Part { node, height: 1, at });
            }
            Token::Text(image) => Constant::Text(unquoted(image)),
            Token::Integer(image) => self.integer(image, at)?,
            Token::Float(image) => self.float(image, at)?,
            Token::True => Constant::Bool(true),
            Token::False => Constant::Bool(false),
            Token::Null => Constant::Null,
            _ => return Err(self.unexpected("a value", token, at)),
        };
        Ok(Part { node: Node::Constant(constant), height: 1, at })
    }

    fn place_of(&mut self, name: &'a str) -> usize {
        self.names.iter().position(|known| *known == name).unwrap_or_else(|| {
            self.names.push(name);
            self.names.len() - 1
        })
    }

    fn integer(&self, image: &str, at: usize) -> Parse<Constant> {
        let digits = image.trim_end_matches(['l', 'L']);
        let value: i64 =
            digits.parse().map_err(|_| self.lexer.bad(at, format!("{image} is too large a number")))?;
        Ok(i32::try_from(value).map_or(Constant::Long(value), Constant::Int))
    }

    fn float(&self, image: &str, at: usize) -> Parse<Constant> {
        let value: f64 = image.parse().unwrap_or(f64::INFINITY);
        if value > f64::MAX {
            return Err(self.lexer.bad(at, format!("{image} is too large a number")));
        }
        if value <= 0.0 {
            return Err(self.lexer.bad(at, format!("{image} is too small a number: write 0")));
        }
        Ok(Constant::Double(value))
    }

    /// The part as a condition, which a bare property can be too.
    fn condition(&self, part: Part) -> Parse {
        match part.node {
            Node::Property(place) => Ok(Part { node: Node::Cast(place), ..part }),
            ref node if node.is_condition() => Ok(part),
            _ => {
                let text = self.text[part.at..].chars().take(20).collect::<String>();
                Err(self.lexer.bad(part.at, format!("{text:?} is neither true nor false")))
            }
        }
    }
}

fn unquoted(image: &str) -> Box<str> {
    image[1..image.len() - 1].replace("''", "'").into()
}
