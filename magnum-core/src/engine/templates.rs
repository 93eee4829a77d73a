//! Cluster templates.

use super::{ClusterTemplatePatch, Deed, Engine, RequestContext, rules};
use crate::error::Error;
use crate::id::ClusterTemplateId;
use crate::model::{
    ClusterTemplate, Deprecation, NetworkPlan, NewClusterTemplate, NewTemplateVersion, Problems,
};
use crate::operation::random_uuid;
use crate::store::{Commit, Guard, Page, StoreError, Visibility, Write};

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
            first_version: None,
            version: 1,
            version_tag: None,
            deprecation: None,
            revision: 0,
            created_at: now,
            updated_at: now,
        };
        self.write(vec![Write::Template(Box::new(template.clone()))])
            .await?;
        Ok(template)
    }

    /// A template that the caller can see, by id or name: the project's own, or a public one. A name stands for the latest version that is
    /// not deprecated; `name:tag` and `name:v3` for one version. A hidden template of another project looks absent.
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
        found.retain(|template| is_shown(template, cx));
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
        loop {
            let mut template = self.find_template(cx, template.as_ref()).await?;
            self.demand(cx, Deed::ChangeTemplate, &template.project_id)?;
            if patch.public.is_some() || patch.hidden.is_some() {
                self.demand(cx, Deed::PublishTemplate, &template.project_id)?;
            }
            if let Some(spec) = &patch.spec {
                self.check_template(spec)?;
                template.spec.clone_from(spec);
            }
            if let Some(deprecation) = &patch.deprecation {
                self.check_deprecation(cx, template.id, deprecation).await?;
                template.deprecation = Some(deprecation.clone());
            } else if patch.lift_deprecation {
                template.deprecation = None;
            }
            template.name = patch.name.clone().unwrap_or(template.name);
            template.public = patch.public.unwrap_or(template.public);
            template.hidden = patch.hidden.unwrap_or(template.hidden);
            match self.replace_template(template, Vec::new()).await {
                Err(Error::Store(StoreError::TemplateStale { .. })) => {}
                other => return other,
            }
        }
    }

    /// Publishes another version of a template, named by any of its versions. Clusters made from earlier versions keep what they have
    /// until they are upgraded to this one.
    ///
    /// # Errors
    /// As [`update_cluster_template`](Self::update_cluster_template); [`Error::NameTaken`] where a version has the tag.
    pub async fn publish_template_version(
        &self,
        cx: &RequestContext,
        template: impl AsRef<str> + Send,
        new: NewTemplateVersion,
    ) -> Result<ClusterTemplate, Error> {
        loop {
            let named = self.find_template(cx, template.as_ref()).await?;
            self.demand(cx, Deed::ChangeTemplate, &named.project_id)?;
            self.check_template(&new.spec)?;
            let all = Visibility::Everything;
            let versions = self.0.store.template_versions(&all, named.lineage());
            let versions = versions.await?;
            if let Some(tag) = &new.tag {
                check_tag(tag)?;
                if versions.iter().any(|version| version.has_version(tag)) {
                    return Err(Error::NameTaken {
                        kind: "template version",
                        name: tag.clone(),
                    });
                }
            }
            let mut latest = versions.into_iter().next_back().unwrap_or(named);
            let now = self.0.clock.now();
            let next = ClusterTemplate {
                id: ClusterTemplateId::from_uuid(random_uuid(&*self.0.clock)),
                user_id: cx.user_id.clone(),
                spec: new.spec.clone(),
                first_version: Some(latest.lineage()),
                version: latest.version + 1,
                version_tag: new.tag.clone(),
                deprecation: None,
                revision: 0,
                created_at: now,
                updated_at: now,
                ..latest.clone()
            };
            if let Some(message) = &new.deprecate_previous {
                latest.deprecation = Some(Deprecation {
                    message: message.clone(),
                    successor: Some(next.id),
                    closed: false,
                });
            }
            // Writing the latest version along with the new one makes a second publisher at the same time decide anew.
            let more = vec![Write::Template(Box::new(next.clone()))];
            match self.replace_template(latest, more).await {
                Err(Error::Store(StoreError::TemplateStale { .. })) => {}
                Err(error) => return Err(error),
                Ok(_) => return Ok(next),
            }
        }
    }

    /// The versions of a template that the caller can see, the oldest first.
    ///
    /// # Errors
    /// As [`cluster_template`](Self::cluster_template).
    pub async fn template_versions(
        &self,
        cx: &RequestContext,
        template: impl AsRef<str> + Send,
    ) -> Result<Vec<ClusterTemplate>, Error> {
        let template = self.cluster_template(cx, template).await?;
        let visible = cx.visibility();
        let versions = self.0.store.template_versions(&visible, template.lineage());
        let mut versions = versions.await?;
        versions.retain(|version| is_shown(version, cx));
        Ok(versions)
    }

    async fn replace_template(
        &self,
        mut template: ClusterTemplate,
        more: Vec<Write>,
    ) -> Result<ClusterTemplate, Error> {
        let guard = Guard::TemplateRevision {
            template: template.id,
            revision: template.revision,
        };
        template.revision += 1;
        template.updated_at = self.0.clock.now();
        let mut writes = vec![Write::Template(Box::new(template.clone()))];
        writes.extend(more);
        let commit = Commit {
            guards: vec![guard],
            writes,
            events: Vec::new(),
        };
        self.0.store.commit(commit).await?;
        Ok(template)
    }

    async fn check_deprecation(
        &self,
        cx: &RequestContext,
        template: ClusterTemplateId,
        deprecation: &Deprecation,
    ) -> Result<(), Error> {
        let mut problems = Problems::new();
        if deprecation.message.trim().is_empty() {
            problems.add("deprecation.message", "", "must say why, for users");
        }
        if let Some(successor) = deprecation.successor {
            let key = successor.to_string();
            let field = "deprecation.successor";
            if successor == template {
                problems.add(field, key, "must be another template");
            } else if let Err(error) = self.find_template(cx, &key).await {
                match error {
                    Error::NotFound { .. } => problems.add(field, key, "there is no such template"),
                    other => return Err(other),
                }
            }
        }
        Ok(problems.into_result()?)
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
        let mut problems = Problems::new();
        problems.absorb(spec.validate());
        let reserved = &self.0.config.reserved_ranges;
        problems.absorb(NetworkPlan::avoiding(&spec.labels, reserved).map(drop));
        if let Ok(driver) = self.0.drivers.for_template(spec) {
            rules::allowed(&self.0.config, &**driver, spec, &mut problems);
        }
        problems.into_result()?;
        self.0.drivers.for_template(spec)?;
        Ok(())
    }
}

/// Hidden templates show to their owner's project and to operators only.
fn is_shown(template: &ClusterTemplate, cx: &RequestContext) -> bool {
    !template.hidden || cx.is_admin || template.project_id == cx.project_id
}

/// A tag must be a word that is no version number.
fn check_tag(tag: &str) -> Result<(), Problems> {
    let word = !tag.is_empty()
        && tag.len() <= 63
        && tag
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b));
    let number = tag
        .strip_prefix('v')
        .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()));
    if word && !number {
        return Ok(());
    }
    let rule = "must be 1 to 63 letters, digits, \"-\", \"_\" and \".\", and not of the form v3";
    Err(Problems::one("tag", tag, rule))
}

/// Of templates that a key may mean: those that the caller may know, its own project's before others', and of several versions of one
/// template the latest that is not deprecated.
fn meant(mut found: Vec<ClusterTemplate>, cx: &RequestContext) -> Vec<ClusterTemplate> {
    found.retain(|template| is_shown(template, cx));
    if found.iter().any(|t| t.project_id == cx.project_id) {
        found.retain(|template| template.project_id == cx.project_id);
    }
    let Some(lineage) = found.first().map(ClusterTemplate::lineage) else {
        return found;
    };
    if found.iter().all(|template| template.lineage() == lineage) {
        let rank = |t: &ClusterTemplate| (t.deprecation.is_none(), t.version);
        found.sort_by_key(rank);
        found.drain(..found.len() - 1);
    }
    found
}

impl Engine {
    pub(super) async fn find_template(
        &self,
        cx: &RequestContext,
        key: &str,
    ) -> Result<ClusterTemplate, Error> {
        let visible = cx.visibility();
        let mut found = meant(self.0.store.find_templates(&visible, key).await?, cx);
        if found.is_empty()
            && let Some((name, version)) = key.rsplit_once(':')
        {
            let mut named = self.0.store.find_templates(&visible, name).await?;
            named.retain(|template| template.has_version(version));
            found = meant(named, cx);
        }
        match found.len() {
            0 => Err(Error::not_found("cluster template", key)),
            1 => Ok(found.remove(0)),
            _ => Err(Error::Ambiguous {
                kind: "cluster template",
                name: key.to_owned(),
                ids: found.iter().map(|t| t.id.to_string()).collect(),
            }),
        }
    }
}
