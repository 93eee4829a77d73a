//! Manifests as templates.

use handlebars::{
    Context, Handlebars, Helper, HelperResult, Output, RenderContext, RenderErrorReason, no_escape,
};
use serde_json::Value;

use super::addon::Addon;
use super::components::{component, relocated};
use super::error::AddonError;
use super::phase::AddonPhase;
use super::values::AddonValues;

/// A built-in add-on: its name in the table of components, and its template.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Template {
    pub(crate) name: &'static str,
    pub(crate) phase: AddonPhase,
    pub(crate) text: &'static str,
}

/// Writes any value as JSON, which is YAML: no value can break out of its place.
fn json(
    helper: &Helper<'_>,
    _: &Handlebars<'_>,
    _: &Context,
    _: &mut RenderContext<'_, '_>,
    out: &mut dyn Output,
) -> HelperResult {
    let param = helper.param(0).filter(|param| !param.is_value_missing());
    let value = param
        .ok_or_else(|| RenderErrorReason::MissingVariable(Some("value of json".to_owned())))?
        .value();
    out.write(&value.to_string())?;
    Ok(())
}

impl Template {
    /// Renders the template. `data` is what it refers to; `images` is added from the table.
    pub(crate) fn render(
        &self,
        values: &AddonValues,
        mut data: Value,
    ) -> Result<Addon, AddonError> {
        let component = component(self.name, &values.kubernetes)?;
        let images: serde_json::Map<String, Value> = component
            .images
            .iter()
            .map(|(part, image)| {
                (
                    part.clone(),
                    relocated(image, values.image_prefix.as_deref()).into(),
                )
            })
            .collect();
        data["images"] = images.into();
        let mut handlebars = Handlebars::new();
        handlebars.set_strict_mode(true);
        handlebars.register_escape_fn(no_escape);
        handlebars.register_helper("json", Box::new(json));
        // The cause may show what was being rendered, a secret among it: only its place is told.
        let manifests = handlebars
            .render_template(self.text, &data)
            .map_err(|error| AddonError::Manifest {
                addon: self.name.to_owned(),
                reason: format!("the template fails at line {}", error.line_no.unwrap_or(0)),
            })?;
        Addon::from_manifests(
            self.name,
            &component.version,
            &component.source,
            self.phase,
            &manifests,
        )
    }
}

#[cfg(test)]
mod tests {
    use magnum_core::ClusterId;
    use serde_json::json;
    use uuid::Uuid;

    use super::*;
    use crate::bootstrap::Cni;

    fn values() -> AddonValues {
        let id = ClusterId::from_uuid(Uuid::from_u128(1));
        AddonValues::new(
            id,
            "v1.36.1".parse().unwrap(),
            Cni::Flannel,
            "10.100.0.0/16".parse().unwrap(),
        )
    }

    fn template(text: &'static str) -> Template {
        Template {
            name: "flannel",
            phase: AddonPhase::Network,
            text,
        }
    }

    #[test]
    fn hostile_values_stay_in_their_place() {
        let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: n}\ndata:\n  a: {{json a}}\n";
        let hostile = "x\"\n---\nkind: Secret # {{images}} & <";
        let addon = template(text)
            .render(&values(), json!({"a": hostile}))
            .unwrap();
        assert_eq!(addon.objects.len(), 1);
        assert_eq!(addon.objects[0]["data"]["a"], hostile);
    }

    #[test]
    fn a_missing_value_is_an_error_that_shows_no_content() {
        let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{json missing}}}\n";
        let error = template(text)
            .render(&values(), json!({"a": "topsecret"}))
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "manifest of add-on flannel: the template fails at line 3"
        );
    }
}
