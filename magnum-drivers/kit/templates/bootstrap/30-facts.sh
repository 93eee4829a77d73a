# What the config drive and the interfaces know.

find_metadata() {
  local device
  if [ -r "$DRIVE/openstack/latest/meta_data.json" ]; then
    return 0
  fi
  mkdir -p "$DRIVE"
  for device in "$ROOT/dev/disk/by-label/config-2" "$ROOT/dev/disk/by-label/CONFIG-2"; do
    if [ -e "$device" ] && mount -o ro "$device" "$DRIVE"; then
      return 0
    fi
  done
  DRIVE="$RUN/metadata"
  mkdir -p "$DRIVE/openstack/latest"
  local name
  for name in meta_data.json network_data.json; do
    curl --silent --fail --noproxy '*' --connect-timeout 5 --max-time 20 \
      --output "$DRIVE/openstack/latest/$name" "$METADATA/$name" || rm -f "$DRIVE/openstack/latest/$name"
  done
}

ip_number() {
  local a b c d
  IFS=. read -r a b c d <<<"$1"
  printf '%s' $(((a << 24) + (b << 16) + (c << 8) + d))
}

is_ipv4() {
  [[ "$1" =~ ^[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}$ ]]
}

# in_subnet <address> <subnet>
in_subnet() {
  local bits="${2#*/}" mask
  is_ipv4 "$1" || return 1
  mask=$((bits == 0 ? 0 : (0xFFFFFFFF << (32 - bits)) & 0xFFFFFFFF))
  [ $(($(ip_number "$1") & mask)) -eq $(($(ip_number "${2%/*}") & mask)) ]
}

# Those of the addresses on stdin that lie in the node subnet, each once.
matching() {
  local address
  while read -r address; do
    if in_subnet "$address" "$NODE_SUBNET"; then
      printf '%s\n' "$address"
    fi
  done | sort -u
}

# Addresses by the config drive. A subnet with DHCP has none there; then those of the interfaces count.
find_address() {
  local found count
  found="$({
    json_values ip_address "$DRIVE/openstack/latest/network_data.json"
    json_values local-ipv4 "$DRIVE/ec2/latest/meta-data.json"
  } | matching)"
  if [ -z "$found" ]; then
    found="$(ip -o -4 address show scope global 2>/dev/null | awk '{ sub("/.*", "", $4); print $4 }' | matching)"
  fi
  count="$(printf '%s' "$found" | grep -c .)"
  if [ "$count" -eq 1 ]; then
    NODE_IP="$found"
  elif [ "$count" -eq 0 ]; then
    fail E15 "no address of this machine is in the node subnet $NODE_SUBNET" "attach a port on the node subnet"
  else
    fail E15 "$count addresses are in the node subnet $NODE_SUBNET: ${found//$'\n'/, }" "attach one port on the node subnet"
  fi
}

