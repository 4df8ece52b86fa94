//! Prints the text of the page's API, for `cargo xtask generate`.
#![allow(clippy::print_stdout)]

fn main() {
    print!("{}", tapeline_web::openapi());
}
