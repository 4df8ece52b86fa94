//! A job and its options.

#[cfg(test)]
use std::ffi::OsString;

use tapeline_remote::GivenOption;

use crate::cli::order;
use crate::cli::spec::{OptionId, OptionSpec};

/// What stands in the place of a permit key. It is too short to be one.
pub(crate) const HIDDEN_KEY: &str = "…";

/// Which job the options are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FormJob {
    Client,
    Server,
}

/// A job and its options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Form {
    job: FormJob,
    options: Vec<GivenOption>,
}

impl Form {
    /// The options in the table's order, since some depend on what stands before them.
    pub(crate) fn new(job: FormJob, mut options: Vec<GivenOption>) -> Self {
        options.sort_by_key(|given| order::find(&given.name).map_or(usize::MAX, rank));
        Self { job, options }
    }

    /// What is to be done.
    pub(crate) fn job(&self) -> FormJob {
        self.job
    }

    /// In the table's order.
    pub(crate) fn options(&self) -> &[GivenOption] {
        &self.options
    }

    /// The options with their rows.
    ///
    /// # Errors
    /// The first option that the table does not have.
    pub(crate) fn rows(&self) -> Result<Vec<(&'static OptionSpec, &GivenOption)>, String> {
        let rows = self.options.iter();
        rows.map(|given| Ok((order::find(&given.name)?, given)))
            .collect()
    }

    /// Whether the option is given.
    pub(crate) fn has(&self, id: OptionId) -> bool {
        self.value(id).is_some()
    }

    /// The value of an option that is given; a switch's is empty.
    pub(crate) fn value(&self, id: OptionId) -> Option<&str> {
        let mut options = self.options.iter();
        let given =
            options.find(|given| order::find(&given.name).is_ok_and(|spec| spec.id == id))?;
        Some(given.value.as_deref().unwrap_or_default())
    }

    /// The same with another permit key, if it has one.
    pub(crate) fn with_key(&self, key: impl Fn(&str) -> String) -> Self {
        let mut form = self.clone();
        for given in &mut form.options {
            if is_key(given)
                && let Some(value) = &mut given.value
            {
                *value = key(value);
            }
        }
        form
    }

    /// The same with letters in the place of the permit key: as many, since its length can be wrong.
    pub(crate) fn with_neutral_key(&self) -> Self {
        self.with_key(|key| "k".repeat(key.len()))
    }

    /// The words behind `tapeline`, checked one by one.
    ///
    /// # Errors
    /// The first option that cannot be given so.
    #[cfg(test)]
    pub(crate) fn words(&self) -> Result<Vec<OsString>, String> {
        let server = (self.job == FormJob::Server).then(|| "--server".into());
        let mut words: Vec<OsString> = server.into_iter().collect();
        for given in &self.options {
            words.push(self.word(given)?.into());
        }
        Ok(words)
    }

    /// The word of one option.
    ///
    /// # Errors
    /// It cannot be given so.
    pub(crate) fn word(&self, given: &GivenOption) -> Result<String, String> {
        let spec = order::find(&given.name)?;
        if spec.id == OptionId::Server {
            return Err("--server: the job says who serves".to_owned());
        }
        order::word(spec, given)
    }
}

fn rank(spec: &OptionSpec) -> usize {
    spec.id as usize
}

/// Whether it is the permit key.
pub(crate) fn is_key(given: &GivenOption) -> bool {
    order::find(&given.name).is_ok_and(|spec| spec.id == OptionId::PermitKey)
}
