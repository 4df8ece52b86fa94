//! Going on as another user.

use std::io;

use crate::platform::service as system;

/// A user and a group of this system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    found: system::Account,
}

impl Account {
    /// Finds a user and a group, each by its name or number; without a group, the user's own.
    ///
    /// # Errors
    /// `NotFound` when there is none of that name, or when nobody has that number and no group is
    /// named; `Unsupported` where processes have no such users (Windows).
    pub fn look_up(user: &str, group: Option<&str>) -> io::Result<Self> {
        system::Account::look_up(user, group).map(|found| Self { found })
    }

    /// Makes the whole process that user's, with that group and the groups that the user is a member
    /// of, and makes sure that there is no way back.
    ///
    /// # Errors
    /// Those of `initgroups(3)`, `setgid(2)` and `setuid(2)`, above all that this process may not.
    /// The process is then between two users: it should end.
    pub fn assume(&self) -> io::Result<()> {
        self.found.assume()
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn users_and_groups_are_found_by_name_and_number() {
        let root = Account::look_up("root", None).expect("there is one");
        assert_eq!(Account::look_up("0", None).expect("the same"), root);
        let named = Account::look_up("root", Some("54321")).expect("any number is a group's");
        assert_ne!(named, root);
        let number = Account::look_up("54321", Some("54321")).expect("any number is a user's");
        assert_ne!(number, named);
        for (user, group) in [
            ("54321", None),
            ("no such user", None),
            ("root", Some("no such group")),
            ("", None),
            ("-1", None),
            ("ro\0ot", None),
        ] {
            let error = Account::look_up(user, group).expect_err(user);
            assert_eq!(error.kind(), io::ErrorKind::NotFound, "{user} {error}");
        }
    }
}
