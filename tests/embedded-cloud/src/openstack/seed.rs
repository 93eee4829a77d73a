//! What exists in a new cloud, by fixed ids.

/// The only region.
pub const REGION: &str = "RegionOne";
/// Domain of all people.
pub const DOMAIN_ID: &str = "default";
/// Project `demo`.
pub const DEMO_PROJECT: &str = "e7dca9d0e97744de93b743b1ef8e7660";
/// User `demo`, password `demopw`.
pub const DEMO_USER: &str = "d85fc77cfbe34db09091d2e1a36af302";
/// Project `admin`.
pub const ADMIN_PROJECT: &str = "11092d04873e46d5b9fd9d330f12cc5f";
/// User `admin`, password `adminpw`.
pub const ADMIN_USER: &str = "92db1fb43ef741a99148202623cc6737";
/// Project of the service users.
pub const SERVICE_PROJECT: &str = "5c1b6f0f6a3a4a9c8c2f0f9a6d9be001";
/// User `heat` in the project `service`, trustee of the stacks' owners.
pub const HEAT_USER: &str = "5c1b6f0f6a3a4a9c8c2f0f9a6d9be002";
/// User `nova` in the project `service`, for calls between services.
pub const NOVA_USER: &str = "5c1b6f0f6a3a4a9c8c2f0f9a6d9be003";
/// User `demo2` (member only), `demo-reader` (reader only) on `demo`; password `demopw`.
pub const DEMO2_USER: &str = "5c1b6f0f6a3a4a9c8c2f0f9a6d9be004";
/// See [`DEMO2_USER`].
pub const READER_USER: &str = "5c1b6f0f6a3a4a9c8c2f0f9a6d9be005";
/// Domain of the users that Heat makes for resources.
pub const HEAT_DOMAIN: &str = "5c1b6f0f6a3a4a9c8c2f0f9a6d9be006";
/// User `heat_domain_admin`.
pub const HEAT_DOMAIN_ADMIN: &str = "5c1b6f0f6a3a4a9c8c2f0f9a6d9be007";
/// Project `demo2`, where `demo2` is a member: a neighbour for tests.
pub const DEMO2_PROJECT: &str = "5c1b6f0f6a3a4a9c8c2f0f9a6d9be008";
