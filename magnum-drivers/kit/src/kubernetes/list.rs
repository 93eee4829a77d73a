//! Lists, page by page.

use http::{Method, StatusCode};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::client::{KubernetesClient, decode};
use super::error::KubernetesError;

/// Objects on one page.
const PAGE: &str = "500";
/// Times a list is begun anew because its continuation went stale.
const RESTARTS: u32 = 3;

#[derive(Deserialize)]
struct Page<T> {
    #[serde(default)]
    metadata: PageMeta,
    #[serde(default = "Vec::new")]
    items: Vec<T>,
}

#[derive(Deserialize, Default)]
struct PageMeta {
    #[serde(default, rename = "continue")]
    next: Option<String>,
}

impl KubernetesClient {
    /// All objects of a list. A continuation that went stale (410) begins the list anew.
    pub(crate) async fn list_all<T: DeserializeOwned>(
        &self,
        operation: &str,
        path: &str,
        query: &[(&str, &str)],
    ) -> Result<Vec<T>, KubernetesError> {
        let mut restarts = 0;
        let mut items = Vec::new();
        let mut next = String::new();
        loop {
            let mut page_query = vec![("limit", PAGE)];
            page_query.extend_from_slice(query);
            if !next.is_empty() {
                page_query.push(("continue", &next));
            }
            let response = self
                .send(operation, Method::GET, path, &page_query, None)
                .await?;
            if response.status() == StatusCode::GONE && !next.is_empty() && restarts < RESTARTS {
                restarts += 1;
                items.clear();
                next.clear();
                continue;
            }
            let page: Page<T> = decode(operation, &response)?;
            items.extend(page.items);
            match page.metadata.next.filter(|token| !token.is_empty()) {
                Some(token) => next = token,
                None => return Ok(items),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::super::script::Script;

    #[tokio::test]
    async fn pages_are_followed_to_the_end() {
        let script = Script::new([
            (200, r#"{"metadata":{"continue":"t 1"},"items":[1,2]}"#),
            (200, r#"{"metadata":{"continue":""},"items":[3]}"#),
        ]);
        let items: Vec<Value> = script.client().list_all("list x", "/x", &[]).await.unwrap();
        assert_eq!(items.len(), 3);
        assert_eq!(
            script.requests()[1],
            "GET https://10.0.0.5:6443/x?limit=500&continue=t+1"
        );
    }

    #[tokio::test]
    async fn a_stale_continuation_begins_anew() {
        let script = Script::new([
            (200, r#"{"metadata":{"continue":"t"},"items":[1,2]}"#),
            (410, r#"{"message":"expired"}"#),
            (200, r#"{"metadata":{},"items":[1]}"#),
        ]);
        let items: Vec<Value> = script.client().list_all("list x", "/x", &[]).await.unwrap();
        assert_eq!(items.len(), 1);
    }
}
