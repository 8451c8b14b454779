// Responses that are generated from the providers' own descriptions: whatever the provider answers, no operation of a
// connector throws, and none reports a success that the response does not contain.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { inspect } from 'node:util'
import fc, { type Arbitrary } from 'fast-check'
import type { Outcome, StartedCheckout } from '../../../src/gateways/gateway.ts'
import { HAS_LARGER_FORM, sized } from '../../support/scale.ts'
import { requestOf } from '../webhook-request.ts'
import { arbitraryOf } from './arbitrary.ts'
import { type Answer, callsOf, openInProcess } from './connection.ts'
import { type Described, PAYSTACK_ANSWERS, STRIPE_ANSWERS } from './facts.ts'
import { type Description, descriptionsOf } from './requests.ts'

const RUNS = sized({ quick: 600, rest: 5_000, long: 60_000 })

for (const described of [STRIPE_ANSWERS, PAYSTACK_ANSWERS]) {
  const { name, title } = described.definition
  describe(`a response of ${title}, generated from its description`, () => {
    for (const description of descriptionsOf(name))
      it(
        `a response of ${title} by ${description.extract.source.version} is a success only if it says so, and never an exception`,
        HAS_LARGER_FORM,
        () => assertReadCorrectly(described, description),
      )

    it('is read or ignored in a webhook, whatever it is', HAS_LARGER_FORM, () =>
      assertWebhooksRead(described),
    )
  })
}

async function assertReadCorrectly(described: Described, description: Description): Promise<void> {
  const answersTo = arbitraries(described, description)
  const names = Object.keys(callsOf(open(described, NO_ANSWER), described.called))
  // Half of the runs are about the operations that most depend on the response.
  const name = fc.oneof(fc.constantFrom(...names), fc.constantFrom(...PAYMENT_CALLS))
  const seen = new Set<string>()
  const property = fc.asyncProperty(name, fc.gen(), async (called, generate) => {
    const answers: Answer[] = []
    const gateway = open(described, (request) => {
      const { method, path } = description.find(request)?.operation ?? assert.fail(request.path)
      const answer = generate(answersTo, `${method} ${path}`)
      answers.push(answer)
      return answer
    })
    const result = await callsOf(gateway, described.called)[called]?.()
    seen.add(`${called}: ${kindOf(result)}`).add(kindOf(result))
    try {
      check(described, called, result, answers)
    } catch (cause) {
      throw new Error(`${called}: ${inspect(result)}`, { cause })
    }
  })
  await fc.assert(property, { numRuns: RUNS, seed: 16 })
  assert.deepEqual(
    EXPECTED.filter((one) => !seen.has(one)),
    [],
    'the responses are too far from real ones',
  )
}

/** Each webhook is genuine, so it is never forged; the key in it is one that its object has. */
function assertWebhooksRead(described: Described): void {
  const gateway = open(described, NO_ANSWER)
  const schemas = descriptionsOf(described.definition.name).flatMap(({ extract }) =>
    Object.values(extract.schemas),
  )
  const objects = schemas.map((schema) => arbitraryOf(schema, described.hints))
  const seen = new Set<string>()
  const event = fc.constantFrom(...described.events)
  const property = fc.property(event, fc.oneof(...objects), (type, object) => {
    const { headers, body } = described.webhookOf(type, object)
    const parsed = gateway.parseWebhook(requestOf(headers, body))
    seen.add(parsed.kind)
    assert.notEqual(parsed.kind, 'forged')
    if (parsed.kind !== 'payment') return
    // A number as a key is read as text.
    const key = JSON.stringify(parsed.key ?? '').slice(1, -1)
    assert.ok(key !== '' && JSON.stringify(object).includes(key))
  })
  fc.assert(property, { numRuns: RUNS, seed: 16 })
  assert.ok(seen.has('payment') && seen.has('ignored'), 'the objects are too far from real ones')
}

const NO_ANSWER = (): Answer => ({ status: 500, body: null })

function open({ definition, credentials }: Described, answer: Parameters<typeof openInProcess>[2]) {
  return openInProcess(definition, credentials, answer)
}

const REACHED = [
  ...['started', 'declined', 'unknown'].map((kind) => `start a checkout: ${kind}`),
  ...['succeeded', 'pending', 'declined', 'unknown'].map((kind) => `check a checkout: ${kind}`),
  'check a paid checkout: succeeded',
  'charge a saved method: succeeded',
  'check a refund: succeeded',
  'list refunds of a period: refunds',
]

const PAYMENT_CALLS = [
  'start a checkout',
  'check a checkout',
  'check a paid checkout',
  'charge a saved method',
] as const

// Without these the generated responses would prove nothing. A success after several requests is rare.
const FREQUENT = ['started', 'succeeded', 'pending', 'declined', 'unknown', 'refunds']
const EXPECTED = sized({ quick: FREQUENT, rest: FREQUENT, long: REACHED })

function kindOf(result: unknown): string {
  const hasKind = typeof result === 'object' && result !== null && 'kind' in result
  return hasKind ? String(result.kind) : typeof result
}

// `default` describes all errors.
const ERRORS = [400, 401, 402, 403, 404, 409, 429, 500] as const

/** For each operation its answers: those that the description has, and mostly the success. */
function arbitraries(
  { hints }: Described,
  { extract }: Description,
): (operation: string) => Arbitrary<Answer> {
  const byOperation = new Map(
    extract.operations.map(({ method, path, responses }) => {
      const answers = Object.entries(responses).map(([status, schema]) => {
        const statuses = status === 'default' ? ERRORS : [Number(status)]
        const body = arbitraryOf(extract.schemas[schema] ?? {}, hints)
        const arbitrary = fc.record({ status: fc.constantFrom(...statuses), body })
        return { arbitrary, weight: status === '200' ? 4 : 1 }
      })
      return [`${method} ${path}`, fc.oneof(...answers)]
    }),
  )
  return (operation) => byOperation.get(operation) ?? fc.constant(NO_ANSWER())
}

const MAX_MESSAGE_LENGTH = 1_000

function check(described: Described, name: string, result: unknown, answers: readonly Answer[]): void {
  if (kindOf(result) === 'succeeded')
    if (name.includes('refund')) assert.ok(answers.some(described.hasRefund), 'no response has the refund')
    // A boundary: all other calls whose result has this kind return an outcome.
    else checkSuccess(described, name, result as Extract<Outcome, { kind: 'succeeded' }>, answers)
  // A boundary, as above.
  if (kindOf(result) === 'started') checkStart(result as StartedCheckout)
  if (typeof result === 'object' && result !== null && 'message' in result)
    assert.ok(String(result.message).length <= MAX_MESSAGE_LENGTH, 'the message is long')
}

function checkSuccess(
  { successesIn }: Described,
  name: string,
  { key, paid, paidAt, gatewayReference }: Extract<Outcome, { kind: 'succeeded' }>,
  answers: readonly Answer[],
): void {
  const facts = answers.flatMap((answer) => successesIn(answer, name === 'check a paid checkout'))
  assert.ok(
    facts.some((fact) => fact.key === key && fact.minor === paid.minor && fact.currency === paid.currency),
  )
  assert.ok(paidAt === null || !Number.isNaN(paidAt.getTime()))
  assert.notEqual(gatewayReference, '')
  assert.ok(paid.minor >= 0n)
}

function checkStart({ next, gatewayReference }: StartedCheckout): void {
  assert.ok(next.kind === 'redirect' && /^https?:$/.test(new URL(next.url).protocol))
  assert.notEqual(gatewayReference, '')
}
