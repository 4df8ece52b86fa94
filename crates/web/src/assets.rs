//! The files of the page. They are in the program, and nothing is loaded from elsewhere.

use std::sync::LazyLock;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use miniz_oxide::deflate::compress_to_vec;
use sha2::{Digest, Sha256};
use tapeline_report::comparison::COMPARISONS_JS;
use tapeline_report::document::{CHARTS_CSS, CHARTS_JS, DOCUMENTS_JS};
use tapeline_report::matrix::html::{MATRIX_CSS, MATRIX_JS};

/// Bytes of all of them together, as they are written.
#[cfg(test)]
const MAX_BYTES: usize = 180_000;
/// How hard they are deflated, once.
const LEVEL: u8 = 8;

/// A file of the page.
pub(crate) struct Asset {
    name: &'static str,
    content: &'static str,
}

/// Those of the folder, by their names, and the charts that every page has.
macro_rules! assets {
    ($($name:literal),* $(,)?) => {
        &[
            Asset { name: "charts.css", content: CHARTS_CSS },
            Asset { name: "charts.js", content: CHARTS_JS },
            Asset { name: "documents.js", content: DOCUMENTS_JS },
            Asset { name: "comparisons.js", content: COMPARISONS_JS },
            Asset { name: "matrix.css", content: MATRIX_CSS },
            Asset { name: "matrix.js", content: MATRIX_JS },
            $(Asset { name: $name, content: include_str!(concat!("../assets/", $name)) }),*
        ]
    };
}

/// All of them.
#[rustfmt::skip]
const ASSETS: &[Asset] = assets![
    "api.js", "app.css", "app.js", "command.js", "compare.js", "dom.js", "form.js", "history.js", "index.html", "live.js", "mesh.js", "order.js", "picture.js", "result.js", "run.js", "server.js", "test.js", "tests.js", "theme.js", "trend.js", "words.js"
];

/// What a browser gets of a file.
struct Ready {
    name: &'static str,
    media_type: &'static str,
    tag: HeaderValue,
    content: &'static str,
    gzip: Vec<u8>,
}

static READY: LazyLock<Vec<Ready>> = LazyLock::new(|| {
    let ready = ASSETS.iter().map(|asset| Ready {
        name: asset.name,
        media_type: media_type(asset.name),
        tag: tag(asset.content),
        content: asset.content,
        gzip: gzip(asset.content.as_bytes()),
    });
    ready.collect()
});

/// A view of the page: each has an address, and all are one file.
pub(crate) async fn index(headers: HeaderMap) -> Response {
    answer("index.html", &headers)
}

/// A file by its name.
pub(crate) fn answer(name: &str, headers: &HeaderMap) -> Response {
    let Some(ready) = READY.iter().find(|ready| ready.name == name) else {
        return (StatusCode::NOT_FOUND, "there is no such page\n").into_response();
    };
    let known = headers.get(header::IF_NONE_MATCH);
    let shared = [
        (header::ETAG, ready.tag.clone()),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
        (header::VARY, HeaderValue::from_static("accept-encoding")),
    ];
    if known == Some(&ready.tag) {
        return (StatusCode::NOT_MODIFIED, shared).into_response();
    }
    let accepted = headers.get(header::ACCEPT_ENCODING);
    let takes_gzip = accepted
        .and_then(|value| value.to_str().ok())
        .is_some_and(|value| value.contains("gzip"));
    let media_type = [(header::CONTENT_TYPE, ready.media_type)];
    if takes_gzip {
        let encoding = [(header::CONTENT_ENCODING, "gzip")];
        let body = Body::from(ready.gzip.as_slice());
        (shared, media_type, encoding, body).into_response()
    } else {
        (shared, media_type, ready.content).into_response()
    }
}

fn media_type(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        _ => "text/plain; charset=utf-8",
    }
}

/// A mark that changes with the content.
fn tag(content: &str) -> HeaderValue {
    let hash = Sha256::digest(content.as_bytes());
    let digits: String = hash[..8].iter().map(|byte| format!("{byte:02x}")).collect();
    HeaderValue::from_str(&format!("\"{digits}\"")).unwrap_or(HeaderValue::from_static("\"\""))
}

/// RFC 1952: ten bytes, the deflated content, its CRC-32 and its length.
fn gzip(content: &[u8]) -> Vec<u8> {
    let mut file = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    file.extend(compress_to_vec(content, LEVEL));
    file.extend(crc32(content).to_le_bytes());
    file.extend((content.len() as u32).to_le_bytes());
    file
}

fn crc32(content: &[u8]) -> u32 {
    let step = |crc: u32| (crc >> 1) ^ (0xedb8_8320 & 0u32.wrapping_sub(crc & 1));
    let add = |crc: u32, byte: &u8| (0..8).fold(crc ^ u32::from(*byte), |crc, _| step(crc));
    !content.iter().fold(!0, add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_are_small_and_load_nothing() {
        let bytes: usize = ASSETS.iter().map(|asset| asset.content.len()).sum();
        assert!(bytes <= MAX_BYTES, "{bytes}");
        for Asset { name, content } in ASSETS {
            let content = content.replace("http://www.w3.org/2000/svg", "");
            for way in [
                "http:",
                "https:",
                "//cdn",
                "@import",
                "url(",
                "innerHTML",
                "outerHTML",
                "insertAdjacentHTML",
                "document.write",
                "eval(",
                "new Function",
                "await import(",
            ] {
                assert!(!content.contains(way), "{name}: {way}");
            }
        }
    }

    #[test]
    fn every_file_of_the_folder_is_served() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/assets");
        for entry in std::fs::read_dir(folder).expect("the folder") {
            let name = entry.expect("a file").file_name();
            let name = name.to_str().expect("a name");
            assert!(ASSETS.iter().any(|asset| asset.name == name), "{name}");
        }
    }

    #[test]
    fn files_are_packed_as_gzip_has_them() {
        // The check value of CRC-32.
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        let packed = gzip(b"tapeline");
        let inner = &packed[10..packed.len() - 8];
        let content = miniz_oxide::inflate::decompress_to_vec(inner).expect("deflated");
        assert_eq!(content, b"tapeline");
        assert_eq!(packed[packed.len() - 4..], 8u32.to_le_bytes());
    }

    #[test]
    fn a_known_file_is_not_sent_again() {
        let first = answer("index.html", &HeaderMap::new());
        assert_eq!(first.status(), StatusCode::OK);
        let mut headers = HeaderMap::new();
        headers.insert(header::IF_NONE_MATCH, first.headers()[header::ETAG].clone());
        assert_eq!(
            answer("index.html", &headers).status(),
            StatusCode::NOT_MODIFIED
        );
        let missing = answer("../Cargo.toml", &HeaderMap::new());
        assert_eq!(missing.status(), StatusCode::NOT_FOUND);
    }
}
