// npm's oidc-provider with everything in memory: `node oidc_provider.mjs PORT SESSIONS` beside its node_modules.
//
// Its own memory adapter keeps a thousand entries and is meant for trying out, so the store is a Map behind the
// adapter interface it documents. Opaque tokens; refresh tokens are rotated; no ID tokens, as no scope here but
// that of the user-info endpoint is `openid`. Names are worked out as in ../names.py.

import { createHash } from 'node:crypto';
import { createServer } from 'node:http';

import { Provider } from 'oidc-provider';

const [port, sessions] = process.argv.slice(2).map(Number);
const CLIENTS = 10;
const USERS = 10_000;
const CHAINS = 400;
const REDIRECT_URI = 'https://client.example/callback';

const digest = (text) => createHash('sha256').update(text).digest('base64url');
const token = (kind, number) => digest(`${kind} ${number}`);
const secretOf = (client) => `secretof${client}`.replace('-', '').padEnd(43, 'x');
const CHALLENGE = digest('v'.repeat(64));

const stored = new Map();
const grants = new Map();

class InMemory {
  constructor(model) { this.model = model; }
  key(id) { return `${this.model}:${id}`; }
  async find(id) { return stored.get(this.key(id)); }
  async findByUid() { return undefined; }
  async findByUserCode() { return undefined; }
  async upsert(id, payload) {
    const key = this.key(id);
    stored.set(key, payload);
    if (payload.grantId) {
      const members = grants.get(payload.grantId);
      if (members) members.push(key); else grants.set(payload.grantId, [key]);
    }
  }
  async consume(id) { stored.get(this.key(id)).consumed = Math.floor(Date.now() / 1000); }
  async destroy(id) { stored.delete(this.key(id)); }
  async revokeByGrantId(grantId) {
    for (const key of grants.get(grantId) ?? []) stored.delete(key);
    grants.delete(grantId);
  }
}

const client = (client_id, grant_types, more) => ({
  client_id, client_secret: secretOf(client_id), grant_types, scope: 'openid user.read', ...more,
});
const clients = [...Array(CLIENTS).keys()].flatMap((number) => [
  client(`client-${number}`, ['authorization_code', 'refresh_token'], { redirect_uris: [REDIRECT_URI] }),
  client(`machine-${number}`, ['client_credentials'], { redirect_uris: [], response_types: [] }),
]);

const provider = new Provider(`http://127.0.0.1:${port}`, {
  adapter: InMemory,
  clients,
  clientAuthMethods: ['client_secret_basic'],
  scopes: ['openid', 'user.read'],
  claims: { openid: ['sub'], 'user.read': ['username', 'name'] },
  findAccount: async (ctx, sub) => ({
    accountId: sub,
    claims: async () => ({ sub, username: sub, name: `User ${sub}` }),
  }),
  cookies: { keys: ['only-measured'] },
  expiresWithSession: async () => false,
  issueRefreshToken: async (ctx, found) => found.grantTypeAllowed('refresh_token'),
  rotateRefreshToken: true,
  features: {
    devInteractions: { enabled: false },
    clientCredentials: { enabled: true },
    introspection: { enabled: true },
    userinfo: { enabled: true },
  },
  ttl: {
    AccessToken: 86_400, AuthorizationCode: 300, ClientCredentials: 86_400, Grant: 2_592_000, RefreshToken: 2_592_000,
  },
});

async function granted(kind, number, scope) {
  const owner = { accountId: `user${number % USERS}`, clientId: `client-${number % CLIENTS}` };
  const grant = new provider.Grant({ jti: token(`${kind} grant`, number), ...owner });
  grant.addOIDCScope(scope);
  const grantId = await grant.save(2_592_000);
  return { ...owner, grantId, scope, gty: 'authorization_code' };
}

for (let number = 0; number < sessions; number += 1) {
  const owned = await granted('session', number, number < CHAINS ? 'user.read' : 'openid user.read');
  const access = new provider.AccessToken({ jti: token('access', number), ...owned });
  access.format = 'opaque'; // what it sets itself where it draws the identifier itself
  await access.save();
  await new provider.RefreshToken({ jti: token('refresh', number), ...owned }).save();
}

// Codes that a user has just agreed to: POST /bench/codes?first=0&count=10. The one thing that is not the provider's.
async function layOutCodes(query) {
  const first = Number(query.get('first'));
  for (let number = first; number < first + Number(query.get('count')); number += 1) {
    const owned = await granted('code', number, 'user.read');
    await new provider.AuthorizationCode({
      jti: token('code', number),
      ...owned,
      codeChallenge: CHALLENGE,
      codeChallengeMethod: 'S256',
      redirectUri: REDIRECT_URI,
    }).save();
  }
}

const answer = provider.callback();
createServer((request, response) => {
  if (!request.url.startsWith('/bench/')) return answer(request, response);
  const { searchParams } = new URL(request.url, 'http://127.0.0.1');
  return layOutCodes(searchParams).then(() => response.end('{}'));
}).listen(port, '127.0.0.1');
