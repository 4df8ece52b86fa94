//! What is made from the program: manual pages and completions, the schema, the classes of the Python
//! package, the page of warnings.

pub(crate) mod installed;
pub(crate) mod python;
pub(crate) mod schema;
pub(crate) mod warnings;
