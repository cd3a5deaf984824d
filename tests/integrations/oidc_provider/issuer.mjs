// An issuer of OpenID Connect by another hand, on the loopback: node issuer.mjs PORT REDIRECT AUDIENCE SECRET
import { Provider } from 'oidc-provider';

const [port, redirect, audience, secret] = process.argv.slice(2);
const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [
    { client_id: 'console', client_secret: secret, redirect_uris: [redirect], post_logout_redirect_uris: [redirect.replace(/\/back$/, '')] },
    { client_id: 'batch', client_secret: secret, redirect_uris: [], response_types: [], grant_types: ['client_credentials'] },
  ],
  claims: { openid: ['sub'], profile: ['name', 'groups'] },
  conformIdTokenClaims: false,
  findAccount: (_, id) => ({ accountId: id, claims: async () => ({ sub: id, name: 'Li Ming', groups: ['hr'] }) }),
  extraTokenClaims: () => ({ groups: ['hr'] }),
  cookies: { keys: ['loopback'] },
  features: {
    clientCredentials: { enabled: true },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo: () => ({ scope: 'kb kb.read', audience, accessTokenFormat: 'jwt' }),
    },
  },
});
provider.listen(Number(port), '127.0.0.1', () => console.log('listening'));
