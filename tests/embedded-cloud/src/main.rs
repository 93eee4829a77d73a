//! The embedded cloud as a process of its own.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use magnum_embedded_cloud::{EmbeddedCloud, Options};

/// An OpenStack and Kubernetes stand-in on 127.0.0.1.
#[derive(Debug, Parser)]
#[command(name = "embedded-cloud", version)]
struct Arguments {
    /// Port; by default a free one, or the last one of the journal.
    #[arg(long)]
    port: Option<u16>,
    /// Folder of the state that outlives the process; it also gets the files `port` and `pid`.
    #[arg(long)]
    journal: Option<PathBuf>,
    /// Ends after so many minutes without a request.
    #[arg(long)]
    idle_minutes: Option<u64>,
    /// Makes ids and build times repeatable.
    #[arg(long)]
    seed: Option<u64>,
    /// Multiplies all build times.
    #[arg(long, default_value_t = 1.0)]
    slowness: f64,
    /// Writes `clouds.yaml` into this folder.
    #[arg(long)]
    clouds_yaml: Option<PathBuf>,
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
            let _ = writeln!(std::io::stderr(), "embedded-cloud: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: Arguments) -> Result<(), Box<dyn std::error::Error>> {
    let mut options = Options {
        port: arguments.port,
        journal: arguments.journal,
        idle: arguments
            .idle_minutes
            .map(|minutes| Duration::from_secs(minutes * 60)),
        seed: arguments.seed,
        ..Options::default()
    };
    options.latency = options.latency.scaled(arguments.slowness);
    let cloud = EmbeddedCloud::start(options).await?;
    if let Some(folder) = arguments.clouds_yaml {
        std::fs::write(folder.join("clouds.yaml"), cloud.clouds_yaml())?;
    }
    let mut out = std::io::stdout();
    writeln!(out, "auth_url={}", cloud.auth_url())?;
    writeln!(out, "proxy_url={}", cloud.proxy_url())?;
    out.flush()?;
    let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
    tokio::select! {
        () = cloud.stopped() => {}
        _ = tokio::signal::ctrl_c() => {}
        _ = terminate.recv() => {}
    }
    cloud.shutdown().await;
    Ok(())
}
