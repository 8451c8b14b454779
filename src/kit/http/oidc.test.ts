// Sign-in with a provider of our own in test/support, which can make every mistake.

import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import {
  type IdentityProvider,
  PERSON,
  type SignInMistakes,
  startIdentityProvider,
} from '../../../test/support/identity-provider.ts'
import { systemClock } from '../clock.ts'
import { systemRandom } from '../random.ts'
import { createOidc, type Oidc, type OidcProvider } from './oidc.ts'
import { ALLOW_LOOPBACK, ALLOW_NOTHING } from './public-address.ts'
import { createPublicHttp } from './public-http.ts'

const REDIRECT = 'https://pay.example.com/app/sign-in/return'
const http = createPublicHttp({ allow: ALLOW_LOOPBACK, ports: [] })
const NEEDS = { clock: systemClock, random: systemRandom(systemClock), http, allowLoopbackHttp: true }

let provider: IdentityProvider
before(async () => {
  provider = await startIdentityProvider()
})
beforeEach(() => {
  provider.metadata = {}
  provider.failure = undefined
  provider.calls = []
})
after(async () => {
  await provider.close()
  await http.close()
})

function open(
  difference: Partial<OidcProvider> = {},
  needs: Partial<typeof NEEDS> & { timeoutMs?: number } = {},
): Oidc {
  const { issuer, clientId, clientSecret } = provider
  const settings = { issuer, clientId, clientSecret, redirectUri: REDIRECT, ...difference }
  return createOidc({ ...NEEDS, ...needs }, settings)
}

async function begin(oidc: Oidc) {
  const begun = await oidc.begin()
  assert.ok('pending' in begun, JSON.stringify(begun))
  return begun
}

/** The result of a sign-in at which the provider makes these mistakes. */
async function signIn(mistakes: SignInMistakes = {}, oidc = open()) {
  const { url, pending } = await begin(oidc)
  return oidc.finish(provider.signIn(url, mistakes), pending)
}

async function refusalOf(result: Promise<object>): Promise<unknown> {
  const value = await result
  return 'refused' in value ? value.refused : value
}

const ADA = () => ({ issuer: provider.issuer, ...PERSON })

describe('sign-in with an identity provider', () => {
  it('returns issuer, subject and verified e-mail', async () => {
    assert.deepEqual(await signIn(), ADA())
    assert.deepEqual(provider.calls, ['/.well-known/openid-configuration', '/token', '/keys'])
  })

  it('asks for a code with PKCE, state and nonce, new ones each time', async () => {
    const oidc = open()
    const begun = [await begin(oidc), await begin(oidc)]
    for (const { url, pending } of begun) {
      const { origin, pathname, searchParams } = new URL(url)
      assert.equal(`${origin}${pathname}`, `${provider.issuer}/authorize`)
      const { code_challenge: challenge, ...rest } = Object.fromEntries(searchParams)
      assert.match(challenge ?? '', /^[\w-]{43}$/)
      assert.deepEqual(rest, {
        client_id: provider.clientId,
        code_challenge_method: 'S256',
        nonce: pending.nonce,
        redirect_uri: REDIRECT,
        response_type: 'code',
        scope: 'openid email',
        state: pending.state,
      })
      assert.ok(!url.includes(pending.codeVerifier))
    }
    assert.equal(new Set(begun.flatMap(({ pending }) => Object.values(pending))).size, 6)
    // The discovery document is read once.
    assert.deepEqual(provider.calls, ['/.well-known/openid-configuration'])
  })

  it('takes the e-mail from the userinfo endpoint if the ID token has none', async () => {
    const claims = { email: undefined, email_verified: undefined }
    const email = 'ada@example.org'
    const known = signIn({ claims, userinfo: { email, email_verified: true } })
    assert.deepEqual(await known, { ...ADA(), email })
    const unverified = signIn({ claims, userinfo: { email } })
    assert.equal(await refusalOf(unverified), 'email_unverified')
    const another = signIn({ claims, userinfo: { sub: 'other', email, email_verified: true } })
    assert.equal(await refusalOf(another), 'invalid_response')
  })

  it('sends the client secret in the form if the provider takes it only there', async () => {
    provider.metadata = { token_endpoint_auth_methods_supported: ['client_secret_post'] }
    assert.deepEqual(await signIn(), ADA())
  })

  it('refuses a return with another state, or none, before it calls the provider', async () => {
    const oidc = open()
    const { url, pending } = await begin(oidc)
    provider.calls = []
    for (const state of ['', pending.state.slice(1), pending.nonce, undefined]) {
      const query = provider.signIn(url)
      if (state === undefined) query.delete('state')
      else query.set('state', state)
      assert.equal(await refusalOf(oidc.finish(query, pending)), 'wrong_state')
    }
    assert.deepEqual(provider.calls, [])
  })

  it('refuses the return of another sign-in', async () => {
    const oidc = open()
    const [mine, stolen] = [await begin(oidc), await begin(oidc)]
    const query = provider.signIn(stolen.url)
    assert.equal(await refusalOf(oidc.finish(query, mine.pending)), 'wrong_state')
    // The code of another sign-in with my state: PKCE refuses it.
    query.set('state', mine.pending.state)
    assert.equal(await refusalOf(oidc.finish(query, mine.pending)), 'code_refused')
  })

  it('refuses a code that was used before', async () => {
    const oidc = open()
    const { url, pending } = await begin(oidc)
    const query = provider.signIn(url)
    assert.deepEqual(await oidc.finish(query, pending), ADA())
    assert.equal(await refusalOf(oidc.finish(query, pending)), 'code_refused')
  })

  it('refuses an ID token with another nonce, audience, issuer or subject, or one that has expired', async () => {
    const past = Math.floor(Date.now() / 1_000) - 3_600
    const wrong: Record<string, unknown>[] = [
      { nonce: 'other' },
      { nonce: undefined },
      { aud: 'another-client' },
      { aud: ['another-client'] },
      { aud: [provider.clientId, 'another-client'], azp: 'another-client' },
      { iss: 'https://accounts.example.com' },
      { iss: undefined },
      { exp: past },
      { exp: undefined },
      { nbf: past + 7_200 },
      { sub: undefined },
      { sub: '' },
      { sub: 's'.repeat(256) },
    ]
    for (const claims of wrong)
      assert.equal(await refusalOf(signIn({ claims })), 'invalid_response', JSON.stringify(claims))
  })

  it('refuses an ID token without a signature, or signed by another key or with the client secret', async () => {
    for (const signing of ['none', 'HS256', 'other key'] as const)
      assert.equal(await refusalOf(signIn({ signing })), 'invalid_response', signing)
  })

  it('refuses an e-mail that the provider has not verified, or that is none', async () => {
    for (const verified of [false, undefined, null, 'true', 1])
      assert.equal(await refusalOf(signIn({ claims: { email_verified: verified } })), 'email_unverified')
    for (const email of [
      undefined,
      1,
      '',
      'ada',
      'ada@example.com\r\nbcc: x@example.com',
      ['ada@example.com'],
    ])
      assert.equal(await refusalOf(signIn({ claims: { email } })), 'email_missing', String(email))
  })

  it('reports that the person or the provider declined', async () => {
    const oidc = open()
    const { pending } = await begin(oidc)
    const query = new URLSearchParams({ error: 'access_denied', state: pending.state, iss: provider.issuer })
    assert.equal(await refusalOf(oidc.finish(query, pending)), 'denied_by_provider')
  })

  it('refuses a return that names another issuer (RFC 9207)', async () => {
    const oidc = open()
    const { url, pending } = await begin(oidc)
    const query = provider.signIn(url)
    query.set('iss', 'https://accounts.example.com')
    assert.equal(await refusalOf(oidc.finish(query, pending)), 'invalid_response')
    query.delete('iss')
    assert.equal(await refusalOf(oidc.finish(query, pending)), 'invalid_response')
  })

  it('refuses a wrong client secret without naming it', async () => {
    const clientSecret = 'not-the-secret'
    const result = await signIn({}, open({ clientSecret }))
    assert.ok('refused' in result && result.refused === 'code_refused')
    assert.match(result.detail, /invalid_client/)
    assert.doesNotMatch(JSON.stringify(result), /not-the-secret/)
  })
})

describe('an identity provider that cannot be used', () => {
  const unavailable = 'provider_unavailable'

  it('is unavailable if it fails, is silent, or is not there; the next sign-in tries again', async () => {
    const oidc = open({}, { timeoutMs: 100 })
    for (const status of [500, 503, 'silence'] as const) {
      provider.failure = { path: '/.well-known/openid-configuration', status }
      assert.equal(await refusalOf(oidc.begin()), unavailable)
    }
    provider.failure = undefined
    for (const path of ['/token', '/keys']) {
      const { url, pending } = await begin(oidc)
      provider.failure = { path, status: 'silence' }
      assert.equal(await refusalOf(oidc.finish(provider.signIn(url), pending)), unavailable, path)
      provider.failure = undefined
    }
    assert.deepEqual(await signIn({}, oidc), ADA())
    assert.equal(await refusalOf(open({ issuer: 'http://127.0.0.1:1' }).begin()), unavailable)
  })

  it('is not followed to another address', async () => {
    provider.failure = { path: '/.well-known/openid-configuration', status: 302 }
    assert.equal(await refusalOf(open().begin()), unavailable)
    assert.equal(provider.calls.length, 1)
  })

  it('must be reached by https, unless it is on this machine in staging', () => {
    const production = { allowLoopbackHttp: false }
    assert.throws(() => open({}, production), /by https/)
    for (const issuer of [
      'http://accounts.example.com',
      'http://10.0.0.1',
      'http://127.0.0.1.example.com',
      'http://localhost.example.com',
      'ftp://localhost',
    ])
      assert.throws(() => open({ issuer }), /by https/, issuer)
    assert.doesNotThrow(() => open({ issuer: 'https://accounts.example.com' }, production))
    assert.doesNotThrow(() => open({ issuer: 'http://localhost:8080/realms/a' }))
  })

  it('cannot lead us to a plain http address or into the private network by its discovery document', async () => {
    for (const name of ['authorization_endpoint', 'token_endpoint', 'jwks_uri'])
      for (const address of [
        'http://accounts.example.com/x',
        'https://169.254.169.254/x',
        'https://10.0.0.1/x',
      ]) {
        provider.metadata = { [name]: address }
        const oidc = open()
        const begun = await oidc.begin()
        // The browser goes to the authorization endpoint, so its network is not ours.
        if (name === 'authorization_endpoint' && address.startsWith('https:')) continue
        const result =
          'refused' in begun ? begun : await oidc.finish(provider.signIn(begun.url), begun.pending)
        assert.equal('refused' in result && result.refused, unavailable, `${name} ${address}`)
      }
  })

  it('is refused by the rules for outgoing calls if its host is private and was not allowed', async () => {
    const strict = createPublicHttp({ allow: ALLOW_NOTHING, ports: [443] })
    assert.equal(await refusalOf(open({}, { http: strict }).begin()), unavailable)
    assert.deepEqual(provider.calls, [])
    await strict.close()
  })

  it('must name itself: a discovery document of another issuer, or of any tenant, is refused', async () => {
    for (const issuer of [
      'https://accounts.example.com',
      `${provider.issuer}/{tenantid}`,
      'x',
      1,
      undefined,
    ]) {
      provider.metadata = { issuer }
      assert.equal(await refusalOf(open().begin()), unavailable, String(issuer))
    }
  })

  it('may send a document that is too long, or no JSON, and is only refused', async () => {
    provider.metadata = { padding: 'x'.repeat(300_000) }
    assert.equal(await refusalOf(open().begin()), unavailable)
    provider.metadata = { authorization_endpoint: 'no address' }
    assert.equal(await refusalOf(open().begin()), unavailable)
    provider.metadata = { authorization_endpoint: undefined }
    assert.equal(await refusalOf(open().begin()), unavailable)
  })
})
