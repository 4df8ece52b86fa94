//! Several runs of one test.

use super::{Group, OptionId as Id, OptionSpec, Personalities, Sides};

pub(super) const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new(Id::Repeat, None, "repeat")
        .value("COUNT")
        .only(Personalities::Native)
        .sides(Sides::CLIENT)
        .help(Group::Amount, "run the test so often, at most 1000 times")
        .details(
            "The result is the mean of the runs, with its 95 % confidence interval. An interrupt ends \
             the run and the series, and keeps what is there; so does a run that fails.",
        ),
    OptionSpec::new(Id::UntilCi, None, "until-ci")
        .value("PERCENT")
        .only(Personalities::Native)
        .sides(Sides::CLIENT)
        .help(
            Group::Amount,
            "repeat the test until its confidence interval is so narrow",
        )
        .details(
            "5 or 5%: until the interval is, from end to end, at most 5 % of the mean wide; of the rate, \
             or of what else the test is about, in each direction. At least 3 runs, at most 30 or as \
             many as --repeat says.",
        ),
    OptionSpec::new(Id::RepeatPause, None, "repeat-pause")
        .value("SECONDS")
        .only(Personalities::Native)
        .sides(Sides::CLIENT)
        .help(Group::Amount, "pause between two runs (default 1)"),
    OptionSpec::new(Id::RepeatCsv, None, "repeat-csv")
        .value("FILE")
        .only(Personalities::Native)
        .sides(Sides::CLIENT)
        .help(
            Group::Output,
            "a row of comma-separated values for each mean of a series",
        ),
];
