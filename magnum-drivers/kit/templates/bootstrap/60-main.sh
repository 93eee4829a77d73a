# Cleaning up, and the order of everything.

clean_up() {
  : >"$STATE/done"
  rm -f "$DISCOVERY" "$ETC/signal.json" "$RUN/token-header"
  rm -f "$ROOT"/var/lib/cloud/instances/*/user-data.txt* "$ROOT"/var/lib/cloud/instances/*/cloud-config.txt \
    "$ROOT"/run/cloud-init/instance-data-sensitive.json "$ROOT"/run/cloud-init/combined-cloud-config.json
  if mountpoint -q "$DRIVE" 2>/dev/null; then
    umount "$DRIVE"
  fi
  rm -rf "$RUN/metadata"
  if is_control_plane; then
    systemctl enable --now clusternode-certs.timer >/dev/null 2>&1
  fi
  if [ "${BLOCK_METADATA:-true}" = true ]; then
    systemctl enable --now clusternode-metadata.service >/dev/null 2>&1
  fi
}

main() {
  mkdir -p "$STATE" "$RUN"
  if [ -e "$STATE/done" ]; then
    say "already done"
    FINISHED=true
    return
  fi
  SIGNAL=false
  ROLE=unknown
  if [ ! -r "$ETC/node.env" ] || [ ! -r "$KUBEADM_YAML" ]; then
    die E00 "/etc/clusternode/node.env or kubeadm.yaml is missing: the user-data was not applied"
  fi
  set -a
  # shellcheck disable=SC1091
  . "$ETC/node.env"
  set +a
  if [ "${CLUSTERNODE_FORMAT:-}" != 1 ]; then
    die E00 "node.env has format ${CLUSTERNODE_FORMAT:-none}, this script knows format 1"
  fi
  if [ -n "${NO_PROXY:-}" ]; then
    export http_proxy="${HTTP_PROXY:-}" https_proxy="${HTTPS_PROXY:-}" no_proxy="$NO_PROXY"
  fi
  say "boot of $NODE_NAME ($ROLE, group $NODE_GROUP, $KUBE_VERSION)"
  signal boot SUCCESS "bootstrap of $NODE_NAME started" ""
  prepare_services
  preflight
  prepare_etcd_disk
  finish_config
  start_node
  STAGE="done"
  signal "done" SUCCESS "node $NODE_NAME is set up" "${WARNINGS[*]:-}"
  clean_up
  FINISHED=true
  say "DONE $NODE_NAME"
}

trap on_exit EXIT
trap 'die E98 "the bootstrap was stopped in stage $STAGE: it took too long or the machine shut down"' TERM INT
main "$@"
