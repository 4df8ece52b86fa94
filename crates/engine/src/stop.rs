//! Asking workers to stop.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

/// A flag that workers look at between two calls. A child is raised with its parent.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<Node>);

#[derive(Debug, Default)]
struct Node {
    raised: AtomicBool,
    parent: Option<Stop>,
}

impl Stop {
    /// A lowered flag.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A flag that is raised by itself or by this one.
    #[must_use]
    pub fn child(&self) -> Self {
        Self(Arc::new(Node {
            raised: AtomicBool::new(false),
            parent: Some(self.clone()),
        }))
    }

    /// Raises the flag; there is no way back.
    pub fn raise(&self) {
        self.0.raised.store(true, Ordering::Release);
    }

    /// Whether it or a parent is raised.
    #[must_use]
    #[inline]
    pub fn is_raised(&self) -> bool {
        self.0.raised.load(Ordering::Acquire) || self.0.parent.as_ref().is_some_and(Stop::is_raised)
    }

    /// A handle that does not keep the flag alive.
    #[must_use]
    pub fn downgrade(&self) -> WeakStop {
        WeakStop(Arc::downgrade(&self.0))
    }
}

/// See [`Stop::downgrade`].
#[derive(Clone, Debug)]
pub struct WeakStop(Weak<Node>);

impl WeakStop {
    /// Raises the flag when anybody still looks at it.
    pub fn raise(&self) {
        if let Some(node) = self.0.upgrade() {
            node.raised.store(true, Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parent_raises_its_children_but_not_the_other_way() {
        let parent = Stop::new();
        let (one, two) = (parent.child(), parent.child());
        one.raise();
        assert!(one.is_raised() && !two.is_raised() && !parent.is_raised());
        parent.raise();
        assert!(two.is_raised());
    }
}
