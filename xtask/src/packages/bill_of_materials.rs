//! What a program is made of, for tools that look for crates with known weaknesses.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::crates::Crate;
use crate::builds::VERSION;

/// The bill of a program, in the form CycloneDX 1.5 (JSON). Without a time or a serial number: the same
/// program has the same bill.
pub(crate) fn text(crates: &BTreeSet<Crate>) -> String {
    let components: Vec<Value> = crates.iter().map(component).collect();
    let reference = purl("tapeline", VERSION);
    let bill = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": reference,
                "name": "tapeline",
                "version": VERSION,
                "licenses": [{"expression": "Apache-2.0 OR MIT"}],
            }
        },
        "components": components,
        "dependencies": [{
            "ref": reference,
            "dependsOn": crates.iter().map(|one| purl(&one.name, &one.version)).collect::<Vec<_>>(),
        }],
    });
    format!("{bill:#}\n")
}

fn component(one: &Crate) -> Value {
    let purl = purl(&one.name, &one.version);
    let mut component = json!({
        "type": "library",
        "bom-ref": purl,
        "name": one.name,
        "version": one.version,
        "purl": purl,
        "licenses": [{"expression": one.licence}],
    });
    if let Some(checksum) = &one.checksum {
        component["hashes"] = json!([{"alg": "SHA-256", "content": checksum}]);
    }
    component
}

/// The address of a package, as other tools write it.
fn purl(name: &str, version: &str) -> String {
    format!("pkg:cargo/{name}@{version}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_crate_has_its_version_licence_and_checksum() {
        let one = Crate {
            name: "libc".to_owned(),
            version: "0.2.1".to_owned(),
            licence: "MIT OR Apache-2.0".to_owned(),
            checksum: Some("ab12".to_owned()),
            folder: "/c".into(),
        };
        let bill: Value = serde_json::from_str(&text(&BTreeSet::from([one]))).expect("JSON");
        let component = &bill["components"][0];
        assert_eq!(component["purl"], "pkg:cargo/libc@0.2.1");
        assert_eq!(component["hashes"][0]["content"], "ab12");
        assert_eq!(component["licenses"][0]["expression"], "MIT OR Apache-2.0");
        assert_eq!(
            bill["dependencies"][0]["dependsOn"][0],
            component["bom-ref"]
        );
    }
}
