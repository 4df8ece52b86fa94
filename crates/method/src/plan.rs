//! The methods that there are.

use tapeline_report::method::MethodResult;
use tapeline_report::method::{Criterion, MethodOutcome, PlannedPhase};

use crate::common::Common;
use crate::error::MethodError;
use crate::procedure::Procedure;
use crate::run::Run;

/// Makes the enum of all plans: a line for each method.
macro_rules! methods {
    ($($variant:ident($plan:ty),)*) => {
        /// A method with what it is asked for.
        #[derive(Clone, Debug, PartialEq)]
        pub enum MethodPlan {
            $(
                #[doc = concat!("[`", stringify!($plan), "`].")]
                $variant(Box<$plan>),
            )*
        }

        $(
            impl From<$plan> for MethodPlan {
                fn from(plan: $plan) -> Self {
                    Self::$variant(Box::new(plan))
                }
            }
        )*

        impl MethodPlan {
            /// Words of all methods, and what each finds out.
            pub const WORDS: &'static [(&'static str, &'static str)] =
                &[$((<$plan as Procedure>::WORD, <$plan as Procedure>::ABOUT),)*];

            /// Pass criteria of the method of that word; none of an unknown one.
            #[must_use]
            pub fn criteria(word: &str) -> &'static [Criterion] {
                $(
                    if word == <$plan as Procedure>::WORD {
                        return <<$plan as Procedure>::Result as MethodResult>::CRITERIA;
                    }
                )*
                &[]
            }

            /// Word, standard and empty result of the method of that word.
            pub(crate) fn unmeasured(
                word: &str,
            ) -> Option<(&'static str, &'static str, MethodOutcome)> {
                $(
                    if word == <$plan as Procedure>::WORD {
                        let result = <$plan as Procedure>::Result::default();
                        let standard = <$plan as Procedure>::STANDARD;
                        return Some((<$plan as Procedure>::WORD, standard, result.into()));
                    }
                )*
                None
            }

            /// Its word.
            #[must_use]
            pub fn word(&self) -> &'static str {
                match *self {
                    $(Self::$variant(_) => <$plan as Procedure>::WORD,)*
                }
            }

            /// The standard that it follows.
            #[must_use]
            pub fn standard(&self) -> &'static str {
                match *self {
                    $(Self::$variant(_) => <$plan as Procedure>::STANDARD,)*
                }
            }

            /// What all methods are asked for alike.
            #[must_use]
            pub fn common(&self) -> &Common {
                match *self {
                    $(Self::$variant(ref plan) => plan.common(),)*
                }
            }

            /// The same, to be changed before the run.
            pub fn common_mut(&mut self) -> &mut Common {
                match *self {
                    $(Self::$variant(ref mut plan) => plan.common_mut(),)*
                }
            }

            /// See [`Procedure::phases`].
            #[must_use]
            pub fn phases(&self) -> Vec<PlannedPhase> {
                match *self {
                    $(Self::$variant(ref plan) => plan.phases(),)*
                }
            }

            /// See [`Procedure::run`]; what was measured comes with an error, too.
            pub(crate) fn run(
                &self,
                run: &mut Run<'_>,
            ) -> (MethodOutcome, Result<(), MethodError>) {
                match *self {
                    $(Self::$variant(ref plan) => {
                        let mut result = <$plan as Procedure>::Result::default();
                        let ended = plan.run(run, &mut result);
                        (result.into(), ended)
                    })*
                }
            }
        }
    };
}

methods! {
    Mtu(crate::mtu::MtuPlan),
    Rfc6349(crate::rfc6349::Rfc6349Plan),
    Try(crate::try_host::TryPlan),
    Responsiveness(crate::responsiveness::ResponsivenessPlan),
    Capacity(crate::capacity::CapacityPlan),
    FindRate(crate::find_rate::FindRatePlan),
}
