// A certified OpenID provider with its own pages to sign in. Every name and password is accepted; the name decides the groups:
// `ada.support.admins` is in the groups `support` and `admins`. Prints its issuer.
// Usage: provider.mjs REDIRECT_URI.

import { createServer } from 'node:http';
import Provider from 'oidc-provider';

const [, , redirectUri] = process.argv;
const server = createServer();
server.listen(0, '127.0.0.1', () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const provider = new Provider(issuer, {
    clients: [{
      client_id: 'hansard',
      client_secret: 'a secret of the client: with a colon',
      redirect_uris: [redirectUri],
      response_types: ['code'],
      grant_types: ['authorization_code'],
    }],
    pkce: { required: () => true, methods: ['S256'] },
    claims: { openid: ['sub', 'groups'], email: ['email'] },
    conformIdTokenClaims: false,
    findAccount: (_, id) => ({
      accountId: id,
      claims: () => ({ sub: id, email: `${id}@example.org`, groups: id.split('.').slice(1) }),
    }),
  });
  server.on('request', provider.callback());
  console.log(issuer);
});
