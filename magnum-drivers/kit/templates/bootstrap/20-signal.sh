# JSON, as far as it is needed.

# Every string value of key $1 in file $2, one a line, escapes left as they are.
json_values() {
  [ -r "$2" ] || return 0
  grep -oE "\"$1\"[[:space:]]*:[[:space:]]*\"([^\"\\\\]|\\\\.)*\"" "$2" | sed -E 's/^"[^"]*"[[:space:]]*:[[:space:]]*"(.*)"$/\1/'
}

# The first of them.
json_value() {
  json_values "$1" "$2" | head -n 1
}

# stdin as the inside of a JSON string.
json_escape() {
  tr -d '\000-\010\013-\037\177' | sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/\t/ /g' | awk 'NR > 1 { printf "\\n" } { printf "%s", $0 }'
}

# Signals to the Heat handle of this member.

curl_cloud() {
  local options=(--silent --show-error --connect-timeout 10 --max-time 30)
  if [ -n "${CLOUD_CA_FILE:-}" ]; then
    options+=(--cacert "$ROOT$CLOUD_CA_FILE")
  fi
  curl "${options[@]}" "$@"
}

# Gets a token with the handle's own login. Secrets go by files and stdin, never by arguments.
signal_login() {
  local map="$ETC/signal.json" url user password project token
  url="$(json_value auth_url "$map" | sed -e 's,\\/,/,g' -e 's,/*$,,')"
  user="$(json_value user_id "$map")"
  password="$(json_value password "$map")"
  project="$(json_value project_id "$map")"
  if [ -z "$url" ] || [ -z "$user" ]; then
    return 1
  fi
  case "$url" in
    */v3) ;;
    *) url="$url/v3" ;;
  esac
  token="$(
    printf '{"auth":{"identity":{"methods":["password"],"password":{"user":{"id":"%s","password":"%s"}}},"scope":{"project":{"id":"%s"}}}}' \
      "$user" "$password" "$project" |
      curl_cloud --output /dev/null --dump-header - --header 'Content-Type: application/json' --data-binary @- "$url/auth/tokens" |
      tr -d '\r' | sed -n -E 's/^[Xx]-[Ss]ubject-[Tt]oken:[[:space:]]*//p' | head -n 1
  )"
  if [ -z "$token" ]; then
    return 1
  fi
  printf 'X-Auth-Token: %s\n' "$token" >"$RUN/token-header"
  TOKEN_READY=true
}

# signal <stage> <SUCCESS|FAILURE> <reason> <data>
signal() {
  [ "$SIGNAL" = true ] || return 0
  local url body code attempt pause=2
  url="$(json_value alarm_url "$ETC/signal.json" | sed -e 's,\\/,/,g')"
  if [ -z "$url" ]; then
    return 0
  fi
  body="$(printf '{"id":"%s","status":"%s","reason":"%s","data":"%s"}' "$1" "$2" \
    "$(printf '%s' "$3" | json_escape)" "$(printf '%s' "$4" | json_escape)")"
  for attempt in 1 2 3 4 5; do
    if $TOKEN_READY || signal_login; then
      code="$(printf '%s' "$body" | curl_cloud --output /dev/null --write-out '%{http_code}' \
        --header "@$RUN/token-header" --header 'Content-Type: application/json' --data-binary @- "$url")" || code=000
      case "$code" in
        2??) return 0 ;;
        401) TOKEN_READY=false ;;
      esac
    fi
    if [ "$attempt" -lt 5 ]; then
      sleep "$pause"
      pause=$((pause * 2))
    fi
  done
  say "WARN the signal for stage $1 could not be delivered (last answer ${code:-none})"
}

# The ways to end.

# die <code> <message> [data]: the one way to fail.
die() {
  local line="CLUSTERNODE FAIL $1: $2" number="${1#E}"
  FINISHED=true
  printf '%s\n' "$line"
  printf '%s\n' "$line" >"$STATE/failed" 2>/dev/null
  signal "$STAGE" FAILURE "$line" "${3:-}"
  exit $((10 + 10#$number))
}

on_exit() {
  if ! $FINISHED; then
    die E99 "the bootstrap script stopped unexpectedly in stage $STAGE"
  fi
}

fail() {
  FAILURE_CODES+=("$1")
  FAILURES+=("$1: $2${3:+ [fix: $3]}")
}

warn() {
  WARNINGS+=("$1: $2")
  say "WARN $1: $2"
}

