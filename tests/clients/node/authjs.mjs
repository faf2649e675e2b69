import { Auth } from '@auth/core'
import { heard, say } from './conversation.mjs'

const { server, clientId, secret, redirectUri } = await heard()
const [origin, basePath, id] = redirectUri.match(/^(https?:\/\/[^/]+)(\/.*)\/callback\/([^/]+)$/).slice(1)
let tokens = null
const config = {
  basePath,
  secret: 'a secret of the application',
  trustHost: true,
  providers: [{
    id,
    name: 'Ostiary',
    type: 'oauth',                       // not "oidc", which asks for an ID token
    clientId,
    clientSecret: secret,
    checks: ['pkce', 'state'],           // PKCE is required, the state is not a default
    // Without a scope here the library asks for `openid profile email`.
    authorization: { url: `${server}/sso`, params: { scope: 'user.read' } },
    token: `${server}/api/oauth2/token`,
    userinfo: `${server}/api/oauth2/userinfo`,
    profile: ({ data }) => ({ id: data.sub, name: data.name, image: data.avatarUrl }),
  }],
  callbacks: {
    jwt({ token, account }) {
      tokens = account ?? tokens
      return token
    },
  },
}

// What a browser keeps of the application.
const cookies = new Map()
async function ask(path, form) {
  const headers = { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') }
  const init = form ? { method: 'POST', body: new URLSearchParams(form), headers } : { headers }
  const response = await Auth(new Request(`${origin}${basePath}${path}`, init), config)
  for (const set of response.headers.getSetCookie()) {
    const [, name, value] = set.match(/^([^=]+)=([^;]*)/)
    cookies.set(name, value)
  }
  return response
}

const { csrfToken } = await (await ask('/csrf')).json()
const sent = await ask(`/signin/${id}`, { csrfToken, callbackUrl: `${origin}/` })
say({ authorize: sent.headers.get('location') })
const { landed } = await heard()
const back = await ask(landed.slice(origin.length + basePath.length))
const session = await (await ask('/session')).json()
say({ first: tokens, location: back.headers.get('location'), user: session.user })
process.exit(0)   // fetch keeps its connections
