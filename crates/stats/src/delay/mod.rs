//! How long packets were under way.

mod counts;
mod course;
mod histogram;
mod variation;

pub use counts::{DelayCounts, DifferenceBuckets};
pub use course::{DelayCourse, DelaySlice};
pub use histogram::{Bucket, DelayHistogram, PUBLISHED_PERCENTILES, bucket_index};
pub use variation::DelayVariation;
