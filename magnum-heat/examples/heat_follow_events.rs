//! Prints the events of a stack as they happen, until its action has ended.
//!
//! `OS_CLOUD=mycloud cargo run -p magnum-heat --example heat_follow_events -- STACK`

use std::{error::Error, pin::pin};

use futures::StreamExt;
use magnum_heat::{CloudConfig, Env, Session, follow::Follow, stack::find_stack};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let name = std::env::args().nth(1).ok_or("name a stack")?;
    let session = Session::connect(CloudConfig::load(None, &Env::from_process())?).await?;
    let stack = find_stack(&session, &name)
        .await?
        .ok_or("there is no such stack")?;
    let mut events = pin!(
        Follow::new(stack.reference())
            .nested_depth(3)
            .stream(session)
    );
    while let Some(event) = events.next().await {
        let event = event?;
        let time = event
            .time
            .map(|t| t.format("%H:%M:%S").to_string())
            .unwrap_or_default();
        println!(
            "{time} {:<24} {:<20} {}",
            event.resource, event.status, event.reason
        );
        if event.physical_id == stack.id && !event.status.is_in_progress() {
            break;
        }
    }
    Ok(())
}
