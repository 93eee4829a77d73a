#!/usr/bin/env bash
# Renews the leaf certificates of a control plane node when fewer than 60 days are left, then restarts its static pods.
# Replacing nodes (every upgrade does) renews them as well; this is for clusters that nobody upgrades.

set -u -o pipefail
export LC_ALL=C

ROOT="${CLUSTERNODE_ROOT:-}"
if [ -z "$ROOT" ]; then
  PATH="${PATH:-/usr/bin:/bin}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/sbin:/opt/bin"
  export PATH
fi
CERTIFICATE="$ROOT/etc/kubernetes/pki/apiserver.crt"
MANIFESTS="$ROOT/etc/kubernetes/manifests"
ASIDE="$ROOT/etc/kubernetes/manifests-aside"
SIXTY_DAYS=5184000

restore() {
  local manifest
  for manifest in "$ASIDE"/*.yaml; do
    if [ -e "$manifest" ]; then
      mv "$manifest" "$MANIFESTS/"
    fi
  done
}

# A run that was cut short left its manifests aside.
mkdir -p "$ASIDE"
restore

if openssl x509 -checkend "$SIXTY_DAYS" -noout -in "$CERTIFICATE" >/dev/null 2>&1; then
  echo "CLUSTERNODE certificates are good for 60 days and more"
  exit 0
fi
if ! kubeadm certs renew all; then
  echo "CLUSTERNODE WARN W20: the certificates could not be renewed"
  exit 1
fi
trap restore EXIT
mv "$MANIFESTS"/*.yaml "$ASIDE/"
sleep 30
restore
echo "CLUSTERNODE certificates were renewed"
