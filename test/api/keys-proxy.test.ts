import assert from 'node:assert/strict'
import { after, it } from 'node:test'
import { formatApiKey } from '../../src/api-keys/key-format.ts'
import { SCRYPT_COST } from '../../src/people/passwords.ts'
import { assertApiError } from '../support/assertions.ts'
import { hiddenFields, newVisitor, PASSWORD, signInAs } from '../support/dashboard.ts'
import { frozenClock } from '../support/fake-clock.ts'
import { HAS_LARGER_FORM, LARGER_FORM_ONLY, sized } from '../support/scale.ts'
import { testService } from '../support/service.ts'
import { totpCode } from '../support/totp-code.ts'

const env = { COWRY_TRUST_PROXY: 'true' }
const clock = frozenClock()
const service = await testService({ after }, { clock, env })

const PATH = '/api/v1/wallet/balance'
const from = (addresses: string) => ({ 'x-forwarded-for': addresses })

it('checks a key against the address that our own proxy saw, whatever the caller forwarded', async () => {
  const { uuid } = await service.newMerchant()
  const made = await service.admin.post(`/admin/v1/merchants/${uuid}/keys`, {
    scopes: ['*'],
    allowedIps: ['203.0.113.0/24', '2001:db8::/32'],
  })
  const api = service.apiWith(made.body.data.apiKey)
  for (const addresses of ['203.0.113.7', '10.0.0.1, 203.0.113.7', '2001:db8::7', '::ffff:203.0.113.7'])
    assert.equal((await api.get(PATH, from(addresses))).http, 200, addresses)
  for (const addresses of ['198.51.100.7', '203.0.113.7, 198.51.100.7', 'nonsense', '203.0.113.7, nonsense'])
    assertApiError(await api.get(PATH, from(addresses)), 'ip_not_allowed')
  assertApiError(await api.get(PATH), 'ip_not_allowed')
})

it('counts wrong secrets by that address, in IPv6 by the network of 64 bits', async () => {
  const wrong = service.apiWith(formatApiKey({ mode: 'test', id: 'A'.repeat(12), secret: 'B'.repeat(43) }))
  for (let n = 0; n < 20; n += 1)
    assertApiError(await wrong.get(PATH, from(`10.0.0.${n}, 198.51.100.7`)), 'invalid_api_key')
  assertApiError(await wrong.get(PATH, from('198.51.100.7')), 'rate_limited')
  assertApiError(await wrong.get(PATH, from('198.51.100.8')), 'invalid_api_key')
  for (let n = 0; n < 20; n += 1)
    assertApiError(await wrong.get(PATH, from(`2001:db8:1:2::${n + 1}`)), 'invalid_api_key')
  assertApiError(await wrong.get(PATH, from('2001:db8:1:2:ffff::9')), 'rate_limited')
  assertApiError(await wrong.get(PATH, from('2001:db8:1:3::1')), 'invalid_api_key')
})

it('counts wrong passwords of the dashboard by that address too', async () => {
  const visitor = newVisitor(service)
  const guess = async (address: string) => {
    const fields = { email: 'owner@example.com', password: 'a wrong password' }
    return (await visitor.post('/app/sign-in', fields, from(address))).http
  }
  for (let n = 0; n < 5; n += 1) assert.equal(await guess(`2001:db8:5:6::${n + 1}`), 401)
  assert.equal(await guess('2001:db8:5:6:ffff::9'), 429)
  assert.equal(await guess('2001:db8:5:7::1'), 401)
})

const GUESSES = sized({ quick: 100, rest: 2_000, long: 10_000 })
// Each of them is a row of its own.
const SPREAD_GUESSES = sized({ quick: 100, rest: 1_000, long: 10_000 })

let addresses = 0
const newAddress = () => {
  addresses += 1
  return from(`10.${(addresses >> 16) & 255}.${(addresses >> 8) & 255}.${addresses & 255}`)
}

const signInOf =
  ({ email }: { email: string }) =>
  (password: string, headers: Record<string, string>, visitor = newVisitor(service)) =>
    visitor.post('/app/sign-in', { email, password }, headers)

/** How many guesses were answered with which status, several at a time. */
async function guessMany(count: number, guess: (index: number) => Promise<{ http: number }>) {
  const statuses: Record<number, number> = {}
  let started = 0
  const guesser = async () => {
    while (started < count) {
      started += 1
      const { http } = await guess(started)
      statuses[http] = (statuses[http] ?? 0) + 1
    }
  }
  await Promise.all(Array.from({ length: 8 }, guesser))
  return statuses
}

it(
  'refuses thousands of passwords at the sign-in, and the owner signs in meanwhile',
  HAS_LARGER_FORM,
  async () => {
    const { uuid } = await service.newMerchant()
    const owner = await signInAs(service, uuid)
    const signIn = signInOf(owner)
    const one = newAddress()
    assert.deepEqual(await guessMany(GUESSES, (n) => signIn(`wrong password ${n}`, one)), {
      ...{ 401: 5, 429: GUESSES - 5 },
    })
    const refused = await signIn(PASSWORD, one)
    assert.equal(refused.http, 429, 'also the right one')
    assert.ok(Number(refused.headers.get('retry-after')) > 0)
    assert.equal((await signIn(PASSWORD, newAddress())).http, 303, 'from another address')
  },
)

it(
  'refuses thousands of passwords from as many addresses, but not in a known browser',
  LARGER_FORM_ONLY,
  async () => {
    const { uuid } = await service.newMerchant()
    const owner = await signInAs(service, uuid)
    const signIn = signInOf(owner)
    const spread = await guessMany(SPREAD_GUESSES, (n) => signIn(`wrong password ${n}`, newAddress()))
    assert.deepEqual(spread, { 401: 50, 429: SPREAD_GUESSES - 50 })
    assert.equal((await signIn(PASSWORD, newAddress(), owner)).http, 303, 'in a known browser')
  },
)

it(
  'refuses thousands of codes of the authenticator app, from whatever addresses',
  HAS_LARGER_FORM,
  async () => {
    const { uuid } = await service.newMerchant()
    const owner = await signInAs(service, uuid)
    const started = await owner.submit('/app/account', '/app/account/totp')
    const [, secret = ''] = /<code class="mono">([A-Z2-7]+)<\/code>/.exec(started.text) ?? []
    const action = '/app/account/totp/confirm'
    const code = totpCode(secret, clock.now().getTime())
    assert.equal((await owner.post(action, { ...hiddenFields(started.text, action), code })).http, 200)
    const thief = newVisitor(service)
    const entered = await thief.post('/app/sign-in', { email: owner.email, password: PASSWORD }, newAddress())
    assert.match(entered.headers.get('location') ?? '', /\/code/)
    const statuses = await guessMany(SPREAD_GUESSES, (n) =>
      thief.post('/app/sign-in/code', { code: String(n).padStart(6, '0') }, newAddress()),
    )
    assert.deepEqual(statuses, { 401: 5, 429: SPREAD_GUESSES - 5 })
    // The code that turned the app on was used by that: a replay is refused, also in the known browser.
    await owner.post('/app/sign-in', { email: owner.email, password: PASSWORD }, newAddress())
    assert.equal((await owner.post('/app/sign-in/code', { code }, newAddress())).http, 401)
    const next = totpCode(secret, clock.now().getTime() + 30_000)
    assert.equal((await owner.post('/app/sign-in/code', { code: next }, newAddress())).http, 303)
  },
)

it('takes as long for an account that does not exist', LARGER_FORM_ONLY, async (t) => {
  const operated = await testService(t, { env, passwordCost: SCRYPT_COST })
  const { uuid } = await operated.newMerchant()
  const { email } = await signInAs(operated, uuid)
  const times = { known: [] as number[], unknown: [] as number[] }
  const measure = async (kind: keyof typeof times, address: string) => {
    const visitor = newVisitor(operated)
    const begun = performance.now()
    const { http } = await visitor.post(
      '/app/sign-in',
      { email: address, password: 'a wrong password' },
      newAddress(),
    )
    times[kind].push(performance.now() - begun)
    assert.equal(http, 401)
  }
  // Alternately, so that a busy machine slows both; fewer than the fifty that an account has.
  for (let n = 0; n < 40; n += 1) {
    await measure('known', email)
    await measure('unknown', 'no-such-person@example.com')
  }
  const medianOf = (values: number[]) => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0
  const ratio = medianOf(times.known) / medianOf(times.unknown)
  assert.ok(ratio > 0.8 && ratio < 1.25, `${ratio}`)
})
