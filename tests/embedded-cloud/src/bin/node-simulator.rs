//! The node simulator as a process of its own: plays the nodes of an OpenStack whose hypervisor boots nothing.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use magnum_embedded_cloud::node::{AdminLogin, Simulator, SimulatorConfig};

/// Boots the servers of an OpenStack as their user-data says, and serves each cluster's Kubernetes API behind a proxy on loopback.
///
/// The administrator's password is read from the environment variable `OS_PASSWORD`.
#[derive(Debug, Parser)]
#[command(name = "node-simulator", version)]
struct Arguments {
    /// Keystone v3 address.
    #[arg(long, env = "OS_AUTH_URL", value_name = "URL")]
    auth_url: String,
    /// A user who may list the servers of all projects.
    #[arg(
        long,
        env = "OS_USERNAME",
        value_name = "NAME",
        default_value = "admin"
    )]
    username: String,
    /// The user's project.
    #[arg(
        long,
        env = "OS_PROJECT_NAME",
        value_name = "NAME",
        default_value = "admin"
    )]
    project: String,
    /// Region; the first one when absent.
    #[arg(long, env = "OS_REGION_NAME", value_name = "NAME")]
    region: Option<String>,
    /// Port of the CONNECT proxy; by default a free one, or the last one of the journal.
    #[arg(long, default_value_t = 0)]
    proxy_port: u16,
    /// Folder of the state that outlives the process.
    #[arg(long, value_name = "DIR")]
    journal: Option<PathBuf>,
}

#[tokio::main]
async fn main() -> ExitCode {
    let filter = tracing_subscriber::EnvFilter::try_from_default_env();
    let filter = filter.unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("warn"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .init();
    match run(Arguments::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "node-simulator: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: Arguments) -> Result<(), Box<dyn std::error::Error>> {
    let password = std::env::var("OS_PASSWORD").map_err(|_| "OS_PASSWORD is not set")?;
    let mut login = AdminLogin::new(
        arguments.auth_url,
        arguments.username,
        password,
        arguments.project,
    );
    login.region = arguments.region;
    let mut config = SimulatorConfig::new(login);
    config.proxy_port = arguments.proxy_port;
    config.journal = arguments.journal;
    let simulator = Simulator::start(config).await?;
    let mut out = std::io::stdout();
    writeln!(out, "proxy_url={}", simulator.proxy_url())?;
    writeln!(out, "admin_url={}", simulator.admin_url())?;
    out.flush()?;
    let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminate.recv() => {}
    }
    simulator.shutdown().await;
    Ok(())
}
