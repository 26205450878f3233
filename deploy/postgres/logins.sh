#!/bin/sh
# What the image of Postgres runs once, when it makes the database: the logins of roles.sql, with their passwords.
set -eu

psql --set ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" \
  --file /etc/postgresql/roles.sql \
  --set migrator="$POSTGRES_MIGRATOR_PASSWORD" \
  --set projector="$POSTGRES_PROJECTOR_PASSWORD" \
  --set operator="$POSTGRES_OPERATOR_PASSWORD" \
  --set writer="$POSTGRES_WRITER_PASSWORD" \
  --set gateway="$POSTGRES_GATEWAY_PASSWORD" \
  --file /etc/postgresql/passwords.sql
