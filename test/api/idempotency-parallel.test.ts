import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, describe, it } from 'node:test'
import type { ApiResponse } from '../support/api.ts'
import { CUSTOMER, chargeBody, initiateBody, saveMethod } from '../support/builders.ts'
import { eventsOf, postingsOf } from '../support/payment-records.ts'
import { eventually } from '../support/process.ts'
import { testService } from '../support/service.ts'

const service = await testService({ after })
const { api } = service
const INITIATE = '/api/v1/checkout/initiate-payment'
const CHARGE = '/api/v1/charges/recurring'
const MANY = 20

const inParallel = (send: (n: number) => Promise<ApiResponse>) =>
  Promise.all(Array.from({ length: MANY }, (_, n) => send(n)))
const isReplay = (answer: ApiResponse) => answer.headers.get('idempotent-replayed') === 'true'

/** Asserts that all responses are 201 with one record and that exactly one request created it. Returns its uuid. */
function assertOneRecord(answers: ApiResponse[]): string {
  for (const answer of answers) assert.equal(answer.http, 201, answer.text)
  const uuids = new Set(answers.map(({ body }) => body.data.uuid))
  assert.equal(uuids.size, 1)
  assert.equal(answers.filter((answer) => !isReplay(answer)).length, 1, 'one request created the record')
  return [...uuids][0]
}

async function assertChargedOnce(uuid: string, reference: string) {
  await eventually(
    async () => (await api.get(`/api/v1/charges/${uuid}`)).body.data.status,
    (status) => status === 'successful',
    10_000,
  )
  const executions = await api.get(`/api/v1/sandbox/executions?reference=${reference}`)
  assert.equal(executions.body.data.length, 1)
  assert.equal(
    (await postingsOf(service.db, uuid)).filter((line) => line.startsWith('capture pending')).length,
    1,
  )
  const types = (await eventsOf(service.db, uuid)).map(({ type }) => type)
  assert.deepEqual(types, ['charge.processing', 'charge.successful'])
}

describe('twenty identical parallel requests (F-47)', () => {
  it('opens one checkout for twenty identical requests', async () => {
    const body = initiateBody()
    const uuid = assertOneRecord(await inParallel(() => api.post(INITIATE, body)))
    assert.equal((await eventsOf(service.db, uuid)).length, 1)
  })

  it('makes one charge, one execution, one credit and one event for twenty identical requests', async () => {
    const body = chargeBody(await saveMethod(api, 'card_success'))
    const uuid = assertOneRecord(await inParallel(() => api.post(CHARGE, body)))
    await assertChargedOnce(uuid, body.reference)
  })

  it('makes one charge for twenty identical requests also when the gateway’s response is lost', async () => {
    const customer = { ...CUSTOMER, email: 'lost@example.com' }
    const token = await saveMethod(api, 'card_lost_answer_later', { customer })
    const body = chargeBody(token, { customer })
    const uuid = assertOneRecord(await inParallel(() => api.post(CHARGE, body)))
    await assertChargedOnce(uuid, body.reference)
  })

  it('creates one record for twenty requests with one Idempotency-Key', async () => {
    const key = randomUUID()
    const body = initiateBody()
    assertOneRecord(await inParallel(() => api.post(INITIATE, body, { 'idempotency-key': key })))
  })

  it('creates one charge for twenty requests with one Idempotency-Key', async () => {
    const headers = { 'idempotency-key': randomUUID() }
    const body = chargeBody(await saveMethod(api, 'card_success'))
    const uuid = assertOneRecord(await inParallel(() => api.post(CHARGE, body, headers)))
    await assertChargedOnce(uuid, body.reference)
  })

  it('creates one record for twenty requests with one reference and twenty keys', async () => {
    const body = chargeBody(await saveMethod(api, 'card_success'))
    const uuid = assertOneRecord(
      await inParallel(() => api.post(CHARGE, body, { 'idempotency-key': randomUUID() })),
    )
    await assertChargedOnce(uuid, body.reference)
  })
})

describe('twenty different parallel requests', () => {
  it('accepts one of twenty different requests with one reference, and answers 409 to the others', async () => {
    const body = initiateBody()
    const answers = await inParallel((n) => api.post(INITIATE, { ...body, amount: n + 1 }))
    const outcomes = answers.map(({ http, body: answer }) => `${http} ${answer.error?.code ?? ''}`.trim())
    assert.deepEqual(outcomes.sort(), ['201', ...Array(MANY - 1).fill('409 duplicate_reference')])
  })

  it('accepts one of twenty different requests with one Idempotency-Key, and answers 422 to the others', async () => {
    const key = randomUUID()
    const answers = await inParallel(() => api.post(INITIATE, initiateBody(), { 'idempotency-key': key }))
    const outcomes = answers.map(({ http, body }) => `${http} ${body.error?.code ?? ''}`.trim())
    assert.deepEqual(outcomes.sort(), ['201', ...Array(MANY - 1).fill('422 idempotency_key_reused')])
  })

  it('creates one customer for twenty first payments', async () => {
    const customer = { ...CUSTOMER, email: 'brand-new@example.com' }
    const answers = await inParallel((n) =>
      api.post(INITIATE, initiateBody({ customer: { ...customer, firstname: `Name ${n}` } })),
    )
    assert.equal(new Set(answers.map(({ body }) => body.data.uuid)).size, MANY)
    assert.equal(new Set(answers.map(({ body }) => body.data.customer.uuid)).size, 1)
  })

  it('charges one saved card once per reference in twenty parallel charges', async () => {
    const token = await saveMethod(api, 'card_success')
    const answers = await inParallel(() => api.post(CHARGE, chargeBody(token)))
    for (const { body, text } of answers) assert.equal(body.data?.status, 'successful', text)
    assert.equal(new Set(answers.map(({ body }) => body.data.uuid)).size, MANY)
  })
})
