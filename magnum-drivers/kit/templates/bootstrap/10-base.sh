#!/usr/bin/env bash
# Turns this machine into a node of its cluster: checks it, runs kubeadm once, reports every stage, cleans up.
#
# Reads /etc/clusternode/{node.env,signal.json,kubeadm.yaml} and the config drive.
# Exit code: 0 done, 10+n failed with code En. Each failure is one line `CLUSTERNODE FAIL En: what [fix: how]`.
# CLUSTERNODE_ROOT puts another directory before every path, so that the script can be tried without a machine.

set -u -o pipefail
umask 077
export LC_ALL=C

ROOT="${CLUSTERNODE_ROOT:-}"
if [ -z "$ROOT" ]; then
  PATH="${PATH:-/usr/bin:/bin}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/sbin:/opt/bin"
  export PATH
fi
ETC="$ROOT/etc/clusternode"
STATE="$ROOT/var/lib/clusternode"
RUN="$ROOT/run/clusternode"
DRIVE="$RUN/config-drive"
KUBEADM_YAML="$ETC/kubeadm.yaml"
KUBEADM_LOG="$STATE/kubeadm.log"
DISCOVERY="$ROOT/etc/kubernetes/bootstrap/discovery.conf"
CRI="unix:///run/containerd/containerd.sock"
METADATA="http://169.254.169.254/openstack/latest"

STAGE=boot
FINISHED=false
TOKEN_READY=false
FAILURES=()
FAILURE_CODES=()
WARNINGS=()
NODE_IP=""
INSTANCE_ID=""
ETCD_DEVICE=""

say() {
  printf 'CLUSTERNODE %s\n' "$*"
}

have() {
  command -v "$1" >/dev/null 2>&1
}

is_control_plane() {
  [ "$ROLE" != worker ]
}

