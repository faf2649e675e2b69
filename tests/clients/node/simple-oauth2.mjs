import { createHash, randomBytes } from 'node:crypto'
import { AuthorizationCode, ClientCredentials } from 'simple-oauth2'
import { failure, heard, say } from './conversation.mjs'

const { server, clientId, secret, redirectUri, method } = await heard()
const configuration = {
  client: { id: clientId, secret },
  auth: { tokenHost: server, tokenPath: '/api/oauth2/token', revokePath: '/api/oauth2/revoke' },
  options: { authorizationMethod: { basic: 'header', post: 'body' }[method] },
}
const client = new AuthorizationCode({
  ...configuration, auth: { ...configuration.auth, authorizePath: '/sso' },
})

// The library knows nothing of PKCE, and hands on what it is given.
const verifier = randomBytes(32).toString('base64url')
const challenge = createHash('sha256').update(verifier).digest('base64url')
say({
  authorize: client.authorizeURL({
    redirect_uri: redirectUri, scope: 'user.read', state: 'a state',
    code_challenge: challenge, code_challenge_method: 'S256',
  }),
})

const landed = new URL((await heard()).landed)
let tokens = await client.getToken({
  code: landed.searchParams.get('code'), redirect_uri: redirectUri, code_verifier: verifier,
})
const first = tokens.token
const profile = await (await fetch(`${server}/api/oauth2/userinfo`, {
  headers: { authorization: `Bearer ${first.access_token}` },
})).json()
const old = tokens
tokens = await old.refresh()
const second = tokens.token
const retried = (await old.refresh()).token
await tokens.revoke('refresh_token')
const machine = (await new ClientCredentials(configuration).getToken({})).token

say({
  first, second, retried, machine, profile: profile.data,
  refused: await failure(() => tokens.refresh()),
})
process.exit(0)
