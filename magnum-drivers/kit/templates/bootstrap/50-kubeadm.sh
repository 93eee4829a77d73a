# What has to be in place before kubeadm.

prepare_services() {
  systemctl enable kubelet >/dev/null 2>&1
  if [ -e "$ROOT/etc/systemd/system/containerd.service.d/http-proxy.conf" ]; then
    systemctl daemon-reload
    systemctl restart containerd
  fi
  local service
  if [ -e "$ROOT/etc/chrony/sources.d/clusternode.sources" ]; then
    if [ -e "$ROOT/etc/chrony.conf" ] && ! grep -q '/etc/chrony/sources.d' "$ROOT/etc/chrony.conf"; then
      printf 'sourcedir /etc/chrony/sources.d\n' >>"$ROOT/etc/chrony.conf"
    fi
    for service in chrony chronyd systemd-timesyncd; do
      if systemctl is-active --quiet "$service"; then
        systemctl restart "$service"
      fi
    done
  fi
}

prepare_etcd_disk() {
  [ -n "$ETCD_DEVICE" ] || return 0
  local mountpoint="$ROOT/var/lib/etcd-disk"
  if [ -z "$(blkid -o value -s TYPE "$ETCD_DEVICE" 2>/dev/null)" ]; then
    mkfs.ext4 -q -L etcd "$ETCD_DEVICE" || die E14 "the etcd volume could not be formatted"
  fi
  mkdir -p "$mountpoint"
  mount -t ext4 "$ETCD_DEVICE" "$mountpoint" || die E14 "the etcd volume could not be mounted"
  if [ -n "$(ls -A "$ROOT$ETCD_DATA_DIR" 2>/dev/null)" ]; then
    die E09 "the etcd volume is dirty: $ETCD_DATA_DIR [fix: a volume belongs to one node; replace the node]"
  fi
  printf 'LABEL=etcd /var/lib/etcd-disk ext4 defaults 0 2\n' >>"$ROOT/etc/fstab"
  mkdir -p "$ROOT/etc/systemd/system/kubelet.service.d"
  printf '[Unit]\nRequiresMountsFor=/var/lib/etcd-disk\n' >"$ROOT/etc/systemd/system/kubelet.service.d/20-etcd-disk.conf"
  systemctl daemon-reload
}

# Fills in what only this machine knows. Without an id the cloud provider finds the server by its name.
finish_config() {
  local edits=(-e "s/@NODE_IP@/$NODE_IP/g")
  if [ -n "$INSTANCE_ID" ]; then
    edits+=(-e "s/@INSTANCE_ID@/$INSTANCE_ID/g")
  else
    edits+=(-e '/- name: provider-id$/{N;d;}')
  fi
  if ! sed "${edits[@]}" "$KUBEADM_YAML" >"$KUBEADM_YAML.new" || ! mv "$KUBEADM_YAML.new" "$KUBEADM_YAML"; then
    die E21 "kubeadm.yaml could not be completed"
  fi
  local output
  output="$(kubeadm config validate --config "$KUBEADM_YAML" 2>&1)" ||
    die E21 "kubeadm refuses its configuration" "$(tail -c 1500 <<<"$output")"
}

wait_for_endpoint() {
  local attempts=$((ENDPOINT_WAIT_SECONDS / 5)) attempt code
  [ "$attempts" -ge 1 ] || attempts=1
  for attempt in $(seq 1 "$attempts"); do
    code="$(curl --silent --insecure --noproxy '*' --connect-timeout 5 --max-time 10 --output /dev/null \
      --write-out '%{http_code}' "https://$ENDPOINT/livez" 2>/dev/null)"
    if [ -n "$code" ] && [ "$code" != 000 ]; then
      return 0
    fi
    [ "$attempt" -eq "$attempts" ] || sleep 5
  done
  die E20 "the cluster's endpoint $ENDPOINT does not answer after $ENDPOINT_WAIT_SECONDS seconds [fix: check load balancer and security groups]"
}

# kubeadm, once.

run_kubeadm() {
  kubeadm "$@" --config "$KUBEADM_YAML" 2>&1 | tee -a "$KUBEADM_LOG"
}

kubeadm_failed() {
  die E22 "kubeadm $1 failed: $(grep -vE '^[[:space:]]*$|--v=5' "$KUBEADM_LOG" | tail -n 1 | cut -c 1-200)" "$(tail -c 1500 "$KUBEADM_LOG")"
}

# A join may be tried again as long as no etcd member was announced: until then nothing outside knows of it.
join() {
  local attempt pki="$ROOT/etc/kubernetes/pki"
  rm -rf "$RUN/pki"
  if [ -d "$pki" ]; then
    cp -a "$pki" "$RUN/pki"
  fi
  for attempt in 1 2 3; do
    : >"$KUBEADM_LOG"
    if run_kubeadm join; then
      rm -rf "$RUN/pki"
      return 0
    fi
    if [ "$attempt" -eq 3 ] || grep -q 'Announced new etcd member' "$KUBEADM_LOG"; then
      break
    fi
    say "kubeadm join failed, attempt $attempt of 3"
    cp "$KUBEADM_LOG" "$KUBEADM_LOG.$attempt"
    kubeadm reset -f --skip-phases=remove-etcd-member >>"$KUBEADM_LOG.$attempt" 2>&1
    if [ -d "$RUN/pki" ]; then
      rm -rf "$pki"
      cp -a "$RUN/pki" "$pki"
    fi
    sleep 15
  done
  rm -rf "$RUN/pki"
  kubeadm_failed join
}

start_node() {
  STAGE=kubeadm
  mkdir -p "$STATE"
  if [ "$ROLE" = control-plane-init ]; then
    signal kubeadm SUCCESS "kubeadm init started" ""
    : >"$KUBEADM_LOG"
    run_kubeadm init --skip-token-print || kubeadm_failed init
  else
    wait_for_endpoint
    signal kubeadm SUCCESS "kubeadm join started" ""
    join
  fi
}

