#!/bin/sh
# Makes the operator's token and the gateway's, once, as files in $TOKENS. A run that was interrupted is made good by the next.
set -eu
umask 077

# A writer that is just starting is waited for, up to a minute.
patiently() {
  tries=60
  until "$@"; do
    tries=$((tries - 1))
    [ "$tries" -gt 0 ] || return 1
    sleep 1
  done
}

operator() { hansard bootstrap --name operator --again >"$TOKENS/operator.new"; }
gateway() { hansard token create --name gateway --scope append --scope read --scope erase >"$TOKENS/gateway.new"; }

if [ ! -s "$TOKENS/operator" ]; then
  patiently operator
  mv "$TOKENS/operator.new" "$TOKENS/operator"
fi
if [ ! -s "$TOKENS/gateway" ]; then
  HANSARD_TOKEN=$(cat "$TOKENS/operator")
  export HANSARD_TOKEN
  patiently gateway
  # The gateway runs as another user than this.
  chmod 0444 "$TOKENS/gateway.new"
  mv "$TOKENS/gateway.new" "$TOKENS/gateway"
fi
