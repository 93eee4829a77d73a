//! Heat signals with the node's own login.

use std::time::Duration;

use reqwest::{Client, StatusCode};
use serde::Deserialize;
use serde_json::json;

use super::config::Stage;
use super::openstack::{JsonBody as _, v3};

/// The map of a `HEAT_SIGNAL` handle. `Debug` shows no password.
#[derive(Clone, Deserialize)]
pub(crate) struct SignalLogin {
    auth_url: String,
    user_id: String,
    password: String,
    project_id: String,
    alarm_url: String,
}

impl std::fmt::Debug for SignalLogin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SignalLogin")
            .field("alarm_url", &self.alarm_url)
            .finish_non_exhaustive()
    }
}

/// Sends the signals of one node; keeps its token between them.
#[derive(Debug)]
pub(crate) struct Signaller {
    client: Client,
    login: SignalLogin,
    token: Option<String>,
}

impl Signaller {
    /// Reads `signal.json`.
    pub(crate) fn new(client: Client, signal_json: &str) -> Result<Self, String> {
        let login =
            serde_json::from_str(signal_json.trim()).map_err(|e| format!("signal.json: {e}"))?;
        Ok(Self {
            client,
            login,
            token: None,
        })
    }

    /// Sends one signal, with the few attempts a node makes. An undeliverable one is no failure.
    pub(crate) async fn send(
        &mut self,
        stage: Stage,
        success: bool,
        reason: &str,
        data: &str,
    ) -> Result<(), String> {
        let body = json!({
            "id": stage.id(), "status": if success { "SUCCESS" } else { "FAILURE" }, "reason": reason, "data": data,
        });
        let mut last = String::new();
        for attempt in 0..5u32 {
            if attempt > 0 {
                tokio::time::sleep(Duration::from_millis(250 << attempt)).await;
            }
            if self.token.is_none() {
                match self.log_in().await {
                    Ok(token) => self.token = Some(token),
                    Err(why) => {
                        last = why;
                        continue;
                    }
                }
            }
            let token = self.token.clone().unwrap_or_default();
            let request = self
                .client
                .post(&self.login.alarm_url)
                .header("X-Auth-Token", token)
                .json_body(&body);
            match request.send().await {
                Ok(answer) if answer.status().is_success() => return Ok(()),
                Ok(answer) => {
                    if answer.status() == StatusCode::UNAUTHORIZED {
                        self.token = None;
                    }
                    last = format!("{} answered {}", self.login.alarm_url, answer.status());
                }
                Err(e) => last = e.to_string(),
            }
        }
        Err(last)
    }

    async fn log_in(&self) -> Result<String, String> {
        let l = &self.login;
        let body = json!({"auth": {
            "identity": {"methods": ["password"], "password": {"user": {"id": l.user_id, "password": l.password}}},
            "scope": {"project": {"id": l.project_id}}}});
        let url = format!("{}/auth/tokens", v3(&l.auth_url));
        let answer = self
            .client
            .post(&url)
            .json_body(&body)
            .send()
            .await
            .map_err(|e| e.to_string())?;
        let status = answer.status();
        let token = answer
            .headers()
            .get("x-subject-token")
            .and_then(|v| v.to_str().ok())
            .map(str::to_owned);
        token
            .filter(|_| status.is_success())
            .ok_or_else(|| format!("login at {url} answered {status}"))
    }
}
