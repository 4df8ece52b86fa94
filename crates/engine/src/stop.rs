//! Asking workers to stop, and where to run.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Weak};

use tapeline_sys::run_on_processor;

/// A flag that workers look at between two calls. A child is raised with its parent. Next to it stands the
/// CPU that threads of a single flow are to run on, where anybody has chosen one.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<Node>);

#[derive(Debug, Default)]
struct Node {
    raised: AtomicBool,
    /// Number of the CPU, from 1; 0 is none.
    cpu: AtomicU32,
    parent: Option<Stop>,
}

/// Where the calling thread runs by its flow's [`Stop`].
#[derive(Debug, Default)]
pub struct Place(u32);

impl Place {
    /// Moves the thread to the CPU that was chosen last. A CPU that it may not use leaves it where it is.
    #[inline]
    pub fn follow(&mut self, stop: &Stop) {
        let chosen = stop.chosen();
        if chosen != self.0 {
            self.0 = chosen;
            let _ = run_on_processor(chosen.saturating_sub(1));
        }
    }
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
            parent: Some(self.clone()),
            ..Node::default()
        }))
    }

    /// Has threads that serve a single one of its flows run on this CPU from their next call on.
    pub fn run_on(&self, cpu: u32) {
        self.0.cpu.store(cpu.saturating_add(1), Ordering::Relaxed);
    }

    /// The number of the CPU from 1; 0 where none was chosen.
    #[inline]
    fn chosen(&self) -> u32 {
        match (self.0.cpu.load(Ordering::Relaxed), &self.0.parent) {
            (0, Some(parent)) => parent.chosen(),
            (chosen, _) => chosen,
        }
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
