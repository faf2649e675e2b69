// One JSON line out, one in: the test plays the user's browser between them.
import { createInterface } from 'node:readline'

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()

/** What the test said: `{server, clientId, secret, redirectUri}` first, then where the browser landed. */
export async function heard() {
  return JSON.parse((await lines.next()).value)
}

export function say(what) {
  console.log(JSON.stringify(what))
}

/** What `attempt` fails with, as the library tells it. */
export async function failure(attempt) {
  try {
    await attempt()
    return null
  } catch (error) {
    return error.error ?? error.oauth2Code ?? error.data?.payload?.error ?? error.data ?? String(error)
  }
}
