# Common settings and functions, sourced by the other scripts of this folder.
set -u
TC_SRC="${TC_SRC:-$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)}"
TC="${TC_HOME:-/opt/testcloud}"          # everything mutable lives here
VENV="$TC/venv"; ETC="$TC/etc"; RUN="$TC/run"; LOG="$TC/log"; VAR="$TC/var"; SVCHOME="$TC/home"
PYBIN="${TC_PYTHON:-$(command -v python3.11 || command -v python3)}"
[ -x "$PYBIN" ] || PYBIN="$(command -v python3.11 || command -v python3)"
H=127.0.0.1
DB_PORT=33306; MQ_PORT=35672; EPMD_PORT=34369; MC_PORT=31211
NB="unix:$RUN/ovn/ovnnb_db.sock"; SB="unix:$RUN/ovn/ovnsb_db.sock"
DB_URL="mysql+pymysql://tc:tc@$H:$DB_PORT"
MQ_URL="rabbit://tc:tc@$H:$MQ_PORT/"
KS="http://$H:5000/v3"; REGION=RegionOne; SVCPW=svcpw; ADMINPW=adminpw; DEMOPW=demopw
TC_SERVICES="${TC_SERVICES:-core octavia barbican cinder ironic}"   # 'core' alone = smallest cloud
want() { case " $TC_SERVICES " in *" $1 "*) return 0;; esac; return 1; }

# The environment for every service: own HOME (oslo.config looks in ~/.PROJECT/),
# bytecode caching ON (the caller may have PYTHONDONTWRITEBYTECODE set), no proxies.
svc_env=(env -u PYTHONDONTWRITEBYTECODE -u http_proxy -u https_proxy -u HTTP_PROXY -u HTTPS_PROXY
  HOME="$SVCHOME" PATH="$VENV/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
  OS_KEYSTONE_CONFIG_DIR="$ETC/keystone" OS_NOVA_CONFIG_DIR="$ETC/nova" OS_NEUTRON_CONFIG_DIR="$ETC/neutron"
  OS_GLANCE_CONFIG_DIR="$ETC/glance" OS_PLACEMENT_CONFIG_DIR="$ETC/placement" IRONIC_CONFIG_DIR="$ETC/ironic"
  OVN_RUNDIR="$RUN/ovn" OVS_RUNDIR="$RUN/ovs" MALLOC_ARENA_MAX=2 PYTHONWARNINGS=ignore LC_ALL=C.UTF-8)

# A pid file holds the pid and the process's start time, so that a number used again by a stranger is never taken for ours.
started() { sed 's/^.*) //' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f20; }
alive() { local p t; { read -r p t <"$RUN/$1.pid"; } 2>/dev/null || return 1; [ -n "$p" ] && [ -n "$t" ] && [ "$(started "$p")" = "$t" ]; }
# start NAME CMD... : detached, own session, pid file, log file
start() { local n=$1; shift
  alive "$n" && return 0
  ( cd "$VAR" && exec setsid nohup "${svc_env[@]}" "$@" >>"$LOG/$n.out" 2>&1 </dev/null & echo "$! $(started $!)" >"$RUN/$n.pid" )
}
# uwsgi NAME PORT MODULE [threads]
wsgi() { local n=$1 port=$2 mod=$3 th=${4:-6}
  start "$n" "$VENV/bin/uwsgi" --http-socket "$H:$port" --module "$mod:application" --processes 1 --threads "$th" \
    --enable-threads --lazy-apps --need-app --die-on-term --buffer-size 65535 --thunder-lock \
    --add-header "Connection: close" --procname "uwsgi-$n" --set start-time=$(date +%s) --disable-logging --log-4xx --log-5xx --http-chunked-input
}
# wait_http NAME URL SECONDS : any HTTP answer below 500 counts
wait_http() { local n=$1 u=$2 t=${3:-60} c end; end=$(( $(date +%s) + t ))
  while [ "$(date +%s)" -lt "$end" ]; do
    c=$(curl -s -o /dev/null -m 3 -w '%{http_code}' "$u") || true
    case "$c" in 000|5*) ;; *) return 0;; esac
    alive "$n" || { echo "!! $n died; last lines of $LOG/$n.out:" >&2; tail -20 "$LOG/$n.out" >&2; return 1; }
    sleep 0.3
  done; echo "!! $n not healthy after ${t}s ($u)" >&2; return 1; }
stop() { local n=$1 p i
  if alive "$n"; then read -r p _ <"$RUN/$n.pid"
    kill -TERM -- "-$p" 2>/dev/null || kill -TERM "$p" 2>/dev/null
    for ((i=0;i<100;i++)); do alive "$n" || break; sleep 0.1; done
    alive "$n" && { kill -KILL -- "-$p" 2>/dev/null || kill -KILL "$p"; }
  fi
  rm -f "$RUN/$n.pid"; return 0; }
step() { printf '%s %6.1fs  %s\n' "$(date +%T)" "$(echo "$(date +%s.%N) - ${T0:=$(date +%s.%N)}" | bc 2>/dev/null || echo 0)" "$*"; }
