import * as oauth from 'oauth4webapi'
import { failure, heard, say } from './conversation.mjs'

const { server, clientId, secret, redirectUri, method } = await heard()
const here = { [oauth.allowInsecureRequests]: true }
// There is no discovery document; the addresses are written down.
const as = {
  issuer: server,
  authorization_endpoint: `${server}/sso`,
  token_endpoint: `${server}/api/oauth2/token`,
  introspection_endpoint: `${server}/api/oauth2/introspect`,
  revocation_endpoint: `${server}/api/oauth2/revoke`,
}
const client = { client_id: clientId }
const authentication = { basic: oauth.ClientSecretBasic, post: oauth.ClientSecretPost }[method](secret)

const verifier = oauth.generateRandomCodeVerifier()
const state = oauth.generateRandomState()
const address = new URL(as.authorization_endpoint)
for (const [name, value] of Object.entries({
  response_type: 'code',
  client_id: clientId,
  redirect_uri: redirectUri,
  code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
  code_challenge_method: 'S256',
  scope: 'user.read',
  state,
})) address.searchParams.set(name, value)
say({ authorize: address.href })

const landed = new URL((await heard()).landed)
const parameters = oauth.validateAuthResponse(as, client, landed, state)
const exchanged = await oauth.authorizationCodeGrantRequest(
  as, client, authentication, parameters, redirectUri, verifier, here)
const first = await oauth.processAuthorizationCodeResponse(as, client, exchanged)

const profile = await (await oauth.protectedResourceRequest(
  first.access_token, 'GET', new URL(`${server}/api/oauth2/userinfo`), undefined, undefined, here)).json()

const refresh = async (token) => oauth.processRefreshTokenResponse(
  as, client, await oauth.refreshTokenGrantRequest(as, client, authentication, token, here))
const second = await refresh(first.refresh_token)
const retried = await refresh(first.refresh_token)

const introspect = async (token) => oauth.processIntrospectionResponse(
  as, client, await oauth.introspectionRequest(as, client, authentication, token, here))
const known = await introspect(second.access_token)
await oauth.processRevocationResponse(
  await oauth.revocationRequest(as, client, authentication, second.refresh_token, here))
const dead = await introspect(second.access_token)
const machine = await oauth.processClientCredentialsResponse(
  as, client, await oauth.clientCredentialsGrantRequest(as, client, authentication, {}, here))

say({
  first, second, retried, known, dead, machine, profile: profile.data,
  refused: await failure(() => refresh(second.refresh_token)),
})
process.exit(0)
