// Asks the server as a resource server does whose OAuth library knows nothing of
// flakepass: every request is built, and every answer is read, by oauth4webapi.
import assert from 'node:assert/strict'
import * as oauth from 'oauth4webapi'

const { BASE, SERVICE, USER, USERNAME } = process.env

const as = { issuer: BASE, introspection_endpoint: `${BASE}/v1/introspect`, revocation_endpoint: `${BASE}/v1/revoke` }
const client = { client_id: 'gateway & sons' } // any name will do, also one that has to be encoded
const plain = { [oauth.allowInsecureRequests]: true } // http, on this machine
const basic = oauth.ClientSecretBasic(SERVICE)
const bearer = (token) => (_as, _client, _body, headers) => headers.set('authorization', `Bearer ${token}`)

async function introspect(token, auth = basic, options = {}) {
  const answer = await oauth.introspectionRequest(as, client, auth, token, { ...plain, ...options })
  return oauth.processIntrospectionResponse(as, client, answer)
}

async function revoke(token, auth = basic, options = {}) {
  const answer = await oauth.revocationRequest(as, client, auth, token, { ...plain, ...options })
  return oauth.processRevocationResponse(answer)
}

// A good token, by each way to say who asks.
const now = Math.floor(Date.now() / 1000)
for (const [auth, options] of [
  [basic, {}],
  [bearer(SERVICE), {}],
  [basic, { additionalParameters: { token_type_hint: 'access_token' } }],
]) {
  const claims = await introspect(USER, auth, options)
  assert.equal(claims.active, true)
  assert.equal(claims.username, USERNAME)
  assert.equal(claims.token_type, 'Bearer')
  assert.match(claims.sub, /^[1-9][0-9]*$/)
  assert.match(claims.jti, /^[1-9][0-9]*$/)
  assert.ok(claims.iat <= now + 5 && claims.exp > now, 'iat and exp are Unix seconds around now')
}

// Anything else.
assert.deepEqual(await introspect('not a token & nothing like it'), { active: false })
assert.deepEqual(await introspect(USER.slice(0, -1) + (USER.endsWith('x') ? 'y' : 'x')), { active: false })

// What goes wrong is told in a way that the library understands.
await assert.rejects(introspect(USER, oauth.ClientSecretBasic('wrong')), (err) => {
  assert.ok(err instanceof oauth.WWWAuthenticateChallengeError)
  assert.equal(err.status, 401)
  assert.equal(err.cause[0].scheme, 'basic')
  return true
})
await assert.rejects(introspect(USER, bearer('wrong')), (err) => {
  assert.ok(err instanceof oauth.WWWAuthenticateChallengeError)
  assert.equal(err.cause[0].scheme, 'bearer')
  assert.equal(err.cause[0].parameters.error, 'invalid_token')
  return true
})
for (const [auth, options, status, error] of [
  [oauth.ClientSecretBasic(USER), {}, 403, 'unauthorized_client'], // whose role is user
  [bearer(USER), {}, 403, 'insufficient_scope'],
  [basic, { additionalParameters: [['resource', 'a'], ['resource', 'b']] }, 400, 'invalid_request'],
  [basic, { additionalParameters: { filler: 'x'.repeat(100_000) } }, 413, 'invalid_request'],
]) {
  for (const ask of [introspect, revoke]) {
    await assert.rejects(ask(USER, auth, options), (err) => {
      assert.ok(err instanceof oauth.ResponseBodyError, `${error}: ${err}`)
      assert.equal(err.status, status)
      assert.equal(err.error, error)
      assert.ok(err.error_description.length > 0)
      return true
    })
  }
}
assert.equal((await introspect(USER)).active, true, 'nothing of this has ended the login')

// The end, twice, and of what was never a token.
await revoke(USER)
await revoke(USER, basic, { additionalParameters: { token_type_hint: 'refresh_token' } })
await revoke('never a token')
assert.deepEqual(await introspect(USER), { active: false })
console.log('oauth4webapi: done')
