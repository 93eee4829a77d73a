//! A project for one test, and a small cluster in it.

use std::time::Duration;

use magnum_heat::{
    Auth, CloudConfig, Env, Scope, Session,
    auth::UserRef,
    follow::{Until, wait_for},
    hot::{
        Document, Files, Parameter, ParameterType, Resource, get_attr, get_param, get_resource,
        str_replace,
        types::{
            FloatingIp, Net, Port, Router, RouterInterface, SecurityGroup, SecurityGroupRule,
            Server, ServerGroup, ServerNetwork, SignalTransport, Subnet, WaitConditionHandle,
        },
    },
    keystone, neutron,
    stack::{
        DeleteStack, DeleteWait, ListStacks, ShowStack, StackContent, StackRef, list_stacks,
        wait_deleted,
    },
};

/// An image that the test cloud's bootstrap makes.
pub(crate) const IMAGE: &str = "ubuntu-k8s-v1.36";

pub(crate) struct Project {
    pub(crate) admin: Session,
    pub(crate) session: Session,
    pub(crate) id: String,
    pub(crate) user: String,
}

impl Project {
    pub(crate) async fn new(name: &str) -> Self {
        let env = Env::from_process();
        let cloud = env
            .var("MAGNUM_TEST_CLOUD_ADMIN")
            .expect("MAGNUM_TEST_CLOUD_ADMIN names the administrator's cloud");
        let config = CloudConfig::load(Some(cloud), &env).unwrap();
        let admin = Session::connect(config.clone()).await.unwrap();
        let name = format!("{name}-{}", &uuid::Uuid::new_v4().simple().to_string()[..8]);
        let domain = "default".to_owned();
        let create = keystone::CreateProject {
            name: name.clone(),
            domain: domain.clone(),
            description: String::new(),
        };
        let project = admin.send(create).await.unwrap();
        let password = secrecy::SecretString::from(uuid::Uuid::new_v4().to_string());
        let user = admin
            .send(keystone::CreateUser {
                name,
                domain,
                password: password.clone(),
                default_project: Some(project.id.clone()),
                description: String::new(),
            })
            .await
            .unwrap();
        for role in ["member", "load-balancer_member", "creator"] {
            let role = keystone::find_role(&admin, role).await.unwrap().id;
            let assign = keystone::AssignRole {
                project: project.id.clone(),
                user: user.id.clone(),
                role,
            };
            admin.send(assign).await.unwrap();
        }
        let auth = Auth::Password {
            user: UserRef::Id(user.id.clone()),
            password,
        };
        let session = admin
            .reauthenticated(auth, Scope::project(&project.id))
            .await
            .unwrap();
        Self {
            admin,
            session,
            id: project.id,
            user: user.id,
        }
    }

    pub(crate) async fn remove(self) {
        for left in list_stacks(&self.session, ListStacks::new()).await.unwrap() {
            gone(&self.session, &left.reference()).await;
        }
        let mine = neutron::ListItems::<neutron::SecurityGroup>::new().of_project(&self.id);
        for group in neutron::list(&self.admin, mine).await.unwrap() {
            let _ = neutron::delete::<neutron::SecurityGroup>(&self.admin, &group.id).await;
        }
        self.admin
            .send(keystone::DeleteUser { id: self.user })
            .await
            .unwrap();
        self.admin
            .send(keystone::DeleteProject { id: self.id })
            .await
            .unwrap();
    }
}

pub(crate) async fn gone(session: &Session, stack: &StackRef) {
    let Ok(before) = session.send(ShowStack::new(stack)).await else {
        return;
    };
    session
        .send(DeleteStack {
            stack: stack.clone(),
        })
        .await
        .unwrap();
    let wait = DeleteWait::new(Some(&before), Duration::from_secs(60));
    wait_deleted(
        session,
        stack,
        wait,
        Duration::from_secs(1),
        Duration::from_secs(300),
    )
    .await
    .unwrap();
}

pub(crate) async fn complete(session: &Session, stack: &StackRef) -> magnum_heat::stack::Stack {
    wait_for(
        session,
        stack,
        Until::complete(),
        Duration::from_secs(1),
        Duration::from_secs(300),
    )
    .await
    .unwrap()
}

pub(crate) fn member(doc: &mut Document, files: &mut Files, n: usize) {
    let text = files.add("boot", "#cloud-config\n# @NAME@\n");
    let handle = WaitConditionHandle::new().signal_transport(SignalTransport::HeatSignal);
    doc.add_resource(format!("signal_{n}"), handle).unwrap();
    let port = Port::new(get_resource("net"))
        .subnet(get_resource("subnet"))
        .security_groups([get_resource("group")]);
    doc.add_resource(
        format!("port_{n}"),
        port.name(format!("m-{n}")).tags(["mark"]),
    )
    .unwrap();
    let server = Server::new("m1.small")
        .name(format!("m-{n}"))
        .image(IMAGE)
        .networks([ServerNetwork::Port(get_resource(&format!("port_{n}")))])
        .user_data(str_replace(
            text,
            [("@NAME@", get_attr(&format!("signal_{n}"), "signal"))],
        ))
        .group(get_resource("servers"))
        .metadata(magnum_heat::hot::Value::map([("mark", "m")]))
        .immutable();
    doc.add_resource(format!("server_{n}"), server).unwrap();
}

pub(crate) fn cluster() -> StackContent {
    let mut doc = Document::new().description("small cluster");
    let mut files = Files::new();
    doc.add_parameter(
        "external",
        Parameter::new(ParameterType::String).default_value("public"),
    )
    .unwrap();
    doc.add_resource("net", Net::new().name("net").tags(["mark"]))
        .unwrap();
    let subnet = Subnet::new(get_resource("net"))
        .cidr("10.77.0.0/24")
        .dns_nameservers(["192.0.2.53"])
        .tags(["mark"]);
    doc.add_resource("subnet", subnet).unwrap();
    doc.add_resource(
        "router",
        Router::new().gateway(get_param("external")).tags(["mark"]),
    )
    .unwrap();
    doc.add_resource(
        "link",
        RouterInterface::new(get_resource("router")).subnet(get_resource("subnet")),
    )
    .unwrap();
    doc.add_resource(
        "group",
        SecurityGroup::new().name("group").description("mark"),
    )
    .unwrap();
    let rule = SecurityGroupRule::new(get_resource("group"))
        .protocol("tcp")
        .ports(6443, 6443)
        .remote_ip_prefix("0.0.0.0/0");
    doc.add_resource("rule", rule).unwrap();
    doc.add_resource(
        "servers",
        ServerGroup::new()
            .name("servers")
            .policies(["soft-anti-affinity"]),
    )
    .unwrap();
    member(&mut doc, &mut files, 0);
    let fip = FloatingIp::new(get_param("external")).port_id(get_resource("port_0"));
    doc.add_resource("fip", Resource::new(fip).depends_on(["link"]))
        .unwrap();
    doc.add_output("address", get_attr("fip", "floating_ip_address"))
        .unwrap();
    StackContent::new(doc).files(files)
}
