//! Long answers of Heat, made of recorded ones, and a large document.

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use magnum_heat::event::ListEvents;
use magnum_heat::hot::types::{Port, Server, ServerNetwork};
use magnum_heat::hot::{Document, DocumentError, get_resource};
use magnum_heat::request::Answer;
use magnum_heat::resource::ListResources;
use magnum_heat::stack::StackRef;
use magnum_heat::{Error, Request};
use serde_json::{Value, json};

/// A listing that Heat answers in one piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listing {
    /// 1000 resources.
    Resources,
    /// 5000 events.
    Events,
}

impl Listing {
    /// Key of the answer: `resources`, `events`.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Resources => "resources",
            Self::Events => "events",
        }
    }

    /// How many things are listed.
    #[must_use]
    pub const fn count(self) -> usize {
        match self {
            Self::Resources => 1000,
            Self::Events => 5000,
        }
    }

    /// The answer's body: recorded items, again and again.
    ///
    /// # Panics
    /// When the recorded answers are not there.
    #[must_use]
    pub fn body(self) -> Bytes {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures");
        let file = format!("{folder}/heat-cluster-{}-depth5.json", self.key());
        let text = std::fs::read(&file).unwrap_or_else(|e| panic!("{file}: {e}"));
        let recorded: Value = serde_json::from_slice(&text).expect("a recorded answer is JSON");
        let items = recorded["body"][self.key()].as_array().cloned();
        let items = items.filter(|items| !items.is_empty());
        let items = items.expect("a recorded listing has items");
        let many: Vec<&Value> = items.iter().cycle().take(self.count()).collect();
        Bytes::from(json!({ self.key(): many }).to_string())
    }

    /// Decodes such a body as the client does; the number of things read.
    ///
    /// # Errors
    /// [`Error::Decode`].
    pub fn decode(self, body: &Bytes) -> Result<usize, Error> {
        let answer = Answer {
            operation: "benchmark",
            status: StatusCode::OK,
            headers: HeaderMap::new(),
            body: body.clone(),
        };
        let stack = StackRef::new("s", "i");
        match self {
            Self::Resources => Ok(ListResources::new(stack).decode(answer)?.len()),
            Self::Events => Ok(ListEvents::new(stack).decode(answer)?.len()),
        }
    }
}

/// A document of so many members, each a port and a server.
///
/// # Errors
/// Two members of one name.
pub fn group(members: usize) -> Result<Document, DocumentError> {
    let mut document = Document::new();
    for n in 0..members {
        let port = format!("port_{n:05}");
        document.add_resource(
            port.clone(),
            Port::new("private").name(format!("node-{n:05}")),
        )?;
        let server = Server::new("m1.large")
            .name(format!("node-{n:05}"))
            .image("ubuntu-k8s-v1.36")
            .networks([ServerNetwork::Port(get_resource(&port))])
            .user_data("#!/bin/sh\nexit 0\n");
        document.add_resource(format!("server_{n:05}"), server.immutable())?;
    }
    Ok(document)
}
