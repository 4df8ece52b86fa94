//! For which machines a program is: the head of an ELF file.

/// Program headers that name a loader of libraries (`PT_INTERP`).
const INTERPRETER: u32 = 3;

/// A program that needs nothing but Linux and its kind of processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Executable {
    machine: &'static str,
}

/// Why a file cannot be run elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotExecutable {
    /// It is none, or for a machine that is not known.
    Other,
    /// It needs libraries.
    Dynamic,
}

impl Executable {
    /// Reads the head of a file (System V ABI, chapters 4 and 5; 64 bits, little-endian).
    pub(crate) fn read(file: &[u8]) -> Result<Self, NotExecutable> {
        Self::parse(file)
            .ok_or(NotExecutable::Other)
            .and_then(|(executable, is_static)| match is_static {
                true => Ok(executable),
                false => Err(NotExecutable::Dynamic),
            })
    }

    fn parse(file: &[u8]) -> Option<(Self, bool)> {
        if !file.starts_with(b"\x7fELF\x02\x01") {
            return None;
        }
        let machine = match short(file, 18)? {
            62 => "x86_64",
            183 => "aarch64",
            243 => "riscv64",
            _ => return None,
        };
        let table = usize::try_from(u64::from_le_bytes(*file.get(32..)?.first_chunk()?)).ok()?;
        let (size, count) = (short(file, 54)?, short(file, 56)?);
        let mut is_static = true;
        for entry in 0..usize::from(count) {
            let at = table.checked_add(entry * usize::from(size))?;
            let kind = u32::from_le_bytes(*file.get(at..)?.first_chunk()?);
            is_static &= kind != INTERPRETER;
        }
        Some((Self { machine }, is_static))
    }

    /// What `uname -sm` says on a host that runs it.
    pub(crate) fn system(self) -> String {
        format!("Linux {}", self.machine)
    }
}

fn short(file: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*file.get(at..)?.first_chunk()?))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The head of a program.
    pub(crate) fn program(machine: &str, needs_libraries: bool) -> Vec<u8> {
        let mut file = vec![0; 64 + 56];
        file[..6].copy_from_slice(b"\x7fELF\x02\x01");
        file[18] = match machine {
            "x86_64" => 62,
            "aarch64" => 183,
            "riscv64" => 243,
            _ => 1,
        };
        file[32] = 64;
        file[54] = 56;
        file[56] = 1;
        file[64] = if needs_libraries { 3 } else { 1 };
        file
    }

    #[test]
    fn a_head_says_for_which_machine_it_is() {
        let read = |file: &[u8]| Executable::read(file).map(Executable::system);
        assert_eq!(
            read(&program("x86_64", false)),
            Ok("Linux x86_64".to_owned())
        );
        assert_eq!(
            read(&program("aarch64", false)),
            Ok("Linux aarch64".to_owned())
        );
        assert_eq!(read(&program("x86_64", true)), Err(NotExecutable::Dynamic));
        assert_eq!(read(&program("vax", false)), Err(NotExecutable::Other));
        let whole = program("x86_64", false);
        for length in 0..68 {
            assert_eq!(
                read(&whole[..length]),
                Err(NotExecutable::Other),
                "{length}"
            );
        }
        let mut far = whole;
        far[32..40].copy_from_slice(&u64::MAX.to_le_bytes());
        assert_eq!(read(&far), Err(NotExecutable::Other));
    }
}
