//! Which methods a server takes orders for.

use std::fmt;

/// The methods that clients may order parts of, and their versions.
pub const METHODS: [(&str, u32); 3] = [("capacity", 1), ("mtu", 1), ("samples", 1)];

/// What stands for all of them, and for none.
const ALL: &str = "all";
const NONE: &str = "none";

/// Methods that foreign clients may order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum AllowedMethods {
    /// Every one.
    #[default]
    All,
    /// These, in the order of [`METHODS`].
    These(Vec<&'static str>),
}

impl AllowedMethods {
    /// From `all`, `none`, or names with commas between them; nothing where a name is not known.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            ALL => return Some(Self::All),
            NONE => return Some(Self::These(Vec::new())),
            _ => {}
        }
        let wanted: Vec<&str> = text.split(',').collect();
        let known = |name: &&str| METHODS.iter().any(|(known, _)| known == name);
        let names = METHODS.iter().map(|(name, _)| *name);
        wanted
            .iter()
            .all(known)
            .then(|| Self::These(names.filter(|name| wanted.contains(name)).collect()))
    }

    /// Whether a foreign client may order this method.
    #[must_use]
    pub fn allow(&self, name: &str) -> bool {
        match self {
            Self::All => METHODS.iter().any(|(known, _)| *known == name),
            Self::These(names) => names.contains(&name),
        }
    }
}

/// As [`AllowedMethods::parse`] reads them.
impl fmt::Display for AllowedMethods {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str(ALL),
            Self::These(names) if names.is_empty() => f.write_str(NONE),
            Self::These(names) => f.write_str(&names.join(",")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_are_allowed_by_their_names() {
        let all = AllowedMethods::default();
        assert!(METHODS.iter().all(|(name, _)| all.allow(name)) && !all.allow("other"));
        for text in ["all", "none", "mtu", "capacity,samples"] {
            let read = AllowedMethods::parse(text).expect("methods");
            assert_eq!(read.to_string(), text);
        }
        let two = AllowedMethods::parse("samples,mtu").expect("methods");
        assert!(two.allow("mtu") && two.allow("samples") && !two.allow("capacity"));
        assert_eq!(two.to_string(), "mtu,samples");
        for nonsense in ["", "mtu,", "MTU", "mtu,other", "all,mtu", "7"] {
            assert_eq!(AllowedMethods::parse(nonsense), None, "{nonsense}");
        }
    }
}
