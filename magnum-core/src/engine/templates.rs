//! Cluster templates.

use super::{ClusterTemplatePatch, Deed, Engine, RequestContext};
use crate::error::Error;
use crate::id::ClusterTemplateId;
use crate::model::{ClusterTemplate, NewClusterTemplate};
use crate::operation::random_uuid;
use crate::store::{Commit, Guard, Page, StoreError, Write};

impl Engine {
    /// Makes a template. A driver must be there for it.
    ///
    /// # Errors
    /// [`Error::Invalid`] with all problems, [`Error::Registry`], [`Error::Forbidden`], [`Error::Store`].
    pub async fn create_cluster_template(
        &self,
        cx: &RequestContext,
        new: NewClusterTemplate,
    ) -> Result<ClusterTemplate, Error> {
        self.demand(cx, Deed::CreateTemplate, &cx.project_id)?;
        if new.public || new.hidden {
            self.demand(cx, Deed::PublishTemplate, &cx.project_id)?;
        }
        self.check_template(&new.spec)?;
        let now = self.0.clock.now();
        let template = ClusterTemplate {
            id: ClusterTemplateId::from_uuid(random_uuid(&*self.0.clock)),
            name: new.name,
            project_id: cx.project_id.clone(),
            user_id: cx.user_id.clone(),
            public: new.public,
            hidden: new.hidden,
            spec: new.spec,
            created_at: now,
            updated_at: now,
        };
        self.write(vec![Write::Template(Box::new(template.clone()))])
            .await?;
        Ok(template)
    }

    /// A template that the caller can see, by name or id: the project's own, or a public one.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Ambiguous`], [`Error::Forbidden`], [`Error::Store`].
    pub async fn cluster_template(
        &self,
        cx: &RequestContext,
        template: impl AsRef<str> + Send,
    ) -> Result<ClusterTemplate, Error> {
        let template = self.find_template(cx, template.as_ref()).await?;
        self.demand(cx, Deed::ReadTemplates, &template.project_id)?;
        Ok(template)
    }

    /// The templates that the caller can see; hidden ones only for their owner and for operators.
    ///
    /// # Errors
    /// [`Error::Forbidden`], [`Error::Store`].
    pub async fn cluster_templates(
        &self,
        cx: &RequestContext,
    ) -> Result<Vec<ClusterTemplate>, Error> {
        self.demand(cx, Deed::ReadTemplates, &cx.project_id)?;
        let mut found = self.0.store.templates(&cx.visibility(), &Page::ALL).await?;
        found.retain(|t| !t.hidden || cx.is_admin || t.project_id == cx.project_id);
        Ok(found)
    }

    /// Changes a template. Clusters made from it before keep what they have.
    ///
    /// # Errors
    /// As [`create_cluster_template`](Self::create_cluster_template), and [`Error::NotFound`]; another project's public template is
    /// [`Error::Forbidden`] (rule `MS-01`).
    pub async fn update_cluster_template(
        &self,
        cx: &RequestContext,
        template: impl AsRef<str> + Send,
        patch: ClusterTemplatePatch,
    ) -> Result<ClusterTemplate, Error> {
        let mut template = self.find_template(cx, template.as_ref()).await?;
        self.demand(cx, Deed::ChangeTemplate, &template.project_id)?;
        if patch.public.is_some() || patch.hidden.is_some() {
            self.demand(cx, Deed::PublishTemplate, &template.project_id)?;
        }
        if let Some(spec) = patch.spec {
            self.check_template(&spec)?;
            template.spec = spec;
        }
        template.name = patch.name.unwrap_or(template.name);
        template.public = patch.public.unwrap_or(template.public);
        template.hidden = patch.hidden.unwrap_or(template.hidden);
        template.updated_at = self.0.clock.now();
        self.write(vec![Write::Template(Box::new(template.clone()))])
            .await?;
        Ok(template)
    }

    /// Removes a template that no living cluster uses.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Forbidden`], [`Error::InUse`], [`Error::Store`].
    pub async fn delete_cluster_template(
        &self,
        cx: &RequestContext,
        template: impl AsRef<str> + Send,
    ) -> Result<(), Error> {
        let template = self.find_template(cx, template.as_ref()).await?;
        self.demand(cx, Deed::ChangeTemplate, &template.project_id)?;
        let commit = Commit {
            guards: vec![Guard::TemplateUnused(template.id)],
            writes: vec![Write::RemoveTemplate(template.id)],
            events: Vec::new(),
        };
        match self.0.store.commit(commit).await {
            Ok(_) => Ok(()),
            Err(StoreError::TemplateInUse { clusters }) => Err(Error::InUse {
                kind: "cluster template",
                name: template.name.to_string(),
                by: format!("{clusters} clusters"),
            }),
            Err(error) => Err(error.into()),
        }
    }

    fn check_template(&self, spec: &crate::model::TemplateSpec) -> Result<(), Error> {
        let mut problems = crate::model::Problems::new();
        problems.absorb(spec.validate());
        if let Err(others) = crate::model::NetworkPlan::from_labels(&spec.labels) {
            problems.absorb(Err(others));
        }
        problems.into_result()?;
        self.0.drivers.for_template(spec)?;
        Ok(())
    }
}
