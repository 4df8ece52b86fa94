//! Recorded iperf3 sessions.

use std::path::Path;

use serde_json::Value;

/// A session between two real programs.
pub struct Session {
    /// What was tried, and the versions of the ends.
    pub name: String,
    /// Keys that the server had, where it asked for logins.
    pub test_keys: Value,
    /// All messages of the session.
    pub messages: Vec<Message>,
}

/// A message, in the order in which all of them were seen.
pub struct Message {
    /// Its sender.
    pub from: End,
    /// On the control connection rather than on one that carries data.
    pub is_control: bool,
    /// What the recorder calls it.
    pub name: String,
    /// As they went over the wire.
    pub bytes: Vec<u8>,
    /// What the bytes mean, according to the recorder.
    pub decoded: Value,
}

/// Who sent a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The end that connected.
    Client,
    /// The end that listened.
    Server,
}

impl Session {
    /// All sessions, by name.
    ///
    /// # Panics
    /// A recording is damaged.
    #[must_use]
    pub fn load_all() -> Vec<Self> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("captures");
        let entries = std::fs::read_dir(folder).expect("the folder of vectors");
        let mut names: Vec<String> = entries
            .map(|entry| entry.expect("an entry").file_name())
            .filter_map(|name| name.to_str()?.strip_suffix(".json").map(str::to_owned))
            .filter(|name| name.starts_with("iperf3-"))
            .collect();
        names.sort();
        names.iter().map(|name| Self::load(name)).collect()
    }

    /// The session of that name.
    ///
    /// # Panics
    /// There is none, or its recording is damaged.
    #[must_use]
    pub fn load(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("captures");
        let path = folder.join(format!("{name}.json"));
        let text = std::fs::read_to_string(&path).expect("readable");
        let session: Value = serde_json::from_str(&text).expect("JSON");
        let messages = session["messages"].as_array().expect("messages");
        Self {
            name: name.to_owned(),
            test_keys: session["test_keys"].clone(),
            messages: messages.iter().map(Message::new).collect(),
        }
    }

    /// The messages of the control connection.
    pub fn control(&self) -> impl Iterator<Item = &Message> {
        self.messages.iter().filter(|message| message.is_control)
    }

    /// What an end sent on the control connection.
    #[must_use]
    pub fn sent_by(&self, from: End) -> Vec<u8> {
        let messages = self.control().filter(|message| message.from == from);
        messages.flat_map(|message| message.bytes.clone()).collect()
    }

    /// The first message of that name from an end.
    #[must_use]
    pub fn named(&self, from: End, name: &str) -> Option<&[u8]> {
        let mut messages = self.control();
        messages
            .find(|message| message.from == from && message.name == name)
            .map(|message| message.bytes.as_slice())
    }
}

impl Message {
    fn new(message: &Value) -> Self {
        let text = |key: &str| message[key].as_str().expect("a text");
        let digits = text("hex").as_bytes().chunks(2);
        let bytes = digits.map(|pair| {
            let pair = std::str::from_utf8(pair).expect("text");
            u8::from_str_radix(pair, 16).expect("hex")
        });
        Self {
            from: match text("direction") {
                "client->server" => End::Client,
                _ => End::Server,
            },
            is_control: text("transport") == "tcp control",
            name: text("name").to_owned(),
            bytes: bytes.collect(),
            decoded: message["decoded"].clone(),
        }
    }
}
