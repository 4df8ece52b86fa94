//! A tape measure for networks.

fn main() -> std::process::ExitCode {
    tapeline::main()
}
