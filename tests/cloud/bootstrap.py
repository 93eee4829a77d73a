#!/usr/bin/env python3
"""Idempotent bootstrap of the test cloud over its own APIs (openstacksdk)."""
import os, sys, time, json, pathlib
os.environ.pop('OS_CLOUD', None)
import openstack
TC = os.environ.get('TC_HOME', '/opt/testcloud')
H = '127.0.0.1'; KS = f'http://{H}:5000/v3'; REGION = 'RegionOne'
SVCPW, ADMINPW, DEMOPW = 'svcpw', 'adminpw', 'demopw'

def conn(user='admin', pw=ADMINPW, project='admin', **kw):
    return openstack.connect(auth_url=KS, username=user, password=pw, project_name=project,
        user_domain_name='Default', project_domain_name='Default', region_name=REGION,
        identity_api_version='3', app_name='bootstrap', load_yaml_config=False, load_envvars=False, **kw)

CATALOG = [  # type, name, url, user
    ('placement', 'placement', f'http://{H}:8778'), ('image', 'glance', f'http://{H}:9292'),
    ('compute', 'nova', f'http://{H}:8774/v2.1'), ('network', 'neutron', f'http://{H}:9696'),
    ('orchestration', 'heat', f'http://{H}:8004/v1/%(tenant_id)s'), ('cloudformation', 'heat-cfn', f'http://{H}:8000/v1'),
    ('load-balancer', 'octavia', f'http://{H}:9876'), ('key-manager', 'barbican', f'http://{H}:9311'),
    ('block-storage', 'cinder', f'http://{H}:8776/v3/%(project_id)s'), ('volumev3', 'cinderv3', f'http://{H}:8776/v3/%(project_id)s'),
    ('baremetal', 'ironic', f'http://{H}:6385')]
NEEDS = {'octavia': 'octavia', 'barbican': 'barbican', 'cinder': 'cinder', 'cinderv3': 'cinder', 'ironic': 'ironic'}

def identity():
    want = os.environ.get('TC_SERVICES', 'core octavia barbican cinder ironic').split()
    c = conn(); i = c.identity
    roles = {r.name: r for r in i.roles()}
    for r in ('admin', 'manager', 'member', 'reader', 'service', 'load-balancer_member', 'creator', 'heat_stack_owner', 'heat_stack_user'):
        roles.get(r) or roles.setdefault(r, i.create_role(name=r))
    def project(name, domain='default'):
        return next(iter(i.projects(name=name, domain_id=domain)), None) or i.create_project(name=name, domain_id=domain)
    def user(name, pw, domain='default'):
        return next(iter(i.users(name=name, domain_id=domain)), None) or i.create_user(name=name, password=pw, domain_id=domain)
    def domain(name):
        return next(iter(i.domains(name=name)), None) or i.create_domain(name=name)
    def grant(u, p, *rs):
        for r in rs: i.assign_project_role_to_user(p, u, roles[r])
    svc = project('service')
    for s in ('placement', 'glance', 'nova', 'neutron', 'heat', 'octavia', 'barbican', 'cinder', 'ironic'):
        grant(user(s, SVCPW), svc, 'admin', 'service')
    admin = next(iter(i.users(name='admin', domain_id='default')))
    demo_p = project('demo'); demo_u = user('demo', DEMOPW)
    grant(demo_u, demo_p, 'member', 'load-balancer_member', 'creator'); grant(admin, demo_p, 'admin')
    # a second, unprivileged-by-design tenant: member only, and a reader
    p2 = project('demo2'); grant(user('demo2', DEMOPW), p2, 'member'); grant(user('demo-reader', DEMOPW), demo_p, 'reader')
    for dom, adm in (('heat', 'heat_domain_admin'),):
        d = domain(dom); u = user(adm, SVCPW, d.id)
        i.assign_domain_role_to_user(d, u, roles['admin'])
    have = {s.name: s for s in i.services()}; eps = {(e.service_id, e.interface) for e in i.endpoints()}
    for typ, name, url in CATALOG:
        if NEEDS.get(name) and NEEDS[name] not in want: continue
        s = have.get(name) or i.create_service(name=name, type=typ)
        for itf in ('public', 'internal', 'admin'):
            if (s.id, itf) not in eps:
                i.create_endpoint(service_id=s.id, interface=itf, url=url, region_id=REGION)
    def cloud(u, pw, p): return {'auth': {'auth_url': KS, 'username': u, 'password': pw, 'project_name': p, 'user_domain_name': 'Default', 'project_domain_name': 'Default'}, 'region_name': REGION, 'identity_api_version': 3, 'interface': 'public'}
    clouds = {'clouds': {'tc-admin': cloud('admin', ADMINPW, 'admin'), 'tc-demo': cloud('demo', DEMOPW, 'demo'), 'tc-demo-admin': cloud('admin', ADMINPW, 'demo'), 'tc-demo2': cloud('demo2', DEMOPW, 'demo2'), 'tc-reader': cloud('demo-reader', DEMOPW, 'demo')}}
    import yaml
    pathlib.Path(TC, 'clouds.yaml').write_text(yaml.safe_dump(clouds, sort_keys=False))
    for f, (u, pw, p) in {'openrc': ('demo', DEMOPW, 'demo'), 'openrc-admin': ('admin', ADMINPW, 'admin')}.items():
        pathlib.Path(TC, f).write_text(''.join(f'export {k}={v}\n' for k, v in dict(OS_AUTH_URL=KS, OS_USERNAME=u, OS_PASSWORD=pw, OS_PROJECT_NAME=p, OS_USER_DOMAIN_NAME='Default', OS_PROJECT_DOMAIN_NAME='Default', OS_REGION_NAME=REGION, OS_IDENTITY_API_VERSION=3, OS_INTERFACE='public').items()) + f'export PATH={TC}/venv/bin:$PATH\n')

def resources():
    c = conn(); n = c.network
    have = {f.name for f in c.compute.flavors()}
    for name, cpu, ram, disk in (('m1.small', 1, 2048, 20), ('m1.medium', 2, 4096, 40), ('m1.large', 4, 8192, 80)):
        if name not in have: c.compute.create_flavor(name=name, vcpus=cpu, ram=ram, disk=disk, is_public=True)
    if 'baremetal' not in have:
        f = c.compute.create_flavor(name='baremetal', vcpus=1, ram=1024, disk=10)
        c.compute.create_flavor_extra_specs(f, {'resources:CUSTOM_BAREMETAL': '1', 'resources:VCPU': '0', 'resources:MEMORY_MB': '0', 'resources:DISK_GB': '0'})
    # tiny but valid raw files: the fake hypervisors boot nothing, but every property is read
    for name, version in (('ubuntu-k8s-v1.35', 'v1.35.4'), ('ubuntu-k8s-v1.36', 'v1.36.1'), ('ubuntu-k8s-v1.37', 'v1.37.0'), ('ubuntu-k8s-bm-v1.36', 'v1.36.1')):
        if not c.image.find_image(name):
            c.image.create_image(name, filename=None, data=b'\0' * 4096, disk_format='raw', container_format='bare', visibility='public', wait=True, os_distro='ubuntu', os_version='24.04', kube_version=version)
    ext = n.find_network('public') or n.create_network(name='public', is_router_external=True, is_shared=False, provider_network_type='flat', provider_physical_network='public')
    if not n.find_subnet('public-subnet'):
        n.create_subnet(network_id=ext.id, name='public-subnet', ip_version=4, cidr='172.24.4.0/24', gateway_ip='172.24.4.1', enable_dhcp=False, allocation_pools=[{'start': '172.24.4.10', 'end': '172.24.4.250'}])
    lb = n.find_network('lb-mgmt-net') or n.create_network(name='lb-mgmt-net')
    if not n.find_subnet('lb-mgmt-subnet'):
        n.create_subnet(network_id=lb.id, name='lb-mgmt-subnet', ip_version=4, cidr='192.168.222.0/24')
    pathlib.Path(TC, 'var', 'lbmgmt.id').write_text(lb.id)
    demo = c.identity.find_project('demo')
    for p in ('demo', 'demo2'):
        pid = c.identity.find_project(p).id
        c.compute.put(f'/os-quota-sets/{pid}', json={'quota_set': {'instances': 40, 'cores': 200, 'ram': 600000, 'force': True}})
        r = c.network.put(f'/quotas/{pid}', json={'quota': dict(network=50, subnet=50, port=300, router=20, floatingip=50, security_group=60, security_group_rule=600)}); r.raise_for_status()
    d = conn('demo', DEMOPW, 'demo')
    if not d.compute.find_keypair('testkey', ignore_missing=True):
        d.compute.create_keypair(name='testkey', public_key='ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKpyTQg6eG7VfXsZ0N0qg0wE2bD4tVvL1eQm9X0p3n5c test@testcloud')

def wait():
    c = conn(); t0 = time.time()
    while time.time() - t0 < 90:
        # 'up' only says that a heartbeat is younger than service_down_time: a crashed process must be seen by its pid
        svcs = [s for s in c.compute.services(binary='nova-compute') if s.state == 'up']
        for n in ('nova-compute', 'nova-conductor', 'nova-scheduler', 'heat-engine'):
            os.kill(int(pathlib.Path(TC, 'run', n + '.pid').read_text().split()[0]), 0)
        hv = list(c.compute.hypervisors())
        heat = c.orchestration.get('/services').json()['services']
        if len(svcs) >= 1 and hv and any(s['status'] == 'up' for s in heat):
            return
        time.sleep(1)
    sys.exit(f'not healthy: {svcs} {hv} {heat}')

def ironic():
    c = conn(); b = c.baremetal
    have = {n.name for n in b.nodes()}
    for k in range(int(os.environ.get('TC_IRONIC_NODES', '4'))):
        name = f'bm-{k}'
        if name in have:
            if not b.get_node(name).power_state: b.set_node_power_state(name, 'power off', wait=True)
            continue
        node = b.create_node(name=name, driver='fake-hardware', resource_class='baremetal', properties={'cpus': 4, 'memory_mb': 8192, 'local_gb': 100, 'cpu_arch': 'x86_64', 'capabilities': 'boot_mode:uefi'}, network_interface='noop')
        b.create_port(node_id=node.id, address=f'52:54:00:00:01:{k:02x}', pxe_enabled=True)
        b.set_node_provision_state(node, 'manage', wait=True); b.set_node_provision_state(node, 'provide', wait=True)
        # the fake power interface reports what was last set; None counts as 'unavailable' for Nova
        b.set_node_power_state(node, 'power off', wait=True)

def cinder():
    c = conn(); have = {t.name for t in c.block_storage.types()}
    if 'fake' not in have: c.block_storage.create_type(name='fake', extra_specs={'volume_backend_name': 'fake'})

if __name__ == '__main__':
    globals()[sys.argv[1]]()
