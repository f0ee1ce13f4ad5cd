// Uses the client that was generated from api/openapi.yaml, as an app would. It
// is checked by tsc before it runs: that a code is known to the types is part of
// the test.
import { introspect, login, logout, me, type MeErrors } from './gen'
import { createClient, createConfig } from './gen/client'

declare const process: { env: Record<string, string>; exitCode: number }

const { BASE, USERNAME, PASSWORD, SERVICE } = process.env
let token = ''
const client = createClient(createConfig({ baseUrl: BASE, auth: () => token }))

function must(ok: unknown, what: string): asserts ok {
  if (!ok) throw new Error(what)
}

// What the app tells the person. A code that is new in the contract is an error
// here, at compile time.
function advice(refused: MeErrors[401]): string {
  switch (refused.code) {
    case 'token_replaced':
      return 'You have logged in elsewhere.'
    case 'token_expired':
    case 'token_idle_timeout':
      return 'Please log in again.'
    case 'token_logged_out':
      return 'You are logged out.'
    case 'token_revoked':
      return 'Your login was ended.'
    case 'account_disabled':
      return 'Your account is disabled.'
    case 'token_missing':
    case 'token_malformed':
    case 'token_invalid':
    case 'key_not_accepted': // the app has a service key in the place of its token
      return 'Please log in.'
    default: {
      const unknown: never = refused.code
      return unknown
    }
  }
}

async function main() {
  const wrong = await login({ client, body: { username: USERNAME, password: 'not the right passphrase' } })
  must(wrong.error?.status === 401 && wrong.error.code === 'credentials_invalid', 'a wrong password has its code')
  // @ts-expect-error: the contract has no such code for 401
  must(wrong.error.code !== 'token_expired', 'the types know which codes an operation has')

  const opened = await login({ client, body: { username: USERNAME, password: PASSWORD } })
  must(opened.data, `login: ${JSON.stringify(opened.error)}`)
  token = opened.data.token

  const who = await me({ client })
  must(who.data?.username === USERNAME && who.data.session.id === opened.data.session_id, 'me is who logged in')

  const mine = token
  token = SERVICE
  const seen = await introspect({ client, body: { token: mine } })
  must(seen.data?.active === true && seen.data.username === USERNAME, `introspection knows the token: ${JSON.stringify(seen.error)}`)
  const none = await introspect({ client, body: { token: 'nothing' } })
  must(none.data?.active === false, 'introspection knows what is none')

  token = mine
  const forbidden = await introspect({ client, body: { token: mine } })
  must(forbidden.error?.status === 403 && forbidden.error.error === 'insufficient_scope', 'a user may not introspect')

  const out = await logout({ client })
  must(out.response?.status === 204, 'logout')
  const after = await me({ client })
  must(after.error?.status === 401 && after.error.code === 'token_logged_out', 'the reason is told')
  must(advice(after.error) === 'You are logged out.', 'and the app can tell it')
  console.log('generated client: done')
}

main().catch((err) => {
  console.error(String(err))
  process.exitCode = 1
})
