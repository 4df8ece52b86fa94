//! The results that there are.

use serde::Serialize;

use super::figure::{Chart, CsvTable, Quantity};
use super::page::{MethodHead, PageStyle};
use super::pass::Criterion;
use super::result::MethodResult;

/// Makes the enum of all results: a line for each method.
macro_rules! results {
    ($($variant:ident($result:ty),)*) => {
        /// The result of any method.
        #[derive(Clone, Debug, PartialEq, Serialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(untagged)]
        pub enum MethodOutcome {
            $(
                #[doc = concat!("[`", stringify!($result), "`].")]
                $variant(Box<$result>),
            )*
        }

        $(
            impl From<$result> for MethodOutcome {
                fn from(result: $result) -> Self {
                    Self::$variant(Box::new(result))
                }
            }
        )*

        impl MethodOutcome {
            /// See [`MethodResult::CRITERIA`].
            #[must_use]
            pub fn criteria(&self) -> &'static [Criterion] {
                match *self {
                    $(Self::$variant(_) => <$result as MethodResult>::CRITERIA,)*
                }
            }

            /// See [`MethodResult::page`].
            #[must_use]
            pub fn page(&self, head: &MethodHead, style: &PageStyle) -> String {
                match *self {
                    $(Self::$variant(ref result) => result.page(head, style),)*
                }
            }

            /// See [`MethodResult::verdict`].
            #[must_use]
            pub fn verdict(&self) -> String {
                match *self {
                    $(Self::$variant(ref result) => result.verdict(),)*
                }
            }

            /// See [`MethodResult::csv`].
            #[must_use]
            pub fn csv(&self) -> CsvTable {
                match *self {
                    $(Self::$variant(ref result) => result.csv(),)*
                }
            }

            /// See [`MethodResult::quantities`].
            #[must_use]
            pub fn quantities(&self) -> Vec<Quantity> {
                match *self {
                    $(Self::$variant(ref result) => result.quantities(),)*
                }
            }

            /// See [`MethodResult::charts`].
            #[must_use]
            pub fn charts(&self) -> Vec<Chart> {
                match *self {
                    $(Self::$variant(ref result) => result.charts(),)*
                }
            }

            /// See [`MethodResult::criterion`].
            #[must_use]
            pub fn criterion(&self, name: &str) -> Option<f64> {
                match *self {
                    $(Self::$variant(ref result) => result.criterion(name),)*
                }
            }

            /// See [`MethodResult::host_limited`].
            #[must_use]
            pub fn host_limited(&self) -> bool {
                match *self {
                    $(Self::$variant(ref result) => result.host_limited(),)*
                }
            }

            /// See [`MethodResult::shows_criteria`].
            #[must_use]
            pub fn shows_criteria(&self) -> bool {
                match *self {
                    $(Self::$variant(ref result) => result.shows_criteria(),)*
                }
            }
        }
    };
}

results! {
    Rfc6349(super::rfc6349::Rfc6349Result),
    Try(super::try_host::TryResult),
    Responsiveness(super::responsiveness::ResponsivenessResult),
    Capacity(super::capacity::CapacityResult),
    FindRate(super::find_rate::FindRateResult),
    Mtu(super::mtu::MtuResult),
}
