//! What all requests share.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use crate::guard::Guard;
use crate::key::Key;
use crate::program::Program;
use crate::test_queue::TestQueue;
use crate::trash::Trash;

/// How the page is served.
#[derive(Clone, Debug)]
pub struct SiteOptions {
    /// What opens it.
    pub key: Key,
    /// Names of this host beside its addresses, for a proxy.
    pub names: Vec<String>,
    /// Nothing starts, stops or changes.
    pub read_only: bool,
    /// Clients' tests that run at a time, 1 to [`SiteOptions::MAX_TESTS`].
    pub tests: usize,
}

impl SiteOptions {
    /// Clients' tests that may run at a time: with a server as many as the executor takes.
    pub const MAX_TESTS: usize = 3;
}

/// The page.
pub struct Site {
    pub(crate) program: Arc<dyn Program>,
    pub(crate) guard: Guard,
    pub(crate) read_only: bool,
    pub(crate) most: usize,
    pub(crate) tests: Arc<TestQueue>,
    pub(crate) trash: Trash,
    /// Readers of events.
    pub(crate) readers: Arc<AtomicUsize>,
}

impl Site {
    /// A page at a port.
    #[must_use]
    pub fn new(program: Arc<dyn Program>, options: SiteOptions, port: u16) -> Arc<Self> {
        Arc::new(Self {
            tests: Arc::new(TestQueue::new(Arc::clone(&program), options.tests)),
            program,
            guard: Guard::new(options.key, options.names, port),
            read_only: options.read_only,
            most: options.tests,
            trash: Trash::default(),
            readers: Arc::default(),
        })
    }

    /// Ends what runs, and removes what was to be removed.
    pub(crate) fn close(&self) {
        self.tests.close();
        let runs = self.trash.take(None);
        if !runs.is_empty()
            && let Err(why) = self.program.remove(&runs)
        {
            self.program.log(&format!("not removed: {why:?}"));
        }
    }
}
