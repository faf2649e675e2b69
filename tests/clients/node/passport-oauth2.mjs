import OAuth2Strategy from 'passport-oauth2'
import { heard, say } from './conversation.mjs'

const { server, clientId, secret, redirectUri } = await heard()
const strategy = new OAuth2Strategy({
  authorizationURL: `${server}/sso`,
  tokenURL: `${server}/api/oauth2/token`,
  clientID: clientId,
  clientSecret: secret,
  callbackURL: redirectUri,
  scope: 'user.read',
  state: true,
  pkce: true,   // off by default
}, (accessToken, refreshToken, results, profile, done) => done(null, profile, { ...results, refreshToken }))
// By default the token goes into the query, where it would be logged; and the library has no profile of its own.
strategy._oauth2.useAuthorizationHeaderforGET(true)
strategy.userProfile = (accessToken, done) => strategy._oauth2.get(
  `${server}/api/oauth2/userinfo`, accessToken, (error, body) => done(error, body && JSON.parse(body).data))

/** What passport does with a strategy, for one request. */
const session = {}
const asked = (request) => new Promise((resolve) => {
  const here = Object.create(strategy)
  for (const outcome of ['redirect', 'success', 'fail', 'error'])
    here[outcome] = (...told) => resolve({ outcome, told: outcome === 'error' ? [String(told[0])] : told })
  here.authenticate({ session, query: {}, connection: {}, headers: {}, ...request })
})

const sent = await asked({})
say({ authorize: sent.told[0] })
const { landed } = await heard()
const signedIn = await asked({ query: Object.fromEntries(new URL(landed).searchParams) })
const again = await asked({ query: Object.fromEntries(new URL(landed).searchParams) })

strategy._oauth2.getOAuthAccessToken(signedIn.told[1].refreshToken, { grant_type: 'refresh_token' },
  (error, accessToken, refreshToken, second) => {
    say({ first: signedIn.told[1], profile: signedIn.told[0], again: again.outcome, second, error })
    process.exit(0)
  })
