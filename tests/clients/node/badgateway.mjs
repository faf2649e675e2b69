import { OAuth2Client, generateCodeVerifier } from '@badgateway/oauth2-client'
import { failure, heard, say } from './conversation.mjs'

const { server, clientId, secret, redirectUri, method } = await heard()
let answered
const client = new OAuth2Client({
  server, clientId, clientSecret: secret,
  authorizationEndpoint: '/sso',
  tokenEndpoint: '/api/oauth2/token',
  revocationEndpoint: '/api/oauth2/revoke',
  authenticationMethod: `client_secret_${method}`,
  // The library keeps no more than the tokens of what it was answered.
  fetch: async (...asked) => {
    const answer = await fetch(...asked)
    answered = await answer.clone().json().catch(() => null)
    return answer
  },
})
const told = async (attempt) => ({ token: await attempt(), answer: answered })

const codeVerifier = await generateCodeVerifier()
const state = 'a state'
say({ authorize: await client.authorizationCode.getAuthorizeUri({
  redirectUri, state, codeVerifier, scope: ['user.read'],
}) })

const { landed } = await heard()
const first = await told(() => client.authorizationCode.getTokenFromCodeRedirect(
  landed, { redirectUri, codeVerifier, state }))
const profile = await (await fetch(`${server}/api/oauth2/userinfo`, {
  headers: { authorization: `Bearer ${first.token.accessToken}` },
})).json()
const second = await told(() => client.refreshToken(first.token))
const retried = await told(() => client.refreshToken(first.token))
await client.revoke(second.token, 'refresh_token')
const machine = await told(() => client.clientCredentials())

say({
  first: first.answer, second: second.answer, retried: retried.answer, machine: machine.answer,
  profile: profile.data,
  refused: await failure(() => client.refreshToken(second.token)),
})
process.exit(0)
