# Checks of the image and the machine. All run; the worst is reported with the others' codes.

version_minor() {
  printf '%s' "$1" | sed -n -E 's/^[^0-9]*1\.([0-9]+).*$/\1/p'
}

check_binaries() {
  local missing="" name
  for name in kubeadm kubelet kubectl; do
    have "$name" || missing="$missing $name"
  done
  if [ -n "$missing" ]; then
    fail E01 "the image lacks$missing: it is not a node image" "use an image made for Kubernetes $KUBE_VERSION"
    return
  fi
  local kubeadm kubelet wanted
  wanted="$(version_minor "$KUBE_VERSION")"
  kubeadm="$(kubeadm version -o short 2>/dev/null)"
  kubelet="$(kubelet --version 2>/dev/null | awk '{ print $NF }')"
  if [ "$(version_minor "$kubeadm")" != "$wanted" ]; then
    fail E02 "the image has kubeadm ${kubeadm:-of unknown version}, the node group declares $KUBE_VERSION" "use an image of that minor version"
  elif [ "$kubeadm" != "$KUBE_VERSION" ]; then
    warn W05 "the image has kubeadm $kubeadm, the node group declares $KUBE_VERSION"
  fi
  local have_minor have_kubelet
  have_minor="$(version_minor "$kubeadm")"
  have_kubelet="$(version_minor "$kubelet")"
  if [ -z "$have_kubelet" ] || [ "$have_kubelet" -gt "${have_minor:-0}" ] || [ $((have_kubelet + 3)) -lt "${have_minor:-0}" ]; then
    fail E03 "kubelet ${kubelet:-of unknown version} does not fit kubeadm ${kubeadm:-of unknown version}" "use an image with both of one version"
  fi
}

runtime_answers() {
  if have crictl; then
    crictl --runtime-endpoint "$CRI" info >/dev/null 2>&1
  else
    ctr version >/dev/null 2>&1
  fi
}

check_runtime() {
  local attempt version major minor
  for attempt in $(seq 1 30); do
    if runtime_answers; then
      break
    fi
    if [ "$attempt" -eq 30 ]; then
      fail E04 "the container runtime is not running" "see journalctl -u containerd"
    fi
    sleep 2
  done
  version="$(containerd --version 2>/dev/null | grep -oE '[0-9]+\.[0-9]+\.[0-9]+' | head -n 1)"
  major="${version%%.*}"
  minor="${version#*.}"
  minor="${minor%%.*}"
  if [ "$(version_minor "$KUBE_VERSION")" -ge 36 ]; then
    if [ "${major:-0}" -lt 2 ]; then
      fail E05 "containerd ${version:-of unknown version} is too old for $KUBE_VERSION" "use an image with containerd 2.0 or newer"
    fi
  elif [ "${major:-0}" -lt 1 ] || { [ "$major" -eq 1 ] && [ "${minor:-0}" -lt 7 ]; }; then
    fail E05 "containerd ${version:-of unknown version} is too old" "use an image with containerd 1.7 or newer"
  fi
}

check_kernel() {
  local setting name value wrong=""
  if [ "$(stat -fc %T "$ROOT/sys/fs/cgroup" 2>/dev/null)" != cgroup2fs ]; then
    fail E06 "cgroup v2 is not in use" "boot with systemd.unified_cgroup_hierarchy=1"
  fi
  if [ "$(wc -l <"$ROOT/proc/swaps" 2>/dev/null || echo 1)" -gt 1 ]; then
    fail E08 "swap is on" "use an image without swap"
  fi
  mkdir -p "$ROOT/etc/modules-load.d" "$ROOT/etc/sysctl.d"
  printf 'overlay\nbr_netfilter\n' >"$ROOT/etc/modules-load.d/90-clusternode.conf"
  modprobe overlay >/dev/null 2>&1
  modprobe br_netfilter >/dev/null 2>&1
  : >"$ROOT/etc/sysctl.d/90-clusternode.conf"
  for setting in net.ipv4.ip_forward=1 net.bridge.bridge-nf-call-iptables=1 vm.overcommit_memory=1 vm.panic_on_oom=0 \
    kernel.panic=10 kernel.panic_on_oops=1 kernel.keys.root_maxkeys=1000000 kernel.keys.root_maxbytes=25000000; do
    name="${setting%%=*}"
    value="${setting#*=}"
    printf '%s = %s\n' "$name" "$value" >>"$ROOT/etc/sysctl.d/90-clusternode.conf"
    if [ "$(sysctl -n "$name" 2>/dev/null)" != "$value" ]; then
      sysctl -qw "$setting" >/dev/null 2>&1
      [ "$(sysctl -n "$name" 2>/dev/null)" = "$value" ] || wrong="$wrong $setting"
    fi
  done
  if [ -n "$wrong" ]; then
    fail E10 "kernel settings could not be made:$wrong" "use an image whose kernel has br_netfilter and overlay"
  fi
}

check_kubelet_unit() {
  local unit flag file
  unit="$(systemctl cat kubelet 2>/dev/null)"
  if [[ "$unit" != *bootstrap-kubelet.conf* || "$unit" != *kubeadm-flags.env* ]]; then
    fail E07 "the kubelet's unit lacks kubeadm's drop-in" "use an image with 10-kubeadm.conf"
  fi
  for file in "$ROOT/etc/default/kubelet" "$ROOT/etc/sysconfig/kubelet"; do
    [ -r "$file" ] || continue
    for flag in pod-infra-container-image container-runtime= network-plugin; do
      if grep -q -- "--$flag" "$file"; then
        fail E07 "${file#"$ROOT"} has the removed kubelet flag --${flag%=}" "use a newer image"
      fi
    done
  done
}

check_clean() {
  local dirty=""
  if [ -n "$(ls -A "$ROOT/etc/kubernetes/manifests" 2>/dev/null)" ]; then
    dirty="$dirty /etc/kubernetes/manifests"
  fi
  if [ -e "$ROOT/etc/kubernetes/kubelet.conf" ]; then
    dirty="$dirty /etc/kubernetes/kubelet.conf"
  fi
  if is_control_plane && [ "${ETCD_VOLUME:-false}" != true ] && [ -n "$(ls -A "$ROOT${ETCD_DATA_DIR:-/var/lib/etcd}" 2>/dev/null)" ]; then
    dirty="$dirty ${ETCD_DATA_DIR:-/var/lib/etcd}"
  fi
  if [ -n "$dirty" ]; then
    fail E09 "the image or disk is dirty:$dirty" "replace the node; is the image a snapshot of a node?"
  fi
}

check_images() {
  local wanted present image missing=""
  if [ ! -e "$ROOT/opt/cni/bin/loopback" ]; then
    fail E11 "/opt/cni/bin has no loopback plugin" "use an image with the CNI plugins"
  fi
  [ "${IMAGE_PULL_POLICY:-IfNotPresent}" = Never ] || return 0
  wanted="$(kubeadm config images list --kubernetes-version "$KUBE_VERSION" ${IMAGE_REPOSITORY:+--image-repository "$IMAGE_REPOSITORY"} 2>/dev/null)"
  if ! is_control_plane; then
    wanted="$(printf '%s\n' "$wanted" | grep -E '/(kube-proxy|pause):')"
  fi
  present="$(ctr -n k8s.io images ls -q 2>/dev/null)"
  for image in $wanted; do
    grep -qxF -- "$image" <<<"$present" || missing="$missing $image"
  done
  if [ -n "$missing" ]; then
    fail E12 "images may not be pulled but are missing:$missing" "use an image that carries them"
  fi
}

check_endpoint_name() {
  local host="${ENDPOINT%:*}" attempt
  if is_ipv4 "$host" || [[ "$host" == \[* ]]; then
    return
  fi
  for attempt in 1 2 3 4 5; do
    if getent ahosts "$host" >/dev/null 2>&1; then
      return
    fi
    [ "$attempt" -eq 5 ] || sleep 3
  done
  fail E13 "the endpoint's name $host does not resolve" "check the DNS servers of the node subnet"
}

# The etcd volume is known by its device tag in the config drive and found by its serial number.
check_etcd_disk() {
  [ "${ETCD_VOLUME:-false}" = true ] || return 0
  local serial attempt link
  serial="$(grep -oE '\{[^{}]*"tags"[[:space:]]*:[[:space:]]*\[[^]]*"etcd"[^]]*\][^{}]*\}' "$DRIVE/openstack/latest/meta_data.json" 2>/dev/null |
    sed -n -E 's/.*"serial"[[:space:]]*:[[:space:]]*"([^"]+)".*/\1/p' | head -n 1)"
  if [ -n "$serial" ]; then
    for attempt in $(seq 1 30); do
      for link in "$ROOT"/dev/disk/by-id/*"${serial:0:20}"*; do
        if [ -e "$link" ]; then
          ETCD_DEVICE="$link"
          return 0
        fi
      done
      [ "$attempt" -eq 30 ] || sleep 2
    done
  fi
  fail E14 "the etcd volume ${serial:-(no device with the tag etcd)} is not attached" "check the server's volumes"
}

check_size() {
  local free memory
  free="$(df -Pk "$ROOT/" 2>/dev/null | awk 'NR == 2 { print $4 }')"
  if [ "${free:-0}" -lt 10485760 ]; then
    fail E16 "the root disk has $((${free:-0} / 1024)) MiB free, 10240 are needed" "use a flavor with a larger disk"
  fi
  is_control_plane || return 0
  memory="$(awk '/^MemTotal:/ { print int($2 / 1024) }' "$ROOT/proc/meminfo" 2>/dev/null)"
  if [ "${memory:-0}" -lt 1700 ]; then
    fail E16 "a control plane node needs 1700 MiB of memory, this one has ${memory:-0}" "use a larger flavor"
  fi
  if [ "$(nproc 2>/dev/null || echo 0)" -lt 2 ]; then
    fail E16 "a control plane node needs 2 CPUs" "use a larger flavor"
  fi
}

check_clock() {
  local attempt now
  for attempt in $(seq 1 30); do
    if [ "$(timedatectl show -p NTPSynchronized --value 2>/dev/null)" = yes ]; then
      break
    fi
    if [ "$attempt" -eq 30 ]; then
      warn W06 "the clock is not synchronised"
    fi
    sleep 2
  done
  now="$(date +%s)"
  if [ "$((now + 300))" -lt "$NOT_BEFORE" ]; then
    fail E17 "the clock is wrong: it is more than 5 minutes before the node's certificates become valid" "check the time servers"
  fi
}

check_surroundings() {
  local tool missing=""
  for tool in curl ip iptables mount nsenter ethtool tc socat conntrack crictl; do
    have "$tool" || missing="$missing $tool"
  done
  if [ -n "$missing" ]; then
    warn W01 "tools are missing:$missing"
  fi
  if have getenforce && [ "$(getenforce 2>/dev/null)" = Enforcing ]; then
    warn W02 "SELinux is enforcing"
  fi
  if systemctl is-active --quiet firewalld 2>/dev/null; then
    warn W03 "firewalld is active"
  fi
  if ! getent hosts "$(uname -n)" >/dev/null 2>&1; then
    warn W04 "the host name $(uname -n) does not resolve"
  fi
}

preflight() {
  STAGE=preflight
  find_metadata
  INSTANCE_ID="$(json_value uuid "$DRIVE/openstack/latest/meta_data.json")"
  if ! [[ "$INSTANCE_ID" =~ ^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$ ]]; then
    INSTANCE_ID=""
    warn W07 "the server's id is unknown; the cloud provider has to find it by name"
  fi
  check_binaries
  check_runtime
  check_kernel
  check_kubelet_unit
  check_clean
  check_images
  check_endpoint_name
  check_etcd_disk
  find_address
  check_size
  check_clock
  check_surroundings
  local count="${#FAILURES[@]}" index worst=0 rest=""
  if [ "$count" -eq 0 ]; then
    say "preflight passed, address $NODE_IP, ${#WARNINGS[@]} warnings"
    signal preflight SUCCESS "preflight passed" "${WARNINGS[*]:-}"
    return
  fi
  for index in "${!FAILURES[@]}"; do
    say "CHECK ${FAILURES[$index]}"
    if [[ "${FAILURE_CODES[$index]}" < "${FAILURE_CODES[$worst]}" ]]; then
      worst="$index"
    fi
  done
  if [ "$count" -gt 1 ]; then
    rest=" ($((count - 1)) more: $(printf '%s\n' "${FAILURE_CODES[@]}" | sort | sed 1d | tr '\n' ' ' | sed 's/ $//'))"
  fi
  die "${FAILURE_CODES[$worst]}" "${FAILURES[$worst]#*: }$rest" "$(printf '%s\n' "${FAILURES[@]}" "${WARNINGS[@]:-}")"
}

