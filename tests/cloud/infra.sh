#!/bin/bash
# Starts MariaDB, RabbitMQ, memcached, OVS/OVN databases. Sourced by `up`.
infra_up() {
  # --- MariaDB, own data directory, tuned for speed over durability
  if [ ! -d "$VAR/mysql/mysql" ]; then
    mariadb-install-db --no-defaults --user=root --datadir="$VAR/mysql" --auth-root-authentication-method=normal --skip-test-db >"$LOG/mysql-install.out" 2>&1
  fi
  start mariadb /usr/sbin/mariadbd --no-defaults --user=root --datadir="$VAR/mysql" --socket="$RUN/mysql.sock" --port=$DB_PORT \
    --bind-address=$H --pid-file="$RUN/mysqld.pid" --skip-log-bin --skip-name-resolve --max-connections=400 \
    --innodb-buffer-pool-size=192M --innodb-log-file-size=64M --innodb-flush-log-at-trx-commit=0 --innodb-doublewrite=0 \
    --innodb-flush-method=nosync --performance-schema=0 --character-set-server=utf8mb3 --collation-server=utf8mb3_general_ci --default-storage-engine=InnoDB
  # --- RabbitMQ
  printf 'default_user = tc\ndefault_pass = tc\nloopback_users = none\nlisteners.tcp.1 = %s:%s\nlog.file.level = warning\nvm_memory_high_watermark.absolute = 1GB\ndisk_free_limit.absolute = 50MB\n' $H $MQ_PORT >"$ETC/rabbitmq.conf"
  : >"$ETC/rabbit_plugins"; echo '[].' >"$ETC/rabbit_plugins"
  start rabbitmq env RABBITMQ_NODENAME=tc@localhost RABBITMQ_NODE_IP_ADDRESS=$H RABBITMQ_NODE_PORT=$MQ_PORT RABBITMQ_DIST_PORT=35673 \
    ERL_EPMD_PORT=$EPMD_PORT ERL_EPMD_ADDRESS=$H RABBITMQ_MNESIA_BASE="$VAR/rabbit" RABBITMQ_LOG_BASE="$LOG/rabbit" RABBITMQ_LOGS="$LOG/rabbit.log" \
    RABBITMQ_CONFIG_FILE="$ETC/rabbitmq.conf" RABBITMQ_ENABLED_PLUGINS_FILE="$ETC/rabbit_plugins" RABBITMQ_CONF_ENV_FILE=/dev/null \
    RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS="+S 1:1 +sbwt none +sbwtdcpu none +sbwtdio none -kernel inet_dist_use_interface {127,0,0,1}" \
    /usr/lib/rabbitmq/bin/rabbitmq-server
  start memcached /usr/bin/memcached -u root -l $H -p $MC_PORT -m 64 -t 2 -c 512
  # --- OVN: three ovsdb-servers, northd, a dummy-datapath vswitchd, one ovn-controller (= one chassis)
  local o=$RUN/ovn v=$RUN/ovs
  [ -f "$VAR/ovn/nb.db" ] || ovsdb-tool create "$VAR/ovn/nb.db" /usr/share/ovn/ovn-nb.ovsschema
  [ -f "$VAR/ovn/sb.db" ] || ovsdb-tool create "$VAR/ovn/sb.db" /usr/share/ovn/ovn-sb.ovsschema
  [ -f "$VAR/ovn/vs.db" ] || ovsdb-tool create "$VAR/ovn/vs.db" /usr/share/openvswitch/vswitch.ovsschema
  start ovn-nb ovsdb-server --remote=p$NB --unixctl=$o/nb.ctl --log-file="$LOG/ovn-nb.log" "$VAR/ovn/nb.db"
  start ovn-sb ovsdb-server --remote=p$SB --unixctl=$o/sb.ctl --log-file="$LOG/ovn-sb.log" "$VAR/ovn/sb.db"
  start ovs-db ovsdb-server --remote=punix:$v/db.sock --unixctl=$v/db.ctl --log-file="$LOG/ovs-db.log" "$VAR/ovn/vs.db"
  local i; for i in $(seq 100); do [ -S $o/ovnnb_db.sock ] && [ -S $o/ovnsb_db.sock ] && [ -S $v/db.sock ] && break; sleep 0.1; done
  ovs-vsctl --db=unix:$v/db.sock --no-wait init
  ovs-vsctl --db=unix:$v/db.sock --no-wait set Open_vSwitch . external_ids:system-id=tc-compute-1 external_ids:hostname=tc-compute-1 \
    external_ids:ovn-remote="$SB" external_ids:ovn-encap-type=geneve external_ids:ovn-encap-ip=$H \
    external_ids:ovn-bridge-mappings=public:br-ex external_ids:ovn-cms-options=enable-chassis-as-gw
  ovs-vsctl --db=unix:$v/db.sock --no-wait --may-exist add-br br-ex
  start ovn-northd ovn-northd --ovnnb-db=$NB --ovnsb-db=$SB --unixctl=$o/northd.ctl --log-file="$LOG/ovn-northd.log" -vconsole:off
  start ovs-vswitchd ovs-vswitchd unix:$v/db.sock --enable-dummy=override --disable-system --unixctl=$v/vswitchd.ctl --log-file="$LOG/ovs-vswitchd.log" -vconsole:off
  start ovn-controller ovn-controller unix:$v/db.sock --log-file="$LOG/ovn-controller.log" -vconsole:off
}
infra_wait() {
  local i
  for i in $(seq 300); do mariadb-admin --no-defaults -S "$RUN/mysql.sock" -uroot ping >/dev/null 2>&1 && break; sleep 0.1; done
  mariadb-admin --no-defaults -S "$RUN/mysql.sock" -uroot ping >/dev/null || { tail -20 "$LOG/mariadb.out"; return 1; }
  for i in $(seq 600); do (exec 3<>/dev/tcp/$H/$MQ_PORT) 2>/dev/null && break; alive rabbitmq || { tail -20 "$LOG/rabbitmq.out"; return 1; }; sleep 0.1; done
}
