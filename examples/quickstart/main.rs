//! The quick start: from a cluster template to a kubeconfig and back to nothing, in one command.
//!
//! ```sh
//! cargo run --release -p magnum-examples --example quickstart
//! ```
//!
//! Without options an OpenStack and Kubernetes stand-in runs inside. See `--help` for a real cloud, and for a run that survives `kill -9`.

mod arguments;
mod data;
mod embedded;
mod journey;
mod platform;
mod progress;
mod report;

use std::process::ExitCode;

use clap::Parser;

use arguments::Arguments;

/// Whatever ends the quick start early, as a sentence.
pub(crate) type Failure = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if let Some(folder) = &arguments.serve_embedded_cloud {
        return exit(embedded::serve(folder).await.map(|()| true));
    }
    let filter = tracing_subscriber::EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("error"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .init();
    exit(journey::run(&arguments).await)
}

/// 0 at the end of the way, 130 where Ctrl-C came first, 1 with a sentence otherwise.
fn exit(result: Result<bool, Failure>) -> ExitCode {
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(130),
        Err(error) => {
            let mut said = error.to_string();
            eprintln!("quickstart: {said}");
            let mut source = error.source();
            while let Some(cause) = source {
                let text = cause.to_string();
                if !said.contains(&text) {
                    eprintln!("  because: {text}");
                    said = text;
                }
                source = cause.source();
            }
            ExitCode::FAILURE
        }
    }
}
