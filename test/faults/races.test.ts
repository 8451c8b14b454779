// F-47, F-48 and F-31: the same request, or the same proof, many times at once over two processes on one database.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { sign } from '../../src/gateways/sandbox/webhooks.ts'
import { sandboxWebhookSecretOf } from '../../src/secrets/secrets.ts'

import type { ApiResponse } from '../support/api.ts'
import { chargeBody, initiateBody, newReference, saveMethod } from '../support/builders.ts'
import { CHARGED_ONCE, SANDBOX_SECRET, startDeployment } from '../support/deployment.ts'
import { HAS_LARGER_FORM, LARGER_FORM_ONLY, sized } from '../support/scale.ts'

const CHARGE = '/api/v1/charges/recurring'
const INITIATE = '/api/v1/checkout/initiate-payment'
const PARALLEL = 50
const ROUNDS = sized({ quick: 1, rest: 5, long: 20 })

const deployment = await startDeployment({ after })
const services = await Promise.all([deployment.startService(), deployment.startService()])
const [{ api }] = services
const token = await saveMethod(api, 'card_success')

interface RacingRequest {
  body: unknown
  headers?: Record<string, string>
}

/** Sends all at once, alternating between the two processes. */
function race(path: string, requests: RacingRequest[]): Promise<ApiResponse[]> {
  return Promise.all(
    requests.map(({ body, headers }, n) => (n % 2 ? services[1] : services[0]).api.post(path, body, headers)),
  )
}

const times = (count: number, request: RacingRequest): RacingRequest[] =>
  Array.from({ length: count }, () => request)

const isReplay = (answer: ApiResponse) => answer.headers.get('idempotent-replayed') === 'true'

/** The one record of all these responses; exactly one of them created it. */
function assertOneRecord(answers: ApiResponse[]): string {
  for (const answer of answers) assert.equal(answer.http, 201, answer.text)
  const uuids = new Set(answers.map(({ body }) => body.data.uuid))
  assert.equal(uuids.size, 1)
  assert.equal(answers.filter((answer) => !isReplay(answer)).length, 1)
  return [...uuids][0]
}

function tally(answers: ApiResponse[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { http, body } of answers) {
    const name = body.error ? `${http} ${body.error.code}` : String(http)
    counts[name] = (counts[name] ?? 0) + 1
  }
  return counts
}

/**
 * Two bodies with one reference: all responses to one body are 201, all to the other 409. Returns the uuid of the
 * winner.
 */
async function raceTwo(path: string, body: unknown, other: unknown): Promise<string> {
  const isOther = (n: number) => n % 4 < 2
  const answers = await race(
    path,
    Array.from({ length: PARALLEL }, (_, n) => ({ body: isOther(n) ? other : body })),
  )
  const sides = [answers.filter((_, n) => isOther(n)), answers.filter((_, n) => !isOther(n))]
  const [won = [], lost = []] = sides[0]?.[0]?.http === 201 ? sides : sides.reverse()
  assert.deepEqual(tally(lost), { '409 duplicate_reference': lost.length })
  const uuid = assertOneRecord(won)
  for (const { body } of lost) assert.ok(body.message.includes(uuid), body.message)
  return uuid
}

async function eachRound(round: () => Promise<void>): Promise<void> {
  for (let n = 0; n < ROUNDS; n += 1) await round()
}

describe('50 recurring charges at once over two processes (F-47)', () => {
  it('50 equal charges at once make one execution and return the same uuid', HAS_LARGER_FORM, () =>
    eachRound(async () => {
      const uuid = assertOneRecord(await race(CHARGE, times(PARALLEL, { body: chargeBody(token) })))
      assert.deepEqual(await deployment.awaitFinal(uuid), CHARGED_ONCE)
    }),
  )

  it(
    'charges with one reference and two bodies: one body wins, the other gets 409 with the winner',
    HAS_LARGER_FORM,
    () =>
      eachRound(async () => {
        const body = chargeBody(token)
        const uuid = await raceTwo(CHARGE, body, { ...body, amount: 101 })
        assert.deepEqual(await deployment.awaitFinal(uuid), CHARGED_ONCE)
      }),
  )

  // In npm test idempotency-parallel.test.ts sends these to one process.
  it('charges with one Idempotency-Key and one body make one record', LARGER_FORM_ONLY, () =>
    eachRound(async () => {
      const headers = { 'idempotency-key': newReference() }
      const uuid = assertOneRecord(await race(CHARGE, times(PARALLEL, { body: chargeBody(token), headers })))
      assert.deepEqual(await deployment.awaitFinal(uuid), CHARGED_ONCE)
    }),
  )

  it(
    'charges with one Idempotency-Key and 50 bodies make one record; the others get 422 and store nothing',
    HAS_LARGER_FORM,
    () =>
      eachRound(async () => {
        const headers = { 'idempotency-key': newReference() }
        const requests = Array.from({ length: PARALLEL }, () => ({ body: chargeBody(token), headers }))
        const answers = await race(CHARGE, requests)
        assert.deepEqual(tally(answers), { 201: 1, '422 idempotency_key_reused': PARALLEL - 1 })
        const uuid = assertOneRecord(answers.filter(({ http }) => http === 201))
        assert.deepEqual(await deployment.awaitFinal(uuid), CHARGED_ONCE)
        const stored = await Promise.all(requests.map(({ body }) => deployment.idOf(body.reference)))
        assert.deepEqual(
          stored.filter((id) => id !== undefined),
          [uuid],
        )
      }),
  )

  it('charges with one reference and 50 Idempotency-Keys make one record', LARGER_FORM_ONLY, () =>
    eachRound(async () => {
      const body = chargeBody(token)
      const keyed = () => ({ body, headers: { 'idempotency-key': newReference() } })
      const uuid = assertOneRecord(await race(CHARGE, Array.from({ length: PARALLEL }, keyed)))
      assert.deepEqual(await deployment.awaitFinal(uuid), CHARGED_ONCE)
    }),
  )

  it('50 equal charges whose gateway response is lost make one execution and one credit', async () => {
    const losing = await saveMethod(api, 'card_lost_answer_later')
    const uuid = assertOneRecord(await race(CHARGE, times(PARALLEL, { body: chargeBody(losing) })))
    assert.deepEqual(await deployment.awaitFinal(uuid), CHARGED_ONCE)
  })
})

describe('50 payments initiated at once over two processes (F-47)', () => {
  const events = async (uuid: string) => (await deployment.snapshotOf(uuid)).events

  it('50 equal initiations at once make one payment and return the same access code', HAS_LARGER_FORM, () =>
    eachRound(async () => {
      const answers = await race(INITIATE, times(PARALLEL, { body: initiateBody() }))
      const uuid = assertOneRecord(answers)
      // Without a configured public URL each process uses its own address; the access code is the same.
      assert.equal(new Set(answers.map(({ body }) => body.data.accessCode)).size, 1)
      assert.deepEqual(await events(uuid), ['payment.pending'])
    }),
  )

  it(
    'initiations with one reference and two bodies: one body wins, the other gets 409',
    LARGER_FORM_ONLY,
    () =>
      eachRound(async () => {
        const body = initiateBody()
        const uuid = await raceTwo(INITIATE, body, { ...body, description: 'Another thing' })
        assert.deepEqual(await events(uuid), ['payment.pending'])
      }),
  )

  it(
    'initiations with one Idempotency-Key: one record for one body, 422 for the other bodies',
    LARGER_FORM_ONLY,
    () =>
      eachRound(async () => {
        const headers = { 'idempotency-key': newReference() }
        const bodies = Array.from({ length: 10 }, () => initiateBody())
        const requests = Array.from({ length: PARALLEL }, (_, n) => ({ body: bodies[n % 10], headers }))
        const answers = await race(INITIATE, requests)
        assert.deepEqual(tally(answers), { 201: 5, '422 idempotency_key_reused': PARALLEL - 5 })
        assertOneRecord(answers.filter(({ http }) => http === 201))
      }),
  )
})

it('a payment and a charge with one reference at once make one of the two (F-48)', HAS_LARGER_FORM, () =>
  eachRound(async () => {
    const reference = newReference()
    const [payments, charges] = await Promise.all([
      race(INITIATE, times(10, { body: initiateBody({ reference }) })),
      race(CHARGE, times(10, { body: chargeBody(token, { reference }) })),
    ])
    assert.deepEqual(tally([...payments, ...charges]), { 201: 10, '409 duplicate_reference': 10 })
    assert.equal(new Set(payments.map(({ http }) => http)).size, 1)
    assert.ok(await deployment.idOf(reference))
  }),
)

describe('verify, webhook, return and resolver at once over two processes (F-31)', () => {
  const webhookSecret = sandboxWebhookSecretOf(SANDBOX_SECRET)

  async function sendWebhook(url: string, key: string): Promise<number> {
    const at = new Date()
    const notification = {
      id: newReference(),
      type: 'checkout.succeeded',
      key,
      order: 'x',
      createdAt: at.toISOString(),
    }
    const body = JSON.stringify(notification)
    const headers = { 'cowry-sandbox-signature': sign(webhookSecret, at, body) }
    return (await fetch(`${url}/hooks/sandbox`, { method: 'POST', body, headers })).status
  }

  /** A checkout that its payer has paid at the provider; its outcome is not known here yet. */
  async function paidWithoutWebhook() {
    const { body } = await api.post(INITIATE, initiateBody())
    const { uuid, accessCode } = body.data
    const choice = new URLSearchParams({ channel: 'card' })
    const form = { method: 'POST', body: choice, redirect: 'manual' } as const
    const started = await fetch(`${services[0].url}/pay/${accessCode}/attempts`, form)
    assert.equal(started.status, 303)
    const key = await deployment.keyOf(uuid)
    await deployment.sandbox.completeAsPayer(key, 'card_success')
    return { uuid, accessCode, key }
  }

  it(
    'verify, webhook, return and resolver at once make one credit and one event',
    HAS_LARGER_FORM,
    async () => {
      for (let round = 0; round < 2 * ROUNDS; round += 1) {
        const { uuid, accessCode, key } = await paidWithoutWebhook()
        // Delayed status checks make the concurrent requests write at the same time.
        await deployment.sandbox.addFault({ kind: 'slow_ms', on: 'verify', times: 3, ms: 100 })
        const codes = await Promise.all(
          services.flatMap(({ url, api: process }) => [
            sendWebhook(url, key),
            process.get(`/api/v1/checkout/verify-payment?uuid=${uuid}`).then(({ http }) => http),
            fetch(`${url}/pay/${accessCode}/return`, { redirect: 'manual' }).then(({ status }) => status),
            sendWebhook(url, key),
          ]),
        )
        assert.deepEqual(codes, [200, 200, 303, 200, 200, 200, 303, 200])
        assert.deepEqual(await deployment.awaitFinal(uuid), {
          ...CHARGED_ONCE,
          events: ['payment.pending', 'payment.processing', 'payment.successful'],
        })
        await deployment.sandbox.clearFaults()
      }
    },
  )
})
