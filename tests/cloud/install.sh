#!/bin/bash
# Installs what the test cloud needs: Debian packages and one Python venv. Idempotent. Root, Debian 12.
. "$(dirname "$0")/lib.sh"; set -e
T0=$(date +%s.%N)
PK="mariadb-server rabbitmq-server memcached ovn-central ovn-host openvswitch-switch qemu-utils genisoimage bc curl openssl procps"
if ! dpkg -s $PK >/dev/null 2>&1; then
  step "apt: $PK"
  # nothing may start by itself (there is no systemd here, and `up` runs its own instances)
  [ -e /usr/sbin/policy-rc.d ] || { printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d; chmod +x /usr/sbin/policy-rc.d; }
  apt-get -o DPkg::Lock::Timeout=300 update -q >/dev/null
  DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -y -q --no-install-recommends $PK >/tmp/testcloud-apt.log 2>&1 || { tail -20 /tmp/testcloud-apt.log; exit 1; }
fi
mkdir -p "$TC"
stamp=$(sha256sum "$TC_SRC/lock-2026.1.txt" | cut -d' ' -f1)
if [ "$(cat "$VENV/.stamp" 2>/dev/null)" != "$stamp" ]; then
  step "venv: $(grep -c . "$TC_SRC/lock-2026.1.txt") pinned packages"
  UV=$(command -v uv || true)
  if [ -z "$UV" ]; then "$PYBIN" -m venv "$TC/uvenv" && "$TC/uvenv/bin/pip" install -q uv && UV="$TC/uvenv/bin/uv"; fi
  [ -x "$VENV/bin/python" ] || "$UV" venv -q --python "$PYBIN" "$VENV"
  "$UV" pip install -q -r "$TC_SRC/lock-2026.1.txt" --python "$VENV/bin/python"
  echo "$stamp" >"$VENV/.stamp"
fi
step "installed: $(du -sm "$VENV" | cut -f1) MiB venv"
# Bytecode is written by the first start of each service (`up` unsets PYTHONDONTWRITEBYTECODE). --compile does it now (80 s).
[ "${1:-}" = --compile ] && env -u PYTHONDONTWRITEBYTECODE nice "$VENV/bin/python" -m compileall -q -j 2 "$VENV/lib"/python3*/site-packages || true
