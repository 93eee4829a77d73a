#!/bin/bash
# Writes every config file under $ETC. Idempotent, no network, < 1 s.
. "$(dirname "$0")/lib.sh"
mkdir -p "$ETC" "$RUN"/{ovn,ovs,lock} "$LOG" "$VAR"/{glance,mysql,rabbit,ovn,cinder,ironic,nova} "$SVCHOME"
for s in keystone glance placement nova neutron heat octavia barbican cinder ironic; do
  mkdir -p "$ETC/$s"; ln -sfn "$ETC/$s" "$SVCHOME/.$s"; done
# Two hard-coded paths: Barbican opens /etc/barbican/barbican-api-paste.ini, octavia_lib /var/run/octavia/*.sock
[ -e /etc/barbican ] || ln -s "$ETC/barbican" /etc/barbican; mkdir -p /var/run/octavia
# --- shared fragments
authtoken() { cat <<X
[keystone_authtoken]
www_authenticate_uri = $KS
auth_url = $KS
auth_type = password
username = $1
password = $SVCPW
project_name = service
user_domain_name = Default
project_domain_name = Default
region_name = $REGION
memcached_servers = $H:$MC_PORT
service_token_roles = service
service_token_roles_required = true
X
}
clientauth() { cat <<X
[$1]
auth_url = $KS
auth_type = password
username = $2
password = $SVCPW
project_name = service
user_domain_name = Default
project_domain_name = Default
region_name = $REGION
X
}
db() { printf '[database]\nconnection = %s/%s?charset=utf8mb4\nmax_pool_size = 5\nmax_overflow = 10\n' "$DB_URL" "$1"; }
common() { cat <<X
[DEFAULT]
debug = false
log_file = $LOG/$1.log
use_stderr = false
transport_url = $MQ_URL
X
}
tail_() { printf '[oslo_concurrency]\nlock_path = %s/lock\n[oslo_messaging_rabbit]\nheartbeat_in_pthread = false\n[oslo_messaging_notifications]\ndriver = noop\n' "$RUN"; }

# --- keystone
cat >"$ETC/keystone/keystone.conf" <<X
[DEFAULT]
log_file = $LOG/keystone.log
use_stderr = false
[database]
connection = $DB_URL/keystone?charset=utf8mb4
max_pool_size = 8
[token]
provider = fernet
expiration = 14400
[fernet_tokens]
key_repository = $ETC/keystone/fernet-keys
[credential]
key_repository = $ETC/keystone/credential-keys
[cache]
enabled = true
backend = oslo_cache.memcache_pool
memcache_servers = $H:$MC_PORT
[oslo_middleware]
enable_proxy_headers_parsing = true
X
# --- placement
cat >"$ETC/placement/placement.conf" <<X
[DEFAULT]
log_file = $LOG/placement.log
use_stderr = false
[api]
auth_strategy = keystone
[placement_database]
connection = $DB_URL/placement?charset=utf8mb4
max_pool_size = 5
$(authtoken placement)
X
# --- glance
cat >"$ETC/glance/glance-api.conf" <<X
$(common glance-api)
enabled_backends = fs:file
workers = 0
bind_host = $H
show_multiple_locations = false
$(db glance)
[glance_store]
default_backend = fs
[fs]
filesystem_store_datadir = $VAR/glance
[paste_deploy]
flavor = keystone
config_file = $ETC/glance/glance-api-paste.ini
$(authtoken glance)
$(tail_)
X
cp "$VENV/etc/glance/glance-api-paste.ini" "$ETC/glance/"
# --- nova (one file for all; computes get an extra one each)
cat >"$ETC/nova/nova.conf" <<X
$(common nova)
my_ip = $H
host = tc-compute-1
state_path = $VAR/nova
osapi_compute_listen = $H
compute_driver = fake.FakeDriverWithoutFakeNodes
instances_path = $VAR/nova/instances
service_down_time = 60
report_interval = 10
max_concurrent_builds = 4
cpu_allocation_ratio = 16
ram_allocation_ratio = 10
# fewer, smaller worker pools
default_green_pool_size = 200
rpc_response_timeout = 120
[api_database]
connection = $DB_URL/nova_api?charset=utf8mb4
max_pool_size = 5
[database]
connection = $DB_URL/nova_cell1?charset=utf8mb4
max_pool_size = 5
[api]
auth_strategy = keystone
[wsgi]
api_paste_config = $VENV/etc/nova/api-paste.ini
[quota]
instances = 40
cores = 400
ram = 1048576
[scheduler]
workers = 1
discover_hosts_in_cells_interval = 30
[conductor]
workers = 1
[glance]
service_type = image
region_name = $REGION
[vnc]
enabled = false
[workarounds]
disable_rootwrap = true
$(clientauth cinder nova)
os_region_name = $REGION
[notifications]
notify_on_state_change = vm_and_task_state
$(authtoken nova)
$(clientauth neutron nova)
$(clientauth placement nova)
$(clientauth service_user nova)
send_service_user_token = true
$(tail_)
X
cp "$VENV/etc/nova/api-paste.ini" "$ETC/nova/"
# No power synchronisation: one that begins while a machine is being deployed sees it off, and stops it as soon as it is active.
printf '[DEFAULT]\nhost = tc-ironic-1\ncompute_driver = ironic.IronicDriver\nsync_power_state_interval = -1\nstate_path = %s/nova-ironic\nlog_file = %s/nova-compute-ironic.log\n[filter_scheduler]\ntrack_instance_changes = false\n%s\n' "$VAR" "$LOG" "$(clientauth ironic nova)" >"$ETC/nova/compute-ironic.conf"
printf '[DEFAULT]\nlog_file = %s/nova-compute.log\n' "$LOG" >"$ETC/nova/compute-fake.conf"
printf '[DEFAULT]\nlog_file = %s/nova-conductor.log\n' "$LOG" >"$ETC/nova/conductor.conf"
printf '[DEFAULT]\nlog_file = %s/nova-scheduler.log\n' "$LOG" >"$ETC/nova/scheduler.conf"
# --- neutron: ML2/OVN, no Python agents at all
cat >"$ETC/neutron/neutron.conf" <<X
$(common neutron)
bind_host = $H
api_paste_config = $VENV/etc/neutron/api-paste.ini
core_plugin = ml2
service_plugins = ovn-router
auth_strategy = keystone
allow_overlapping_ips = true
notify_nova_on_port_status_changes = true
notify_nova_on_port_data_changes = true
rpc_workers = 0
api_workers = 1
state_path = $VAR/neutron
$(db neutron)
[quotas]
quota_network = 100
quota_subnet = 100
quota_port = 500
quota_router = 50
quota_floatingip = 100
quota_security_group = 100
quota_security_group_rule = 1000
$(authtoken neutron)
$(clientauth nova neutron)
$(clientauth placement neutron)
[experimental]
$(tail_)
X
mkdir -p "$ETC/neutron/plugins/ml2"
cat >"$ETC/neutron/plugins/ml2/ml2_conf.ini" <<X
[ml2]
type_drivers = flat,vlan,geneve
tenant_network_types = geneve
mechanism_drivers = ovn
extension_drivers = port_security
overlay_ip_version = 4
[ml2_type_flat]
flat_networks = *
[ml2_type_vlan]
network_vlan_ranges = physnet1:100:200
[ml2_type_geneve]
vni_ranges = 1:65536
max_header_size = 38
[securitygroup]
enable_security_group = true
[ovn]
ovn_nb_connection = $NB
ovn_sb_connection = $SB
ovn_l3_scheduler = leastloaded
ovn_metadata_enabled = false
enable_distributed_floating_ip = true
X
# --- heat
cat >"$ETC/heat/heat.conf" <<X
$(common heat)
host = tc-heat
region_name_for_services = $REGION
server_keystone_endpoint_type = public
heat_metadata_server_url = http://$H:8000
heat_waitcondition_server_url = http://$H:8000/v1/waitcondition
stack_user_domain_name = heat
stack_domain_admin = heat_domain_admin
stack_domain_admin_password = $SVCPW
deferred_auth_method = trusts
reauthentication_auth_method = trusts
auth_encryption_key = 0123456789abcdef0123456789abcdef
num_engine_workers = 1
plugin_dirs = 
environment_dir = $VENV/etc/heat/environment.d
template_dir = $VENV/etc/heat/templates
max_resources_per_stack = 1000
max_stacks_per_tenant = 512
executor_thread_pool_size = 16
rpc_response_timeout = 120
hidden_stack_tags = data-processing-cluster
$(db heat)
[paste_deploy]
api_paste_config = $VENV/etc/heat/api-paste.ini
[clients]
endpoint_type = publicURL
[clients_keystone]
auth_uri = $KS
endpoint_type = publicURL
[heat_api]
bind_host = $H
workers = 0
[heat_api_cfn]
bind_host = $H
workers = 0
[ec2authtoken]
auth_uri = $KS
$(clientauth trustee heat | grep -v -e project_ -e region)
$(authtoken heat)
[cache]
enabled = true
backend = dogpile.cache.memory
$(tail_)
X
# --- barbican
cat >"$ETC/barbican/barbican.conf" <<X
$(common barbican)
host_href = http://$H:9311
db_auto_create = true
sql_connection = $DB_URL/barbican?charset=utf8mb4
$(db barbican)
[secretstore]
enabled_secretstore_plugins = store_crypto
[crypto]
enabled_crypto_plugins = simple_crypto
[simple_crypto_plugin]
kek = dGhpcnR5X3R3b19ieXRlX2tleWJsYWhibGFoYmxhaGg=
[queue]
enable = false
$(authtoken barbican)
$(tail_)
X
cp "$VENV/etc/barbican/barbican-api-paste.ini" "$ETC/barbican/"
sed -i 's/^\/v1: .*/\/v1: barbican-api-keystone/' "$ETC/barbican/barbican-api-paste.ini"
# --- cinder
cat >"$ETC/cinder/cinder.conf" <<X
$(common cinder)
my_ip = $H
host = tc-cinder
osapi_volume_listen = $H
osapi_volume_workers = 1
api_paste_config = $VENV/etc/cinder/api-paste.ini
auth_strategy = keystone
state_path = $VAR/cinder
resource_query_filters_file = $VENV/etc/cinder/resource_filters.json
enabled_backends = fake
default_volume_type = fake
glance_api_servers = http://$H:9292
$(db cinder)
[fake]
volume_driver = cinder.tests.fake_driver.FakeLoggingVolumeDriver
volume_backend_name = fake
volume_group = cinder-volumes
$(authtoken cinder)
$(clientauth nova cinder)
$(clientauth service_user cinder)
send_service_user_token = true
[coordination]
backend_url = file://$VAR/cinder
$(tail_)
X
cp "$VENV/etc/cinder/resource_filters.json" "$ETC/cinder/" 2>/dev/null
mkdir -p "$ETC/octavia/certs"
if [ ! -f "$ETC/octavia/certs/client.pem" ]; then ( cd "$ETC/octavia/certs"
  openssl req -x509 -newkey rsa:2048 -days 3650 -subj /CN=testcloud-octavia-ca -passout pass:foobar -keyout ca.key -out ca.pem
  openssl req -newkey rsa:2048 -nodes -subj /CN=testcloud-octavia-client -keyout client.key -out client.csr
  openssl x509 -req -in client.csr -CA ca.pem -CAkey ca.key -passin pass:foobar -CAcreateserial -days 3650 -out client.crt
  cat client.crt client.key >client.pem ) >/dev/null 2>&1; fi
# --- octavia: provider 'ovn' alone; the others do not work on one machine without guests
cat >"$ETC/octavia/octavia.conf" <<X
$(common octavia)
octavia_plugins = hot_plug_plugin
$(db octavia)
[api_settings]
bind_host = $H
bind_port = 9876
auth_strategy = keystone
enabled_provider_drivers = ovn:'OVN'
default_provider_driver = ovn
allow_ping_health_monitors = true
[oslo_messaging]
topic = octavia_prov
rpc_thread_pool_size = 2
[health_manager]
heartbeat_key = insecure
controller_ip_port_list = $H:5555
bind_ip = $H
[certificates]
cert_generator = local_cert_generator
cert_manager = barbican_cert_manager
ca_certificate = $ETC/octavia/certs/ca.pem
ca_private_key = $ETC/octavia/certs/ca.key
ca_private_key_passphrase = foobar
server_certs_key_passphrase = insecure-key-do-not-use-this-key
[haproxy_amphora]
server_ca = $ETC/octavia/certs/ca.pem
client_cert = $ETC/octavia/certs/client.pem
[controller_worker]
workers = 1
client_ca = $ETC/octavia/certs/ca.pem
amphora_driver = amphora_noop_driver
compute_driver = compute_noop_driver
network_driver = allowed_address_pairs_driver
image_driver = image_noop_driver
volume_driver = volume_noop_driver
distributor_driver = distributor_noop_driver
loadbalancer_topology = SINGLE
amp_flavor_id = 00000000-0000-0000-0000-000000000001
amp_image_tag = amphora
amp_boot_network_list = LBMGMT
amp_secgroup_list =
amp_ssh_key_name =
amp_active_retries = 5
amp_active_wait_sec = 1
[task_flow]
engine = serial
[house_keeping]
[driver_agent]
status_socket_path = /var/run/octavia/status.sock
stats_socket_path = /var/run/octavia/stats.sock
get_socket_path = /var/run/octavia/get.sock
enabled_provider_agents = ovn
[ovn]
ovn_nb_connection = $NB
ovn_sb_connection = $SB
$(clientauth service_auth octavia)
$(clientauth neutron octavia)
$(clientauth nova octavia)
$(clientauth glance octavia)
$(authtoken octavia)
$(tail_)
X
# --- ironic
cat >"$ETC/ironic/ironic.conf" <<X
$(common ironic)
my_ip = $H
host = 127.0.0.1
auth_strategy = keystone
enabled_hardware_types = fake-hardware
enabled_bios_interfaces = fake,no-bios
enabled_boot_interfaces = fake
enabled_console_interfaces = fake,no-console
enabled_deploy_interfaces = fake
enabled_firmware_interfaces = fake,no-firmware
enabled_inspect_interfaces = fake,no-inspect
enabled_management_interfaces = fake
enabled_network_interfaces = noop
default_network_interface = noop
enabled_power_interfaces = fake
enabled_raid_interfaces = fake,no-raid
enabled_rescue_interfaces = fake,no-rescue
enabled_storage_interfaces = fake,noop
enabled_vendor_interfaces = fake,no-vendor
default_deploy_interface = fake
default_boot_interface = fake
rpc_transport = json-rpc
rbac_service_role_elevated_access = true
[json_rpc]
auth_strategy = noauth
host_ip = $H
port = 8089
[api]
host_ip = $H
port = 6385
api_workers = 1
public_endpoint = http://$H:6385
[conductor]
automated_clean = false
sync_power_state_interval = 60
workers_pool_size = 100
deploy_kernel = file:///dev/null
$(db ironic)
[inventory]
data_backend = none
$(clientauth service_catalog ironic)
$(clientauth neutron ironic)
$(clientauth glance ironic)
$(clientauth nova ironic)
$(clientauth cinder ironic)
$(authtoken ironic)
$(tail_)
X
chmod -R go-rwx "$ETC"; exit 0
