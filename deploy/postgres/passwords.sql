-- The passwords of the logins, from psql's variables.
ALTER ROLE hansard_migrator PASSWORD :'migrator';
ALTER ROLE hansard_projector PASSWORD :'projector';
ALTER ROLE hansard_operator PASSWORD :'operator';
ALTER ROLE hansard_writer PASSWORD :'writer';
ALTER ROLE hansard_gateway PASSWORD :'gateway';
