import assert from 'node:assert/strict'
import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { describe, it, type TestContext } from 'node:test'
import { PAWAPAY } from '../../../src/gateways/pawapay/index.ts'
import { systemClock } from '../../../src/kit/clock.ts'
import { API_TOKEN, startFakePawapay } from './fake.ts'
import { SIGNING_KEY_ID } from './fake-signatures.ts'
import { ATTEMPT, MOBILE_MONEY, openOn, RETURN_URL } from './rig.ts'

function makeKeys(namedCurve = 'P-256') {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve })
  const pem = (type: 'pkcs8' | 'sec1') => privateKey.export({ type, format: 'pem' }).toString()
  return { publicKey, pkcs8: pem('pkcs8'), sec1: pem('sec1') }
}

const KEYS = makeKeys()

/** An account that takes only signed requests, and the connector with these credentials. */
async function startSigned(t: TestContext, credentials: Record<string, string>) {
  const provider = await startFakePawapay(t)
  provider.requireSignatures(KEYS.publicKey)
  const gateway = openOn(t, provider.server.url, { credentials: { apiToken: API_TOKEN, ...credentials } })
  // The name has letters outside ASCII: the signed length is that of the bytes.
  const attempt = { ...ATTEMPT, key: randomUUID(), startedAt: systemClock.now(), description: 'Café crème' }
  const start = () => gateway.startCheckout(attempt, MOBILE_MONEY, RETURN_URL)
  return { provider, gateway, attempt, start }
}

const signatureCheck = async (gateway: ReturnType<typeof openOn>) =>
  (await gateway.checkAccount?.())?.find(({ name }) => name === 'signatures')

describe('an account at pawaPay that takes only signed requests', () => {
  for (const form of ['pkcs8', 'sec1'] as const)
    it(`collects and refunds with a signing key in ${form}`, async (t) => {
      // Environment variables often contain line breaks as \\n.
      const signingKey = KEYS[form].replaceAll('\n', '\\n')
      const rig = await startSigned(t, { signingKey, signingKeyId: SIGNING_KEY_ID })
      assert.equal((await rig.start()).kind, 'started')
      await rig.provider.finish(rig.attempt.key, { kind: 'pays' })
      assert.equal((await rig.gateway.verify(rig.attempt, null)).kind, 'succeeded')
      const refunded = await rig.gateway.refund?.({
        key: randomUUID(),
        attemptKey: rig.attempt.key,
        attemptReference: rig.attempt.key,
        amount: rig.attempt.amount,
        isFull: true,
      })
      assert.equal(refunded?.kind, 'pending')
      assert.deepEqual(rig.provider.refunds?.(rig.attempt.key), [rig.attempt.amount.minor])
    })

  it('refuses requests without a signature, by another key or under another id, and nothing is begun', async (t) => {
    const other = makeKeys()
    const cases: Record<string, string>[] = [
      {},
      { signingKey: KEYS.pkcs8 },
      { signingKey: other.pkcs8, signingKeyId: SIGNING_KEY_ID },
      { signingKey: KEYS.pkcs8, signingKeyId: 'ANOTHER:1' },
    ]
    for (const credentials of cases) {
      const { provider, attempt, start } = await startSigned(t, credentials)
      const outcome = await start()
      assert.ok(outcome.kind === 'declined' && outcome.refused)
      assert.match(outcome.message, /HTTP_SIGNATURE_ERROR.*signingKey, signingKeyId/)
      assert.equal(provider.pagesOf(attempt.key), 0)
    }
  })

  it('is checked by cowry doctor: without a signing key it names the settings', async (t) => {
    const without = await startSigned(t, {})
    const check = await signatureCheck(without.gateway)
    assert.equal(check?.result, 'failed')
    assert.match(String(check?.detail), /GATEWAY_PAWAPAY_SIGNING_KEY and GATEWAY_PAWAPAY_SIGNING_KEY_ID/)
    const signed = await startSigned(t, { signingKey: KEYS.pkcs8, signingKeyId: SIGNING_KEY_ID })
    assert.doesNotMatch(String((await signatureCheck(signed.gateway))?.detail), /SIGNING_KEY/)
  })
})

describe('the signing key of pawaPay', () => {
  const validate = (name: string, text: string) =>
    PAWAPAY.credentials.find((field) => field.name === name)?.validate(text, 'test')

  it('is a private key of the curve P-256, and an issue does not repeat it', () => {
    assert.equal(validate('signingKey', KEYS.pkcs8), undefined)
    assert.equal(validate('signingKey', KEYS.sec1), undefined)
    const publicPem = KEYS.publicKey.export({ type: 'spki', format: 'pem' }).toString()
    assert.match(validate('signingKey', publicPem) ?? '', /this is a public key/)
    const cut = KEYS.pkcs8.slice(0, -60)
    for (const odd of ['', 'secret', cut, makeKeys('P-384').pkcs8]) {
      const issue = validate('signingKey', odd) ?? ''
      assert.match(issue, /must be a private key in PEM/)
      assert.ok(!issue.includes(KEYS.pkcs8.slice(40, 60)))
    }
  })

  it('has an id that fits into a quoted text', () => {
    assert.equal(validate('signingKeyId', SIGNING_KEY_ID), undefined)
    for (const odd of ['', 'a b', 'a"b', 'a\\b', 'é']) assert.ok(validate('signingKeyId', odd), odd)
  })
})
