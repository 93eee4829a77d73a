//! Creates a small stack, waits, shows its output or why it failed, deletes it.
//!
//! `OS_CLOUD=mycloud cargo run -p magnum-heat --example heat_stack`

use std::{error::Error, time::Duration};

use magnum_heat::{
    CloudConfig, Env, Session,
    diagnose::root_cause,
    follow::{Until, wait_for},
    hot::{Document, Resource, get_attr},
    stack::{
        CreateStack, DeleteStack, DeleteWait, ShowStack, StackContent, create_stack_or_adopt,
        wait_deleted,
    },
};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let session = Session::connect(CloudConfig::load(None, &Env::from_process())?).await?;
    let mut doc = Document::new().description("example of magnum-heat");
    doc.add_resource(
        "text",
        Resource::raw("OS::Heat::RandomString").property("length", 12),
    )?;
    doc.add_output("text", get_attr("text", "value"))?;

    let request = CreateStack::new("magnum-heat-example", StackContent::new(doc));
    let made = create_stack_or_adopt(&session, request, "magnum-heat-example").await?;
    let stack = made.stack();
    println!("{made:?}");

    let (every, limit) = (Duration::from_secs(1), Duration::from_secs(300));
    match wait_for(&session, stack, Until::complete(), every, limit).await {
        Ok(_) => {
            let shown = session.send(ShowStack::new(stack).with_outputs()).await?;
            println!(
                "{}: {}",
                shown.status,
                shown.output_str("text").unwrap_or("no output")
            );
        }
        Err(error) => match root_cause(&session, stack).await? {
            Some(cause) => println!("failed: {cause}"),
            None => println!("{error}"),
        },
    }
    let before = session.send(ShowStack::new(stack)).await.ok();
    session
        .send(DeleteStack {
            stack: stack.clone(),
        })
        .await?;
    let wait = DeleteWait::new(before.as_ref(), Duration::from_secs(60));
    wait_deleted(&session, stack, wait, every, limit).await?;
    println!("deleted");
    Ok(())
}
