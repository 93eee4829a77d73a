//! The HTTP CONNECT proxy through which clusters of the simulated nodes are reached.
//!
//! `CONNECT host:port` is answered by the cluster whose endpoint, certificate name or node address
//! `host` is. When two clusters have the same private address, the user name of the proxy address
//! (`http://<cluster id>@127.0.0.1:<port>`) says which one is meant.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, RwLock};
use std::time::Duration;

use base64::Engine as _;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::node::SimulatorError;

/// How one cluster is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Route {
    /// Endpoint host and certificate names.
    pub(crate) names: Vec<String>,
    /// Own addresses of its control-plane nodes; looked at when no name fits.
    pub(crate) addresses: Vec<String>,
    /// Port of the endpoint.
    pub(crate) port: u16,
    /// Where the stand-in listens; nothing while no control-plane server is there.
    pub(crate) target: Option<SocketAddr>,
}

/// All routes, by cluster id; shared between the simulator and the proxy.
#[derive(Debug, Clone, Default)]
pub(crate) struct Routes(Arc<RwLock<BTreeMap<String, Route>>>);

impl Routes {
    /// Sets the route of a cluster.
    pub(crate) fn set(&self, cluster: &str, route: Route) {
        self.0
            .write()
            .unwrap_or_else(|e| e.into_inner())
            .insert(cluster.to_owned(), route);
    }

    /// Forgets a cluster.
    pub(crate) fn remove(&self, cluster: &str) {
        self.0
            .write()
            .unwrap_or_else(|e| e.into_inner())
            .remove(cluster);
    }

    /// Finds the stand-in for `host:port`, or says in one line why there is none.
    fn find(&self, host: &str, port: u16, hint: Option<&str>) -> Result<SocketAddr, (u16, String)> {
        let routes = self.0.read().unwrap_or_else(|e| e.into_inner());
        let by = |pick: fn(&Route) -> &Vec<String>| -> Vec<(&String, &Route)> {
            routes
                .iter()
                .filter(|(id, r)| {
                    r.port == port
                        && hint.is_none_or(|h| h == id.as_str())
                        && pick(r).iter().any(|n| n.eq_ignore_ascii_case(host))
                })
                .collect()
        };
        let mut found = by(|r| &r.names);
        if found.is_empty() {
            found = by(|r| &r.addresses);
        }
        let running: Vec<_> = found.iter().filter_map(|(_, r)| r.target).collect();
        match (running.as_slice(), found.as_slice()) {
            ([one], _) => Ok(*one),
            ([], []) => Err((502, format!("no cluster answers at {host}:{port}"))),
            ([], [(id, _), ..]) => Err((
                503,
                format!(
                    "connection refused: cluster {id} has no control-plane server at {host}:{port}"
                ),
            )),
            _ => {
                let ids: Vec<_> = found.iter().map(|(id, _)| id.as_str()).collect();
                Err((
                    502,
                    format!(
                        "clusters {} all answer at {host}:{port}; name one as the user of the proxy address",
                        ids.join(", ")
                    ),
                ))
            }
        }
    }
}

/// A running proxy. Dropping it stops it.
#[derive(Debug)]
pub(crate) struct ConnectProxy {
    address: SocketAddr,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl ConnectProxy {
    /// Listens on 127.0.0.1; port 0 takes any free one.
    pub(crate) async fn start(port: u16, routes: Routes) -> Result<Self, SimulatorError> {
        let listen = |source| SimulatorError::Listen {
            what: "CONNECT proxy",
            address: format!("127.0.0.1:{port}"),
            source,
        };
        let listener = TcpListener::bind(("127.0.0.1", port))
            .await
            .map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        let (stop, stopped) = watch::channel(false);
        let task = tokio::spawn(serve(listener, routes, stopped));
        Ok(Self {
            address,
            stop,
            task,
        })
    }

    /// `http://127.0.0.1:<port>`.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The port.
    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    /// Stops listening and cuts the tunnels.
    pub(crate) async fn shutdown(self) {
        let _ = self.stop.send(true);
        let _ = self.task.await;
    }
}

async fn serve(listener: TcpListener, routes: Routes, mut stopped: watch::Receiver<bool>) {
    loop {
        let accepted = tokio::select! {
            a = listener.accept() => a,
            _ = stopped.changed() => return,
        };
        let Ok((client, _)) = accepted else {
            tokio::time::sleep(Duration::from_millis(20)).await;
            continue;
        };
        let routes = routes.clone();
        let mut stopped = stopped.clone();
        tokio::spawn(async move {
            tokio::select! {
                _ = tunnel(client, &routes) => {}
                _ = stopped.changed() => {}
            }
        });
    }
}

async fn tunnel(mut client: TcpStream, routes: &Routes) -> std::io::Result<()> {
    let head = read_head(&mut client).await?;
    let answer = match parse_connect(&head) {
        Some((host, port, hint)) => match routes.find(&host, port, hint.as_deref()) {
            Ok(target) => match TcpStream::connect(target).await {
                Ok(mut server) => {
                    let _ = client.set_nodelay(true);
                    let _ = server.set_nodelay(true);
                    client
                        .write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")
                        .await?;
                    let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
                    return Ok(());
                }
                Err(e) => (503, format!("connection refused: {host}:{port}: {e}")),
            },
            Err(refusal) => refusal,
        },
        None => (405, "this proxy knows CONNECT host:port only".to_owned()),
    };
    client
        .write_all(refusal(answer.0, &answer.1).as_bytes())
        .await?;
    client.shutdown().await
}

fn refusal(status: u16, text: &str) -> String {
    // The text stands in the reason phrase too: that is what most clients show.
    format!(
        "HTTP/1.1 {status} {text}\r\nContent-Type: text/plain\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{text}\n",
        text.len() + 1
    )
}

/// Reads up to the empty line, byte by byte at the end so that no byte of the tunnel is taken.
async fn read_head(client: &mut TcpStream) -> std::io::Result<String> {
    let mut head = Vec::with_capacity(256);
    let mut byte = [0u8; 1];
    while !head.ends_with(b"\r\n\r\n") && head.len() < 16 * 1024 {
        if client.read(&mut byte).await? == 0 {
            break;
        }
        head.push(byte[0]);
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}

fn parse_connect(head: &str) -> Option<(String, u16, Option<String>)> {
    let mut lines = head.split("\r\n");
    let mut first = lines.next()?.split(' ');
    if first.next()? != "CONNECT" {
        return None;
    }
    let (host, port) = first.next()?.rsplit_once(':')?;
    let hint = lines.find_map(|l| {
        let (name, value) = l.split_once(':')?;
        if !name.eq_ignore_ascii_case("proxy-authorization") {
            return None;
        }
        let encoded = value.trim().strip_prefix("Basic ")?;
        let decoded = base64::engine::general_purpose::STANDARD
            .decode(encoded)
            .ok()?;
        let user = String::from_utf8(decoded).ok()?;
        Some(user.split(':').next().unwrap_or_default().to_owned())
    });
    let host = host
        .trim_start_matches('[')
        .trim_end_matches(']')
        .to_owned();
    Some((host, port.parse().ok()?, hint.filter(|h| !h.is_empty())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(name: &str, target: Option<u16>) -> Route {
        Route {
            names: vec![name.into()],
            addresses: vec!["10.0.0.9".into()],
            port: 6443,
            target: target.map(|p| SocketAddr::from(([127, 0, 0, 1], p))),
        }
    }

    #[test]
    fn the_head_is_understood() {
        let head = "CONNECT [fd00::1]:6443 HTTP/1.1\r\nProxy-Authorization: Basic YTpi\r\n\r\n";
        assert_eq!(
            parse_connect(head),
            Some(("fd00::1".into(), 6443, Some("a".into())))
        );
        assert_eq!(parse_connect("GET / HTTP/1.1\r\n\r\n"), None);
    }

    #[test]
    fn routes_say_why_not() {
        let routes = Routes::default();
        assert_eq!(routes.find("10.0.0.5", 6443, None).unwrap_err().0, 502);
        routes.set("a", route("10.0.0.5", None));
        assert_eq!(routes.find("10.0.0.5", 6443, None).unwrap_err().0, 503);
        routes.set("a", route("10.0.0.5", Some(1)));
        assert_eq!(routes.find("10.0.0.5", 6443, None).unwrap().port(), 1);
        assert_eq!(routes.find("10.0.0.9", 6443, None).unwrap().port(), 1);
        routes.set("b", route("10.0.0.5", Some(2)));
        let (status, text) = routes.find("10.0.0.5", 6443, None).unwrap_err();
        assert!(status == 502 && text.contains("a, b"), "{text}");
        assert_eq!(routes.find("10.0.0.5", 6443, Some("b")).unwrap().port(), 2);
        routes.remove("b");
        assert_eq!(routes.find("10.0.0.5", 6443, None).unwrap().port(), 1);
    }
}
